"""Times mosaicml-streaming: samples, shard size, canonical nodes, seed, epoch, block size, nodes, ranks, workers, batch."""
import importlib.util, pathlib, sys, time, types

# The package imports torch and cloud clients, of which shuffling needs nothing: stand-ins for its upper levels.
root = pathlib.Path(importlib.util.find_spec('streaming').submodule_search_locations[0])
for name, path in [('streaming', root), ('streaming.base', root / 'base'), ('streaming.base.partition', root / 'base' / 'partition')]:
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [str(path)]
import numpy as np
from streaming.base.partition.orig import get_partitions_orig
from streaming.base.shuffle import get_shuffle

samples, size, nodes, seed, epoch, block, *job = map(int, sys.argv[1:])
sizes = np.array([size] * (samples // size) + [samples % size] * (samples % size > 0))
for algorithm in ['naive', 'py1s', 'py2s', 'py1e', 'py1br']:
    start = time.process_time()
    ids = get_shuffle(algorithm, sizes, nodes, seed, epoch, block)
    elapsed = time.process_time() - start
    check = int((ids.astype(np.uint64) * (np.arange(len(ids), dtype=np.uint64) * np.uint64(2) + np.uint64(1))).sum(dtype=np.uint64))
    print(algorithm, elapsed, check, flush=True)
start = time.process_time()
places = get_partitions_orig(samples, nodes, *job)
ids = get_shuffle('py1e', sizes, nodes, seed, epoch, block)
ids = np.where(places == -1, -1, ids[places])
elapsed = time.process_time() - start
print('epoch', elapsed, int(ids[ids != -1].astype(np.uint64).sum(dtype=np.uint64)), flush=True)
