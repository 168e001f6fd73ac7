//! The original's algorithms, written down plainly: one draw after the other, 64-bit ids, a library sort.

use lockstep_partition::{
    numpy::Generator,
    shuffle::{ShuffleAlgorithm, ShuffleSpec},
};

/// A stretch of ids.
type Span = (u64, u64);

/// The shuffled ids of shards of these sizes.
pub(crate) fn shuffle(sizes: &[u64], spec: &ShuffleSpec) -> Vec<u64> {
    match spec.algorithm {
        ShuffleAlgorithm::Naive => {
            let mut ids: Vec<u64> = (0..sizes.iter().sum()).collect();
            shuffle_plainly(&mut Generator::new(spec.seed + spec.epoch), &mut ids);
            ids
        }
        ShuffleAlgorithm::Py2s => py2s(sizes, spec),
        _ => by_parts(sizes, spec),
    }
}

fn shuffle_plainly<T>(rng: &mut Generator, items: &mut [T]) {
    for last in (1..items.len()).rev() {
        let mask = u32::MAX >> u32::try_from(last).expect("fewer than 2^32 items").leading_zeros();
        let partner = loop {
            let word = (rng.next_u32() & mask) as usize;
            if word <= last {
                break word;
            }
        };
        items.swap(last, partner);
    }
}

fn index(number: u64) -> usize {
    usize::try_from(number).expect("an index")
}

fn spans(sizes: &[u64]) -> Vec<Span> {
    let ends = sizes.iter().scan(0, |end, size| {
        *end += size;
        Some(*end)
    });
    sizes.iter().zip(ends).map(|(size, end)| (end - size, end)).collect()
}

/// Cuts lists of ids, laid end to end, into equal parts.
fn cut<T>(whole: Vec<T>, nodes: u64, len: impl Fn(&T) -> u64, split: impl Fn(T, u64) -> (T, T)) -> Vec<Vec<T>> {
    let samples: u64 = whole.iter().map(&len).sum();
    let mut rest = whole.into_iter();
    let mut next = rest.next();
    let mut filled = 0;
    let mut cut = Vec::new();
    for node in 1..=nodes {
        let end = samples * node / nodes;
        let mut parts = Vec::new();
        while let Some(part) = next.take() {
            if filled + len(&part) <= end {
                filled += len(&part);
                parts.push(part);
                next = rest.next();
            } else if filled < end {
                let (fits, others) = split(part, end - filled);
                parts.push(fits);
                (filled, next) = (end, Some(others));
            } else {
                next = Some(part);
                break;
            }
        }
        cut.push(parts);
    }
    cut
}

fn py2s(sizes: &[u64], spec: &ShuffleSpec) -> Vec<u64> {
    let mut rng = Generator::new(spec.seed);
    let mut shards: Vec<Vec<u64>> = spans(sizes).into_iter().map(|(start, end)| (start..end).collect()).collect();
    shuffle_plainly(&mut rng, &mut shards);
    shards.iter_mut().for_each(|shard| shuffle_plainly(&mut rng, shard));
    let mut rng = Generator::new(spec.seed + spec.epoch);
    let mut ids = Vec::new();
    let split = |mut shard: Vec<u64>, at| {
        let rest = shard.split_off(index(at));
        (shard, rest)
    };
    for mut parts in cut(shards, spec.canonical_nodes, |shard| shard.len() as u64, split) {
        shuffle_plainly(&mut rng, &mut parts);
        for mut part in parts {
            shuffle_plainly(&mut rng, &mut part);
            ids.append(&mut part);
        }
    }
    ids
}

fn by_parts(sizes: &[u64], spec: &ShuffleSpec) -> Vec<u64> {
    let mut shards = spans(sizes);
    shuffle_plainly(&mut Generator::new(spec.seed), &mut shards);
    let split = |(start, end), at| ((start, start + at), (start + at, end));
    let mut nodes = cut(shards, spec.canonical_nodes, |(start, end)| end - start, split);
    let mut rng = Generator::new(spec.seed + spec.epoch);
    nodes.iter_mut().for_each(|parts| shuffle_plainly(&mut rng, parts));
    let block = i64::try_from(spec.block_size).expect("a block size");
    let (least, most) = (block * 3 / 4, block * 5 / 4);
    let staggers: Vec<i64> = match spec.algorithm {
        ShuffleAlgorithm::Py1br => nodes.iter().map(|_| rng.integers(0..least)).collect(),
        _ => vec![0; nodes.len()],
    };
    let mut ids = Vec::new();
    for (parts, stagger) in nodes.iter().zip(staggers) {
        let mut node: Vec<u64> = Vec::new();
        for &(start, end) in parts {
            let first = node.len();
            node.extend(start..end);
            if spec.algorithm != ShuffleAlgorithm::Py1br {
                shuffle_plainly(&mut rng, &mut node[first..]);
            }
        }
        match spec.algorithm {
            ShuffleAlgorithm::Py1e => node = displace(&mut rng, parts, &node, least..most),
            ShuffleAlgorithm::Py1br => shuffle_blocks(&mut rng, &mut node, stagger.cast_unsigned(), least..most),
            _ => {}
        }
        ids.append(&mut node);
    }
    ids
}

#[expect(clippy::cast_precision_loss, reason = "the original computes in doubles")]
fn displace(rng: &mut Generator, parts: &[Span], ids: &[u64], sizes: std::ops::Range<i64>) -> Vec<u64> {
    let mut positions: Vec<f64> = (0..ids.len()).map(|position| position as f64).collect();
    let mut offset = 0;
    for &(start, end) in parts {
        let len = index(end - start);
        let cutoff = ((rng.integers(sizes.clone()) - len as i64) as f64 / 2.0).max(0.0);
        let low = (-cutoff).max(-(offset as f64));
        let high = cutoff.min((ids.len() - offset - len) as f64);
        for position in &mut positions[offset..offset + len] {
            *position += rng.uniform(low, high);
        }
        offset += len;
    }
    let mut order: Vec<usize> = (0..ids.len()).collect();
    order.sort_unstable_by(|&left, &right| positions[left].total_cmp(&positions[right]));
    order.into_iter().map(|position| ids[position]).collect()
}

fn shuffle_blocks(rng: &mut Generator, ids: &mut [u64], stagger: u64, sizes: std::ops::Range<i64>) {
    let samples = ids.len() as u64;
    let mut blocks = Vec::new();
    let mut end = 0_u64;
    while end < samples {
        let size = rng.integers(sizes.clone()).cast_unsigned();
        let block = end.saturating_sub(stagger)..(end + size - stagger).min(samples);
        end += block.end - block.start;
        blocks.push(block);
    }
    for block in blocks {
        shuffle_plainly(rng, &mut ids[index(block.start)..index(block.end)]);
    }
}
