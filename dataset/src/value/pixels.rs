//! The pixels of images, with the `image` crate.

use std::io::Cursor;

use image::{DynamicImage, GrayAlphaImage, GrayImage, ImageBuffer, ImageFormat, ImageReader, RgbImage, RgbaImage};

use super::{Image, PilImage};
use crate::error::{Error, Result};

impl Image<'_> {
    /// Decodes the image. PNG and JPEG may take half a gigabyte at most, whatever their headers promise.
    ///
    /// # Errors
    ///
    /// The file is damaged or too large, or the mode of uncompressed pixels is not one of `1`, `L`, `LA`, `I;16`, `RGB`,
    /// `RGBA`.
    pub fn pixels(&self) -> Result<DynamicImage> {
        let format = match self {
            Image::Pil(image) => return image.pixels(),
            Image::Png(_) => ImageFormat::Png,
            Image::Jpeg(_) => ImageFormat::Jpeg,
        };
        let reader = ImageReader::with_format(Cursor::new(self.stored()), format);
        reader.decode().map_err(|source| {
            Error::corrupt(format!("the {} image does not decode", self.encoding())).with_source(source)
        })
    }
}

impl PilImage<'_> {
    /// The pixels in the buffer that the mode asks for.
    fn pixels(&self) -> Result<DynamicImage> {
        let (width, height) = (self.width, self.height);
        let owned = || self.pixels.to_vec();
        let image = match self.mode {
            "L" => GrayImage::from_raw(width, height, owned()).map(DynamicImage::from),
            "LA" => GrayAlphaImage::from_raw(width, height, owned()).map(DynamicImage::from),
            "RGB" => RgbImage::from_raw(width, height, owned()).map(DynamicImage::from),
            "RGBA" => RgbaImage::from_raw(width, height, owned()).map(DynamicImage::from),
            "I;16" => {
                let (words, _) = self.pixels.as_chunks::<2>();
                let words = words.iter().map(|&word| u16::from_le_bytes(word)).collect();
                ImageBuffer::from_raw(width, height, words).map(DynamicImage::ImageLuma16)
            }
            "1" => GrayImage::from_raw(width, height, self.bits()).map(DynamicImage::from),
            mode => {
                return Err(Error::config(format!("an image of mode {mode:?} is not decoded; take its bytes instead")));
            }
        };
        image.ok_or_else(|| Error::corrupt("an image has fewer pixels than its header says"))
    }

    /// Pixels of a bit each, the highest bit first and rows padded to bytes, as black and white.
    fn bits(&self) -> Vec<u8> {
        let width = self.width as usize;
        let rows = self.pixels.chunks_exact(width.div_ceil(8).max(1));
        rows.flat_map(|row| (0..width).map(|x| if row[x / 8] << (x % 8) & 0x80 == 0 { 0 } else { 255 })).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::ImageEncoding;

    fn pil(width: u32, height: u32, mode: &str, pixels: &[u8]) -> Vec<u8> {
        let mode_len = u32::try_from(mode.len()).unwrap();
        [&width.to_le_bytes(), &height.to_le_bytes(), &mode_len.to_le_bytes(), mode.as_bytes(), pixels].concat()
    }

    #[test]
    fn uncompressed_modes_decode() {
        let decode = |stored: &[u8]| Image::decode(ImageEncoding::Pil, stored).unwrap().pixels();
        let bits = decode(&pil(9, 2, "1", &[0b1010_0000, 0b1000_0000, 0, 0])).unwrap().into_luma8();
        assert_eq!(bits.as_raw()[..9], [255, 0, 255, 0, 0, 0, 0, 0, 255]);
        assert_eq!(decode(&pil(1, 1, "I;16", &[1, 2])).unwrap().into_luma16().as_raw(), &[0x201]);
        assert_eq!(decode(&pil(1, 1, "RGB", &[1, 2, 3])).unwrap().into_rgb8().as_raw(), &[1, 2, 3]);
        assert!(decode(&pil(1, 1, "F", &[0; 4])).unwrap_err().is_config());
    }

    #[test]
    fn damaged_files_are_errors() {
        for encoding in [ImageEncoding::Png, ImageEncoding::Jpeg] {
            assert!(Image::decode(encoding, b"\x89PNG\r\n\x1a\n").unwrap().pixels().unwrap_err().is_corrupt());
        }
    }
}
