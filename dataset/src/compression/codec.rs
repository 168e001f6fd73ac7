//! The codecs, each over whole files in memory.

use std::io::{self, Read, Write};

use super::CompressionAlgorithm as Algorithm;

/// Quadratic in the window's bits; the default of other brotli encoders.
const BROTLI_WINDOW: u32 = 22;
const BUFFER: usize = 64 << 10;

/// Decompresses `zip`, giving up after `limit` + 1 bytes so that the caller sees that there are too many.
pub(super) fn decode(algorithm: Algorithm, zip: &[u8], limit: u64) -> io::Result<Vec<u8>> {
    match algorithm {
        Algorithm::Brotli => read(brotli::Decompressor::new(zip, BUFFER), zip, limit),
        Algorithm::Bzip2 => read(bzip2::read::MultiBzDecoder::new(zip), zip, limit),
        Algorithm::Gzip => read(flate2::read::MultiGzDecoder::new(zip), zip, limit),
        Algorithm::Snappy => snappy(zip, limit),
        Algorithm::Zstd => read(zstd::Decoder::with_buffer(zip)?, zip, limit),
    }
}

fn read(decoder: impl Read, zip: &[u8], limit: u64) -> io::Result<Vec<u8>> {
    // The limit comes from an index that may lie, so it is not reserved in advance.
    let likely = usize::try_from(limit).unwrap_or(usize::MAX).min(zip.len().saturating_mul(8));
    let mut raw = Vec::with_capacity(likely);
    decoder.take(limit.saturating_add(1)).read_to_end(&mut raw)?;
    Ok(raw)
}

/// Snappy says at its start how much will come, and checks that on its way.
fn snappy(zip: &[u8], limit: u64) -> io::Result<Vec<u8>> {
    let len = snap::raw::decompress_len(zip)?;
    if len as u64 > limit {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("{len} bytes would come, not {limit}")));
    }
    Ok(snap::raw::Decoder::new().decompress_vec(zip)?)
}

pub(super) fn encode(algorithm: Algorithm, raw: &[u8], level: u32) -> io::Result<Vec<u8>> {
    match algorithm {
        Algorithm::Brotli => {
            let mut encoder = brotli::CompressorWriter::new(Vec::new(), BUFFER, level, BROTLI_WINDOW);
            encoder.write_all(raw)?;
            encoder.flush()?;
            Ok(encoder.into_inner())
        }
        Algorithm::Bzip2 => {
            let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::new(level));
            encoder.write_all(raw)?;
            encoder.finish()
        }
        Algorithm::Gzip => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(level));
            encoder.write_all(raw)?;
            encoder.finish()
        }
        Algorithm::Snappy => Ok(snap::raw::Encoder::new().compress_vec(raw)?),
        Algorithm::Zstd => {
            let mut encoder = zstd::Encoder::new(Vec::new(), i32::try_from(level).unwrap_or(i32::MAX))?;
            encoder.set_pledged_src_size(Some(raw.len() as u64))?;
            encoder.include_contentsize(true)?;
            encoder.write_all(raw)?;
            encoder.finish()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [(Algorithm, u32); 6] = [
        (Algorithm::Brotli, 11),
        (Algorithm::Brotli, 0),
        (Algorithm::Bzip2, 9),
        (Algorithm::Gzip, 0),
        (Algorithm::Snappy, 0),
        (Algorithm::Zstd, 22),
    ];

    #[test]
    fn what_goes_in_comes_out() {
        for len in [0_usize, 1, 1000, 300_000] {
            let raw: Vec<u8> = (0..len).map(|i| u8::try_from(i * i / 7 % 251).unwrap()).collect();
            for (algorithm, level) in ALL {
                let zip = encode(algorithm, &raw, level).unwrap();
                assert_eq!(decode(algorithm, &zip, len as u64).unwrap(), raw, "{algorithm:?} {len}");
                assert!(decode(algorithm, &zip[..zip.len() - 1], len as u64).is_err(), "{algorithm:?} {len}");
            }
        }
    }

    #[test]
    fn bombs_are_not_unfolded() {
        let raw = vec![0; 3_000_000];
        for (algorithm, level) in ALL {
            let zip = encode(algorithm, &raw, level).unwrap();
            // Snappy fails before it begins.
            if let Ok(unfolded) = decode(algorithm, &zip, 1000) {
                assert_eq!(unfolded.len(), 1001, "{algorithm:?}");
                assert!(unfolded.capacity() < 300_000, "{algorithm:?} took {} bytes", unfolded.capacity());
            }
        }
    }
}
