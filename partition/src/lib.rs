//! Which sample is read where and when: elastic partitions, shuffles, sampling and batching as pure arithmetic.
