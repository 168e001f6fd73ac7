//! The plan as a NumPy array file: five dimensions, 64-bit integers, -1 where padded.

use std::io::{self, Write};

/// Writes the header of a version 1.0 file for a little-endian i64 array in C order.
///
/// Source: NumPy's `numpy.lib.format`, "Format Version 1.0".
pub(crate) fn header(out: &mut impl Write, shape: [u64; 5]) -> io::Result<()> {
    let [nodes, ranks, workers, batches, size] = shape;
    let mut text = format!(
        "{{'descr': '<i8', 'fortran_order': False, 'shape': ({nodes}, {ranks}, {workers}, {batches}, {size}), }}"
    );
    // Magic, version and length take 10 bytes; the data must begin at a multiple of 64.
    let padded = (10 + text.len() + 1).next_multiple_of(64) - 10;
    text.extend(std::iter::repeat_n(' ', padded - text.len() - 1));
    text.push('\n');
    let length = u16::try_from(text.len()).map_err(io::Error::other)?;
    out.write_all(b"\x93NUMPY\x01\x00")?;
    out.write_all(&length.to_le_bytes())?;
    out.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_is_what_numpy_writes() {
        let mut bytes = Vec::new();
        header(&mut bytes, [1, 2, 3, 4, 5]).unwrap();
        assert_eq!(bytes.len(), 128);
        assert_eq!(&bytes[..10], b"\x93NUMPY\x01\x00v\x00");
        let text = std::str::from_utf8(&bytes[10..]).unwrap();
        assert_eq!(text.trim_end(), "{'descr': '<i8', 'fortran_order': False, 'shape': (1, 2, 3, 4, 5), }");
        assert!(text.ends_with(" \n"));
    }
}
