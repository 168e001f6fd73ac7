//! Who this process is in a training job: nodes, ranks and workers, from whichever launcher started it.
