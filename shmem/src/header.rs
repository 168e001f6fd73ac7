//! The start of a segment's file: what it is, for those who open it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::layout::{Layout, Place};
use crate::name::SegmentName;
use crate::roster::Roster;
use crate::testing::{Point, reach};

/// How much of the file is the header's.
pub(crate) const SIZE: usize = 320;

/// The version of the header, and of what the parts of a layout look like in memory. Changed with either.
pub(crate) const VERSION: u32 = 1;

const MAGIC: u64 = u64::from_ne_bytes(*b"LOCKSTEP");
const READY: u32 = u32::from_ne_bytes(*b"redy");
const READY_AT: usize = 12;
const TITLE_AT: usize = 64;

/// What a header says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) version: u32,
    pub(crate) ready: bool,
    pub(crate) size: u64,
    pub(crate) fingerprint: u64,
    pub(crate) creator: u32,
    pub(crate) roster: Option<Place<Roster>>,
    pub(crate) title: String,
}

impl Header {
    pub(crate) fn new(name: &SegmentName, layout: &Layout) -> Self {
        Self {
            version: VERSION,
            ready: true,
            size: layout.size() as u64,
            fingerprint: layout.fingerprint(),
            creator: std::process::id(),
            roster: layout.first_roster(),
            title: cut(name.title(), SIZE - TITLE_AT - 1).to_owned(),
        }
    }

    /// Writes all of it, and that it is ready last.
    pub(crate) fn write(&self, file: &File) -> io::Result<()> {
        let mut bytes = [0; SIZE];
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(0, &MAGIC.to_ne_bytes());
        put(8, &self.version.to_ne_bytes());
        put(16, &self.size.to_ne_bytes());
        put(24, &self.fingerprint.to_ne_bytes());
        put(32, &self.creator.to_ne_bytes());
        if let Some(roster) = self.roster {
            put(40, &(roster.offset() as u64).to_ne_bytes());
            put(48, &(roster.len() as u64).to_ne_bytes());
        }
        put(TITLE_AT, self.title.as_bytes());
        file.write_all_at(&bytes, 0)?;
        reach(Point::HeaderHalfWritten);
        file.write_all_at(&READY.to_ne_bytes(), READY_AT as u64)
    }

    /// Reads it. `None`: this is not a segment, or none yet.
    pub(crate) fn read(file: &File) -> io::Result<Option<Self>> {
        let mut bytes = [0; SIZE];
        match file.read_exact_at(&mut bytes, 0) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            outcome => outcome?,
        }
        let long = |at: usize| u64::from_ne_bytes(std::array::from_fn(|i| bytes[at + i]));
        let word = |at: usize| u32::from_ne_bytes(std::array::from_fn(|i| bytes[at + i]));
        if long(0) != MAGIC {
            return Ok(None);
        }
        let place = |at: usize| usize::try_from(long(at)).ok();
        let title = bytes[TITLE_AT..].split(|&byte| byte == 0).next().unwrap_or_default();
        Ok(Some(Self {
            version: word(8),
            ready: word(READY_AT) == READY,
            size: long(16),
            fingerprint: long(24),
            creator: word(32),
            roster: place(40).zip(place(48)).filter(|&(offset, _)| offset > 0).map(|(at, len)| Place::new(at, len)),
            title: String::from_utf8_lossy(title).into_owned(),
        }))
    }
}

/// The longest start of a text that fits into `most` bytes. (`str::floor_char_boundary` is younger than the oldest
/// supported compiler.)
fn cut(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|&end| text.is_char_boundary(end));
    &text[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> File {
        tempfile::tempfile().expect("the temporary directory is writable")
    }

    #[test]
    fn a_header_is_read_back() {
        let mut layout = Layout::new(9);
        layout.array::<u8>(7);
        layout.roster(5);
        for title in ["job / 0 / session".to_owned(), "ü".repeat(400), String::new()] {
            let header = Header::new(&SegmentName::new(&[&title]), &layout);
            assert!(title.starts_with(&header.title));
            let file = file();
            header.write(&file).expect("the file is writable");
            assert_eq!(Header::read(&file).expect("the file is readable"), Some(header));
        }
    }

    #[test]
    fn rubbish_is_no_header() {
        let file = file();
        assert_eq!(Header::read(&file).expect("the file is readable"), None, "an empty file");
        file.write_all_at(&[b'x'; 1000], 0).expect("the file is writable");
        assert_eq!(Header::read(&file).expect("the file is readable"), None);
    }
}
