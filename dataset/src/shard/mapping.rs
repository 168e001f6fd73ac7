//! Files mapped into memory, and the processor's cache.
#![expect(unsafe_code, reason = "mapping a file is sound only while nobody truncates it, which is documented")]

use std::path::Path;

use memmap2::Mmap;

use crate::error::{Error, Result};
use crate::regular_file;

/// A whole file mapped read-only.
#[derive(Debug)]
pub(crate) struct Mapping {
    map: Mmap,
}

impl Mapping {
    /// Maps the file at `path` after checking that it has the `expected` size in bytes.
    pub(crate) fn open(path: &Path, expected: u64) -> Result<Self> {
        let failed = |source| Error::io(format!("cannot open {}", path.display()), source);
        let file = regular_file::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if metadata.len() != expected {
            return Err(Error::corrupt(format!(
                "{} has {} bytes, the index says {expected}; copy the file and the index again",
                path.display(),
                metadata.len()
            )));
        }
        // SAFETY: The bytes are only read. Shard files are complete when they get their names and are replaced by
        // renaming, never written in place; that nobody else writes to or truncates them is a documented condition of
        // `Shard`. The size was taken from the descriptor that is mapped.
        let map = unsafe { Mmap::map(&file) };
        let map = map.map_err(|source| Error::io(format!("cannot map {}", path.display()), source))?;
        if map.len() as u64 != expected {
            return Err(Error::corrupt(format!("{} is being written to; wait until it is complete", path.display())));
        }
        Ok(Self { map })
    }

    /// Has the file read ahead. Advice, so failure is no error.
    pub(crate) fn will_need(&self) {
        #[cfg(unix)]
        if let Err(error) = self.map.advise(memmap2::Advice::WillNeed) {
            tracing::debug!(%error, "the operating system does not read ahead");
        }
    }

    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.map
    }
}

/// The size of a line of the processor's cache on the machines that [`fetch_lines`] does something on.
const LINE: usize = 64;

/// Asks the processor to bring the lines that hold the first bytes of `bytes` into its cache, without waiting.
#[inline]
pub(super) fn fetch_lines(bytes: &[u8], lines: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in bytes.chunks(LINE).take(lines) {
        // SAFETY: A prefetch has no effect that a program could observe, whatever the address; this one is valid besides.
        unsafe { core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(line.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (bytes, lines, LINE);
}
