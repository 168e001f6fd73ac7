//! Which ranks of a training job must read the same samples, and whose samples each of them reads.
