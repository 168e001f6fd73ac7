//! The columns of a shard's samples.

use super::encoding::Encoding;

/// A column: its name and how its values are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    name: Box<str>,
    encoding: Encoding,
    size: Option<u32>,
    /// The bytes of fixed-size columns before this one, and the number of columns of variable size before it.
    fixed_before: u64,
    variable_before: u32,
}

/// The columns of a shard in the order in which they are stored, which is by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    columns: Box<[Column]>,
    fixed_bytes: u64,
    num_variable: u32,
}

/// Why columns cannot be what an index says.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ColumnsError {
    #[error("column `{0}` is listed twice; names must differ")]
    Repeated(String),
    #[error("column `{name}` has encoding `{encoding}` and size {size}; its values take {need} bytes")]
    Size { name: String, encoding: String, size: u64, need: u64 },
    #[error("column `{0}` has a size beyond 4 GiB, which no MDS file can hold")]
    Huge(String),
    #[error("there are more than 2^32 columns")]
    TooMany,
}

impl Column {
    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How values are stored.
    pub fn encoding(&self) -> &Encoding {
        &self.encoding
    }

    /// The size in bytes of every value in MDS, if it is always the same. Otherwise each value is stored with its size.
    pub fn size(&self) -> Option<u32> {
        self.size
    }

    pub(crate) fn fixed_before(&self) -> u64 {
        self.fixed_before
    }

    pub(crate) fn variable_before(&self) -> u32 {
        self.variable_before
    }
}

impl Columns {
    /// Checks names against each other and sizes against encodings.
    pub(crate) fn new(parts: Vec<(Box<str>, Encoding, Option<u64>)>) -> Result<Self, ColumnsError> {
        let mut columns = Vec::<Column>::with_capacity(parts.len());
        let mut names = std::collections::HashSet::with_capacity(parts.len());
        let (mut fixed_before, mut variable_before) = (0_u64, 0_u32);
        for (name, encoding, size) in parts {
            if !names.insert(name.clone()) {
                return Err(ColumnsError::Repeated(name.into()));
            }
            // A size of 0 has always been read as none.
            let size = size.filter(|&size| size != 0);
            if let (Some(size), Some(need)) = (size, encoding.fixed_size())
                && size != need
            {
                return Err(ColumnsError::Size { name: name.into(), encoding: encoding.to_string(), size, need });
            }
            let size = match size.map(u32::try_from).transpose() {
                Ok(size) => size,
                Err(_) => return Err(ColumnsError::Huge(name.into())),
            };
            columns.push(Column { name, encoding, size, fixed_before, variable_before });
            match size {
                Some(size) => fixed_before += u64::from(size),
                None => variable_before = variable_before.checked_add(1).ok_or(ColumnsError::TooMany)?,
            }
        }
        Ok(Self { columns: columns.into(), fixed_bytes: fixed_before, num_variable: variable_before })
    }

    /// The number of columns.
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Column number `i`.
    pub fn get(&self, i: usize) -> Option<&Column> {
        self.columns.get(i)
    }

    /// The number of the column called `name`. Look it up once rather than for every sample.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| &*column.name == name)
    }

    /// The columns in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Column> {
        self.columns.iter()
    }

    /// The bytes that columns of fixed size take in each sample.
    pub(crate) fn fixed_bytes(&self) -> u64 {
        self.fixed_bytes
    }

    /// The number of columns whose sizes are stored with each sample.
    pub(crate) fn num_variable(&self) -> u32 {
        self.num_variable
    }

    /// The names, for error texts.
    pub(crate) fn names(&self) -> String {
        let names: Vec<_> = self.iter().map(|column| format!("`{}`", column.name)).collect();
        names.join(", ")
    }
}

impl<'a> IntoIterator for &'a Columns {
    type Item = &'a Column;
    type IntoIter = std::slice::Iter<'a, Column>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(parts: &[(&str, &str, Option<u64>)]) -> Result<Columns, ColumnsError> {
        Columns::new(parts.iter().map(|&(n, e, s)| (n.into(), Encoding::mds(e).unwrap(), s)).collect())
    }

    #[test]
    fn layout_counts_what_lies_before() {
        let c = columns(&[("a", "bytes", None), ("b", "int", Some(8)), ("c", "str", Some(0)), ("d", "uint8", Some(1))]);
        let c = c.unwrap();
        let before: Vec<_> = c.iter().map(|c| (c.fixed_before(), c.variable_before())).collect();
        assert_eq!(before, [(0, 0), (0, 1), (8, 1), (8, 2)]);
        assert_eq!((c.fixed_bytes(), c.num_variable()), (9, 2));
        assert_eq!(c.position("c"), Some(2));
        assert_eq!(c.position("e"), None);
    }

    #[test]
    fn lies_are_refused() {
        assert!(matches!(columns(&[("a", "int", Some(8)), ("a", "int", Some(8))]), Err(ColumnsError::Repeated(_))));
        assert!(matches!(columns(&[("a", "int", Some(4))]), Err(ColumnsError::Size { size: 4, need: 8, .. })));
        assert!(matches!(columns(&[("a", "bytes", Some(u64::MAX))]), Err(ColumnsError::Huge(_))));
    }
}
