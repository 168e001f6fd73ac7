//! The one sequence in which an epoch's positions are read, whoever reads them.

use crate::divisor::Divisor;

/// The positions of the epoch as rows, one for each canonical node, read column by column.
///
/// All rows have the same number of columns. A row that has one position less than others repeats its last one; where
/// several nodes share a canonical node, columns are added until they can be dealt evenly.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    canonical_nodes: Divisor,
    columns: u64,
    num_samples: u64,
    fill: Fill,
}

/// What stands in the rows.
#[derive(Clone, Copy, Debug)]
enum Fill {
    /// Each row holds its own part of the epoch.
    Parts(Parts),
    /// There are too few samples: all of them, over and over, along the rows.
    Cycle,
}

#[derive(Clone, Copy, Debug)]
struct Parts {
    /// Samples of a short row, and how many samples are left after giving all rows as many.
    quotient: u64,
    remainder: u64,
    /// Whether `remainder * canonical_nodes` can exceed 64 bits.
    wide: bool,
    /// Columns before those that were added.
    own_columns: u64,
    /// The column that the first added one repeats, or `None` to begin anew at the first.
    repeat_from: Option<u64>,
}

impl Rows {
    /// Rows of `canonical_nodes` parts of `num_samples` for `nodes`, of which one number divides the other. `None` where
    /// they do not fit into 64 bits.
    pub(super) fn new(num_samples: u64, canonical_nodes: u64, nodes: u64) -> Option<Self> {
        let own_columns = num_samples.div_ceil(canonical_nodes);
        let sharing = (nodes / canonical_nodes).max(1);
        let columns = own_columns.checked_next_multiple_of(sharing)?;
        columns.checked_mul(canonical_nodes)?;
        let enough = num_samples > canonical_nodes || num_samples == canonical_nodes && canonical_nodes >= nodes;
        let fill = if enough {
            Fill::Parts(Parts {
                quotient: num_samples / canonical_nodes,
                remainder: num_samples % canonical_nodes,
                wide: canonical_nodes > 1 << 32,
                own_columns,
                repeat_from: own_columns
                    .checked_sub(sharing - 1)
                    .and_then(|end| end.checked_sub(columns - own_columns)),
            })
        } else {
            Fill::Cycle
        };
        Some(Self { canonical_nodes: Divisor::new(canonical_nodes)?, columns, num_samples, fill })
    }

    /// How many positions the sequence has, repeats included.
    pub(super) const fn len(&self) -> u64 {
        self.columns * self.canonical_nodes.get()
    }

    /// How many canonical nodes there are.
    pub(super) const fn canonical_nodes(&self) -> u64 {
        self.canonical_nodes.get()
    }

    /// Whether each row holds its own part of the epoch.
    pub(super) const fn holds_parts(&self) -> bool {
        matches!(self.fill, Fill::Parts(_))
    }

    /// How many positions come before any that were added for nodes that share rows.
    pub(super) const fn unpadded_len(&self) -> u64 {
        self.num_samples.div_ceil(self.canonical_nodes.get()) * self.canonical_nodes.get()
    }

    /// The row whose part of the epoch a position lies in.
    pub(super) fn row_of(&self, position: u64) -> u64 {
        let product = (u128::from(position) + 1) * u128::from(self.canonical_nodes.get()) - 1;
        u64::try_from(product / u128::from(self.num_samples)).expect("at most the rows, for a position of the epoch")
    }

    /// The position at `step` of the sequence, which is below [`len`](Self::len).
    #[inline]
    pub(super) fn at(&self, step: u64) -> u64 {
        let (column, row) = self.canonical_nodes.divide(step);
        match &self.fill {
            Fill::Parts(parts) => parts.at(row, column, self.canonical_nodes),
            // There are at most as many samples as rows, and the table is no larger than its length.
            Fill::Cycle => (row * self.columns + column) % self.num_samples,
        }
    }
}

impl Parts {
    #[inline]
    fn at(&self, row: u64, column: u64, canonical_nodes: Divisor) -> u64 {
        let (extra, rest) = if self.wide {
            self.extra_wide(row, canonical_nodes.get())
        } else {
            canonical_nodes.divide(row * self.remainder)
        };
        let column = if column < self.own_columns { column } else { self.repeated(column - self.own_columns) };
        // The part is one shorter where no whole sample of the remainder is added before the next one.
        let short = self.remainder > 0 && rest < canonical_nodes.get() - self.remainder;
        let missing = short && column + 1 == self.own_columns;
        row * self.quotient + extra + column - u64::from(missing)
    }

    /// How many of the remaining samples went to the rows before, and the rest of the division.
    #[cold]
    fn extra_wide(&self, row: u64, canonical_nodes: u64) -> (u64, u64) {
        let product = u128::from(row) * u128::from(self.remainder);
        let canonical_nodes = u128::from(canonical_nodes);
        let narrow = |number| u64::try_from(number).expect("both factors are below the divisor");
        (narrow(product / canonical_nodes), narrow(product % canonical_nodes))
    }

    /// The column that the added column number `added` repeats.
    const fn repeated(&self, added: u64) -> u64 {
        match self.repeat_from {
            Some(first) => first + added,
            None => added % self.own_columns,
        }
    }
}
