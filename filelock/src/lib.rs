//! File and byte locks that the kernel takes back from a dead process.
