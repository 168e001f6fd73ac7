//! numpy arrays.

use half::f16;

use super::{DType, Scalar};

/// A numpy array, borrowed: its type, shape and values in row-major order (the last axis varies fastest).
#[derive(Clone, Copy, Debug)]
pub struct NdArray<'a> {
    dtype: DType,
    shape: Shape<'a>,
    bytes: &'a [u8],
}

#[derive(Clone, Copy, Debug)]
enum Shape<'a> {
    /// From the name of the encoding.
    Named(&'a [u64]),
    /// Stored with the value: dimensions of 1, 2, 4 or 8 bytes each.
    Stored { bytes: &'a [u8], width: usize },
}

/// Why bytes are no array.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ArrayError {
    #[error("an array of {0} bytes has no room for its own header")]
    Short(usize),
    #[error("unknown type {0} of an array")]
    DType(u8),
    #[error("an array of shape {shape} and type {dtype} has {have} bytes of values")]
    Values { shape: String, dtype: DType, have: usize },
}

/// A type of array elements.
pub trait Element: bytemuck::Pod {
    /// The type's name in the stored data.
    const DTYPE: DType;

    /// Takes a value that was read in the other byte order.
    #[doc(hidden)]
    fn swap_to_native(self) -> Self;
}

macro_rules! elements {
    ($($type:ty => $dtype:ident),*) => {$(
        impl Element for $type {
            const DTYPE: DType = DType::$dtype;

            fn swap_to_native(self) -> Self {
                Self::from_le_bytes(self.to_ne_bytes())
            }
        }
    )*};
}

elements!(u8 => UInt8, i8 => Int8, u16 => UInt16, i16 => Int16, f16 => Float16, u32 => UInt32, i32 => Int32,
    f32 => Float32, u64 => UInt64, i64 => Int64, f64 => Float64);

impl<'a> NdArray<'a> {
    /// Reads the stored form: `[type: 1] [axes * 4 + log2 of the width: 1, dimensions] values`, where what is in brackets
    /// is there unless the encoding's name says it.
    pub(crate) fn decode(dtype: Option<DType>, shape: Option<&'a [u64]>, bytes: &'a [u8]) -> Result<Self, ArrayError> {
        let short = || ArrayError::Short(bytes.len());
        let mut rest = bytes;
        let dtype = match dtype {
            Some(dtype) => dtype,
            None => {
                let (&code, after) = rest.split_first().ok_or_else(short)?;
                rest = after;
                DType::from_code(code).ok_or(ArrayError::DType(code))?
            }
        };
        let shape = match shape {
            Some(shape) => Shape::Named(shape),
            None => {
                let (&byte, after) = rest.split_first().ok_or_else(short)?;
                let (axes, width) = (usize::from(byte >> 2), 1 << (byte & 3));
                let (dimensions, after) = after.split_at_checked(axes * width).ok_or_else(short)?;
                rest = after;
                Shape::Stored { bytes: dimensions, width }
            }
        };
        let array = Self { dtype, shape, bytes: rest };
        let size = array.shape().try_fold(dtype.size(), u64::checked_mul);
        if size.is_some_and(|size| size == rest.len() as u64) {
            Ok(array)
        } else {
            Err(ArrayError::Values {
                shape: format!("{:?}", array.shape().collect::<Vec<_>>()),
                dtype,
                have: rest.len(),
            })
        }
    }

    /// An array of the elements' little-endian bytes, in row-major order; `None` if they are not as many as the shape asks
    /// for.
    pub fn from_bytes(dtype: DType, shape: &'a [u64], bytes: &'a [u8]) -> Option<Self> {
        Self::decode(Some(dtype), Some(shape), bytes).ok()
    }

    /// An array of elements in row-major order; `None` if they are not as many as the shape asks for, or on a machine
    /// whose byte order is not that of the stored form.
    pub fn from_slice<T: Element>(shape: &'a [u64], elements: &'a [T]) -> Option<Self> {
        if cfg!(target_endian = "big") {
            return None;
        }
        Self::from_bytes(T::DTYPE, shape, bytemuck::cast_slice(elements))
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The size along each axis, first axis first.
    pub fn shape(&self) -> impl ExactSizeIterator<Item = u64> + Clone + use<'a> {
        let shape = self.shape;
        (0..self.num_axes()).map(move |axis| match shape {
            Shape::Named(dimensions) => dimensions[axis],
            Shape::Stored { bytes, width } => {
                let mut wide = [0; 8];
                wide[..width].copy_from_slice(&bytes[axis * width..][..width]);
                u64::from_le_bytes(wide)
            }
        })
    }

    /// The number of axes.
    pub fn num_axes(&self) -> usize {
        match self.shape {
            Shape::Named(dimensions) => dimensions.len(),
            Shape::Stored { bytes, width } => bytes.len() / width,
        }
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.bytes.len() / self.element_size()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The elements' bytes, little-endian.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The elements where they lie, without a copy. `None` if they are of another type, or not aligned as `T` must be:
    /// the format aligns nothing, so always be ready to fall back to [`to_vec`](Self::to_vec) or
    /// [`copy_to`](Self::copy_to).
    pub fn as_slice<T: Element>(&self) -> Option<&'a [T]> {
        if T::DTYPE != self.dtype || (cfg!(target_endian = "big") && self.element_size() > 1) {
            return None;
        }
        bytemuck::try_cast_slice(self.bytes).ok()
    }

    /// A copy of the elements, or `None` if they are of another type.
    pub fn to_vec<T: Element>(&self) -> Option<Vec<T>> {
        (T::DTYPE == self.dtype).then(|| self.elements().collect())
    }

    /// Copies the elements to `target` and returns whether they are of its type and number.
    pub fn copy_to<T: Element>(&self, target: &mut [T]) -> bool {
        if T::DTYPE != self.dtype || self.len() != target.len() {
            return false;
        }
        bytemuck::cast_slice_mut(target).copy_from_slice(self.bytes);
        if cfg!(target_endian = "big") {
            target.iter_mut().for_each(|element| *element = element.swap_to_native());
        }
        true
    }

    /// The elements one by one.
    pub fn scalars(&self) -> impl ExactSizeIterator<Item = Scalar> + use<'a> {
        let dtype = self.dtype;
        self.bytes
            .chunks_exact(self.element_size())
            .map(move |bytes| Scalar::from_le_bytes(dtype, bytes).expect("chunks have the size of an element"))
    }

    fn elements<T: Element>(&self) -> impl Iterator<Item = T> + use<'a, T> {
        self.bytes.chunks_exact(size_of::<T>()).map(|bytes| bytemuck::pod_read_unaligned::<T>(bytes).swap_to_native())
    }

    fn element_size(&self) -> usize {
        match self.dtype.size() {
            1 => 1,
            2 => 2,
            4 => 4,
            _ => 8,
        }
    }
}

impl PartialEq for NdArray<'_> {
    /// Arrays are equal if type, shape and bytes are; NaN equals NaN of the same bits.
    fn eq(&self, other: &Self) -> bool {
        self.dtype == other.dtype && self.bytes == other.bytes && self.shape().eq(other.shape())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_four_stored_forms_decode() {
        let values = [1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0];
        let mut stored = vec![17, 2 << 2 | 1, 2, 0, 3, 0];
        stored.extend(values);
        let dynamic = NdArray::decode(None, None, &stored).unwrap();
        assert_eq!((dynamic.dtype(), dynamic.shape().collect::<Vec<_>>()), (DType::Int16, vec![2, 3]));
        assert_eq!(dynamic.to_vec::<i16>().unwrap(), [1, 2, 3, 4, 5, 6]);
        assert_eq!(dynamic.to_vec::<u16>(), None);
        assert_eq!(NdArray::decode(Some(DType::Int16), None, &stored[1..]).unwrap(), dynamic);
        assert_eq!(NdArray::decode(Some(DType::Int16), Some(&[2, 3]), &values).unwrap(), dynamic);
        let typed = [&stored[..1], &values].concat();
        assert_eq!(NdArray::decode(None, Some(&[2, 3]), &typed).unwrap(), dynamic);
        let mut copy = [0_i16; 6];
        assert!(dynamic.copy_to(&mut copy) && !dynamic.copy_to(&mut copy[1..]));
        assert_eq!(copy, [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn headers_that_lie_are_errors() {
        let cases: [&[u8]; 9] = [
            &[],
            &[8],
            &[7, 4, 1, 0],
            &[8, 4],
            &[8, 4, 2, 0],
            &[8, 4, 1, 0, 0],
            &[8, 0],
            &[8, 63 << 2 | 3, 1, 1, 1, 1],
            &[8, 2 << 2 | 3, 255, 255, 255, 255, 255, 255, 255, 255, 2, 0, 0, 0, 0, 0, 0, 0, 0],
        ];
        for bytes in cases {
            assert!(NdArray::decode(None, None, bytes).is_err(), "{bytes:?}");
        }
        assert!(NdArray::decode(Some(DType::UInt8), Some(&[3]), &[1, 2]).is_err());
    }

    #[test]
    fn slices_need_alignment() {
        let words = [0x0102_0304_0506_0708_u64; 4];
        let bytes: &[u8] = bytemuck::cast_slice(&words);
        let array = NdArray::decode(Some(DType::UInt64), Some(&[4]), bytes).unwrap();
        assert_eq!(array.as_slice::<u64>(), Some(&words[..]));
        assert_eq!(array.as_slice::<i64>(), None);
        let shifted = NdArray::decode(Some(DType::UInt64), Some(&[3]), &bytes[1..25]).unwrap();
        assert_eq!(shifted.as_slice::<u64>(), None);
        assert_eq!(shifted.to_vec::<u64>(), Some(vec![0x0801_0203_0405_0607; 3]));
    }
}
