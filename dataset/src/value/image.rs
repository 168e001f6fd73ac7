//! Images as they are stored. Decoding PNG and JPEG is behind the feature `image`.

use crate::index::ImageEncoding;

/// An image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Image<'a> {
    /// Uncompressed pixels.
    Pil(PilImage<'a>),
    /// A PNG file.
    Png(&'a [u8]),
    /// A JPEG file.
    Jpeg(&'a [u8]),
}

/// An uncompressed image in the layout of the Python Imaging Library.
///
/// Stored as width, height and the length of the mode's name (each a little-endian `u32`), the name, and the pixels row
/// by row from the top left, each as the mode says: `L` one byte, `RGB` three, `RGBA` four, `I;16` two, `1` one bit with
/// rows padded to bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PilImage<'a> {
    /// Pixels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// The name of the pixels' layout.
    pub mode: &'a str,
    /// The pixels.
    pub pixels: &'a [u8],
    stored: &'a [u8],
}

/// A list of images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageList<'a> {
    encoding: ImageEncoding,
    /// The sizes, as little-endian `u32`.
    sizes: &'a [u8],
    images: &'a [u8],
    stored: &'a [u8],
}

/// What lies before the sizes of a list.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ListLayout {
    /// `jpeg_array`: the number of images.
    Plain,
    /// `list[...]`: a word for future use, then the number of images.
    Reserved,
}

/// Why bytes are no image or list of images.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ImageError {
    #[error("{have} bytes have no room for the header of an image")]
    Header { have: usize },
    #[error("the mode of an image is not UTF-8")]
    Mode,
    #[error("an image of {width}x{height} pixels of mode {mode:?} has {have} bytes of pixels, not {need}")]
    Pixels { width: u32, height: u32, mode: String, have: usize, need: u64 },
    #[error("{have} bytes have no room for a list of {number} images")]
    List { number: u32, have: usize },
    #[error("a list of images has {have} bytes of images; their sizes add up to {need}")]
    Images { have: usize, need: u64 },
}

impl<'a> Image<'a> {
    pub(crate) fn decode(encoding: ImageEncoding, bytes: &'a [u8]) -> Result<Self, ImageError> {
        Ok(match encoding {
            ImageEncoding::Pil => Self::Pil(PilImage::decode(bytes)?),
            ImageEncoding::Png => Self::Png(bytes),
            ImageEncoding::Jpeg => Self::Jpeg(bytes),
        })
    }

    /// The bytes as they are stored: the PNG or JPEG file, or the layout of [`PilImage`].
    pub fn stored(&self) -> &'a [u8] {
        match self {
            Self::Pil(image) => image.stored,
            Self::Png(bytes) | Self::Jpeg(bytes) => bytes,
        }
    }

    /// How it is stored.
    pub fn encoding(&self) -> ImageEncoding {
        match self {
            Self::Pil(_) => ImageEncoding::Pil,
            Self::Png(_) => ImageEncoding::Png,
            Self::Jpeg(_) => ImageEncoding::Jpeg,
        }
    }
}

impl<'a> PilImage<'a> {
    fn decode(stored: &'a [u8]) -> Result<Self, ImageError> {
        let header = || ImageError::Header { have: stored.len() };
        let (width, rest) = take_u32(stored).ok_or_else(header)?;
        let (height, rest) = take_u32(rest).ok_or_else(header)?;
        let (mode_len, rest) = take_u32(rest).ok_or_else(header)?;
        let mode_len = usize::try_from(mode_len).map_err(|_| header())?;
        let (mode, pixels) = rest.split_at_checked(mode_len).ok_or_else(header)?;
        let mode = std::str::from_utf8(mode).map_err(|_| ImageError::Mode)?;
        if let Some(bits) = bits_per_pixel(mode) {
            // At most 2^32 * 32 / 8 bytes a row and 2^32 rows.
            let need = u128::from(width) * u128::from(bits);
            let need = need.div_ceil(8) * u128::from(height);
            if need != pixels.len() as u128 {
                let need = u64::try_from(need).unwrap_or(u64::MAX);
                return Err(ImageError::Pixels { width, height, mode: mode.into(), have: pixels.len(), need });
            }
        }
        Ok(Self { width, height, mode, pixels, stored })
    }
}

/// What each pixel takes; `None` for modes that are not known here.
fn bits_per_pixel(mode: &str) -> Option<u32> {
    match mode {
        "1" => Some(1),
        "L" | "P" => Some(8),
        "LA" | "PA" | "La" | "I;16" | "I;16L" | "I;16B" => Some(16),
        "RGB" | "YCbCr" | "LAB" | "HSV" => Some(24),
        "RGBA" | "RGBX" | "RGBa" | "CMYK" | "I" | "F" => Some(32),
        _ => None,
    }
}

impl<'a> ImageList<'a> {
    pub(crate) fn decode(encoding: ImageEncoding, layout: ListLayout, stored: &'a [u8]) -> Result<Self, ImageError> {
        let list = |number| ImageError::List { number, have: stored.len() };
        let rest = match layout {
            ListLayout::Plain => stored,
            ListLayout::Reserved => stored.get(4..).ok_or_else(|| list(0))?,
        };
        let (number, rest) = take_u32(rest).ok_or_else(|| list(0))?;
        let head = usize::try_from(number).ok().and_then(|number| number.checked_mul(4)).ok_or_else(|| list(number))?;
        let (sizes, images) = rest.split_at_checked(head).ok_or_else(|| list(number))?;
        let this = Self { encoding, sizes, images, stored };
        let need = this.sizes().map(u64::from).sum();
        if need != images.len() as u64 {
            return Err(ImageError::Images { have: images.len(), need });
        }
        if encoding == ImageEncoding::Pil {
            this.slices().try_for_each(|bytes| PilImage::decode(bytes).map(drop))?;
        }
        Ok(this)
    }

    /// The number of images.
    pub fn len(&self) -> usize {
        self.sizes.len() / 4
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.sizes.is_empty()
    }

    /// The images in order.
    pub fn iter(&self) -> impl Iterator<Item = Image<'a>> + use<'a> {
        let encoding = self.encoding;
        self.slices().map(move |bytes| Image::decode(encoding, bytes).expect("the list was checked when it was made"))
    }

    /// The bytes as they are stored, headers and all.
    pub fn stored(&self) -> &'a [u8] {
        self.stored
    }

    /// How the images are stored.
    pub fn encoding(&self) -> ImageEncoding {
        self.encoding
    }

    fn sizes(&self) -> impl Iterator<Item = u32> + use<'a> {
        let (sizes, _) = self.sizes.as_chunks::<4>();
        sizes.iter().map(|&bytes| u32::from_le_bytes(bytes))
    }

    fn slices(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let mut rest = self.images;
        self.sizes().map(move |size| {
            // The sizes add up to what is there.
            let (image, after) = rest.split_at(size as usize);
            rest = after;
            image
        })
    }
}

fn take_u32(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (head, rest) = bytes.split_first_chunk::<4>()?;
    Some((u32::from_le_bytes(*head), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn pil_headers_are_checked() {
        let mut bytes = words(&[3, 2, 1]);
        bytes.extend(b"L123456");
        let image = PilImage::decode(&bytes).unwrap();
        assert_eq!((image.width, image.height, image.mode, image.pixels), (3, 2, "L", &b"123456"[..]));
        for broken in
            [&bytes[..11], &bytes[..12], &bytes[..18], &words(&[u32::MAX, u32::MAX, 0]), &words(&[1, 1, u32::MAX])]
        {
            // Without a mode nothing is known of the pixels.
            assert_eq!(PilImage::decode(broken).is_err(), broken.len() != 12 || broken[8..12] != [0; 4], "{broken:?}");
        }
    }

    #[test]
    fn bit_images_pad_their_rows() {
        let mut bytes = words(&[9, 2, 1]);
        bytes.extend(b"1abcd");
        assert!(PilImage::decode(&bytes).is_ok());
        assert!(PilImage::decode(&bytes[..bytes.len() - 1]).is_err());
    }

    #[test]
    fn lists_have_their_sizes_checked() {
        let mut bytes = words(&[0, 2, 1, 2]);
        bytes.extend(b"abc");
        let list = ImageList::decode(ImageEncoding::Png, ListLayout::Reserved, &bytes).unwrap();
        assert_eq!(list.iter().map(|image| image.stored()).collect::<Vec<_>>(), [&b"a"[..], b"bc"]);
        let plain = ImageList::decode(ImageEncoding::Jpeg, ListLayout::Plain, &bytes[4..]).unwrap();
        assert_eq!(plain.len(), 2);
        for broken in [&bytes[..3], &bytes[..7], &bytes[..15], &bytes[..18], &words(&[0, u32::MAX])] {
            assert!(ImageList::decode(ImageEncoding::Png, ListLayout::Reserved, broken).is_err(), "{broken:?}");
        }
        assert!(ImageList::decode(ImageEncoding::Pil, ListLayout::Reserved, &bytes).is_err());
    }
}
