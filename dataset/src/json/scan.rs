//! A scanner that checks JSON without building anything.

/// How deep arrays and objects may be nested.
const MAX_DEPTH: u32 = 128;

/// Walks over a JSON text.
#[derive(Debug)]
pub(crate) struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

/// Where and why a text is not JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} at its byte {at}")]
pub(crate) struct ScanError {
    at: usize,
    what: &'static str,
}

type Result<T, E = ScanError> = std::result::Result<T, E>;

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Checks that the text is one value and nothing else.
    pub(crate) fn check(mut self) -> Result<()> {
        self.value(0)?;
        self.end()
    }

    /// Checks that the text is one object and hands its members to `each`: the key between its quotes, escapes and all,
    /// and the text of the value.
    pub(crate) fn object(mut self, mut each: impl FnMut(&'a str, &'a str)) -> Result<()> {
        self.skip_space();
        if self.peek() != Some(b'{') {
            return Err(self.error("no `{`"));
        }
        self.members(0, &mut each)?;
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        self.skip_space();
        if self.at < self.text.len() { Err(self.error("more than one value")) } else { Ok(()) }
    }

    fn value(&mut self, depth: u32) -> Result<()> {
        self.skip_space();
        match self.peek() {
            Some(b'{') => self.members(depth, &mut |_, _| ()),
            Some(b'[') => self.elements(depth),
            Some(b'"') => self.string().map(drop),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => {
                for word in ["true", "false", "null", "NaN", "Infinity"] {
                    if self.rest().starts_with(word) {
                        self.at += word.len();
                        return Ok(());
                    }
                }
                Err(self.error("no value"))
            }
        }
    }

    fn members(&mut self, depth: u32, each: &mut dyn FnMut(&'a str, &'a str)) -> Result<()> {
        self.descend(depth)?;
        self.skip_space();
        if self.take(b'}') {
            return Ok(());
        }
        loop {
            self.skip_space();
            let key = self.string()?;
            self.skip_space();
            if !self.take(b':') {
                return Err(self.error("no `:`"));
            }
            self.skip_space();
            let begin = self.at;
            self.value(depth + 1)?;
            each(key, &self.text[begin..self.at]);
            self.skip_space();
            if self.take(b'}') {
                return Ok(());
            }
            if !self.take(b',') {
                return Err(self.error("no `,` or `}`"));
            }
        }
    }

    fn elements(&mut self, depth: u32) -> Result<()> {
        self.descend(depth)?;
        self.skip_space();
        if self.take(b']') {
            return Ok(());
        }
        loop {
            self.value(depth + 1)?;
            self.skip_space();
            if self.take(b']') {
                return Ok(());
            }
            if !self.take(b',') {
                return Err(self.error("no `,` or `]`"));
            }
        }
    }

    /// Steps over an opening bracket.
    fn descend(&mut self, depth: u32) -> Result<()> {
        if depth >= MAX_DEPTH {
            return Err(self.error("nesting beyond 128 levels"));
        }
        self.at += 1;
        Ok(())
    }

    /// A string; returns what is between the quotes.
    fn string(&mut self) -> Result<&'a str> {
        if !self.take(b'"') {
            return Err(self.error("no string"));
        }
        let begin = self.at;
        loop {
            match self.peek() {
                Some(b'"') => {
                    let between = &self.text[begin..self.at];
                    self.at += 1;
                    return Ok(between);
                }
                Some(b'\\') => self.escape()?,
                Some(0..=0x1f) => return Err(self.error("a control character in a string")),
                Some(_) => self.at += 1,
                None => return Err(self.error("a string without end")),
            }
        }
    }

    fn escape(&mut self) -> Result<()> {
        let rest = &self.text.as_bytes()[self.at..];
        let len = match rest.get(1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 2,
            Some(b'u') if rest.len() >= 6 && rest[2..6].iter().all(u8::is_ascii_hexdigit) => 6,
            _ => return Err(self.error("an unknown escape")),
        };
        self.at += len;
        Ok(())
    }

    fn number(&mut self) -> Result<()> {
        self.take(b'-');
        if self.rest().starts_with("Infinity") {
            self.at += "Infinity".len();
            return Ok(());
        }
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            let _ = self.take(b'-') || self.take(b'+');
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<()> {
        let count = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        if count == 0 {
            return Err(self.error("no digit"));
        }
        self.at += count;
        Ok(())
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Only ever asked for between characters.
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn error(&self, what: &'static str) -> ScanError {
        ScanError { at: self.at, what }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn python_writes_more_than_json() {
        for text in ["NaN", "Infinity", "-Infinity", r#"{"a": [NaN, -Infinity]}"#] {
            assert_eq!(Scanner::new(text).check(), Ok(()), "{text}");
        }
    }

    #[test]
    fn rubbish_is_refused() {
        for text in [
            "",
            " ",
            "nul",
            "01",
            "1.",
            ".5",
            "1e",
            "-",
            "+1",
            "[1,]",
            "[,]",
            "{,}",
            "{\"a\"}",
            "{a: 1}",
            "\"",
            "\"\\x\"",
            "\"\\u12g4\"",
            "\"\n\"",
            "1 2",
            "[1",
            "{\"a\": 1",
            "'a'",
            "nan",
            "\u{a0}1",
            "\"\\",
            "\"\\u\u{e9}\u{e9}\"",
        ] {
            assert!(Scanner::new(text).check().is_err(), "{text:?}");
        }
        let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(Scanner::new(&deep(128)).check().is_ok() && Scanner::new(&deep(129)).check().is_err());
        assert!(Scanner::new("[]").object(|_, _| ()).is_err());
    }

    fn any_json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            any::<f64>().prop_map(Into::into),
            ".*".prop_map(serde_json::Value::from),
        ];
        leaf.prop_recursive(4, 32, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
                prop::collection::hash_map(".*", inner, 0..5)
                    .prop_map(|map| map.into_iter().collect::<serde_json::Map<_, _>>().into()),
            ]
        })
    }

    proptest! {
        #[test]
        fn whatever_is_json_passes(value in any_json()) {
            prop_assert_eq!(Scanner::new(&value.to_string()).check(), Ok(()));
            prop_assert_eq!(Scanner::new(&serde_json::to_string_pretty(&value).unwrap()).check(), Ok(()));
        }

        #[test]
        fn verdicts_are_those_of_serde(text in r#"[-\[\]{}",:0-9.eE+ \\tnu]{0,12}"#) {
            let serde = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
            prop_assert_eq!(Scanner::new(&text).check().is_ok(), serde, "{}", text);
        }
    }
}
