//! Environment variables as they were read.

use std::fmt;

use crate::{DetectError, Environment};

/// An environment variable and its value. Displays as `NAME=value`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Variable {
    name: &'static str,
    // Three of these fit an error of modest size.
    value: Box<str>,
}

impl Variable {
    #[expect(clippy::needless_pass_by_value, reason = "takes numbers and texts alike")]
    pub(crate) fn new(name: &'static str, value: impl ToString) -> Self {
        Self { name, value: value.to_string().into_boxed_str() }
    }

    /// Its name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Its value.
    #[must_use]
    pub fn value(&self) -> &str {
        &self.value
    }
}

impl fmt::Display for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Errors quote what they were given: a value must not be able to break a line or a terminal.
        write!(f, "{}={}", self.name, self.value.escape_debug())
    }
}

/// A variable whose value is a whole number.
#[derive(Debug, Clone)]
pub(crate) struct Number {
    pub(crate) variable: Variable,
    pub(crate) value: u64,
}

/// Reads variables and remembers which of them were there.
pub(crate) struct Reader<'a> {
    environment: &'a dyn Environment,
    read: Vec<Variable>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(environment: &'a dyn Environment) -> Self {
        Self { environment, read: Vec::new() }
    }

    pub(crate) fn environment(&self) -> &'a dyn Environment {
        self.environment
    }

    /// The value of `name` without the blanks around it. An empty variable counts as one that is not set.
    pub(crate) fn text(&mut self, name: &'static str) -> Option<Variable> {
        let variable = self.peek(name)?;
        if !self.read.contains(&variable) {
            self.read.push(variable.clone());
        }
        Some(variable)
    }

    /// As [`Reader::text`], without remembering.
    pub(crate) fn peek(&self, name: &'static str) -> Option<Variable> {
        let value = self.environment.variable(name)?;
        let value = value.trim();
        (!value.is_empty()).then(|| Variable::new(name, value))
    }

    /// The number in the first of `names` that is set.
    pub(crate) fn number(&mut self, names: &[&'static str]) -> Result<Option<Number>, DetectError> {
        let Some(variable) = names.iter().find_map(|name| self.text(name)) else { return Ok(None) };
        match variable.value().parse() {
            Ok(value) => Ok(Some(Number { variable, value })),
            Err(_) => Err(DetectError::NotANumber { variable }),
        }
    }

    /// As [`Reader::number`], for numbers that count something there must be.
    pub(crate) fn count(&mut self, names: &[&'static str]) -> Result<Option<Number>, DetectError> {
        match self.number(names)? {
            Some(number) if number.value == 0 => Err(DetectError::Zero { variable: number.variable }),
            number => Ok(number),
        }
    }

    /// Everything that was read, in the order in which it was.
    pub(crate) fn into_read(self) -> Vec<Variable> {
        self.read
    }
}
