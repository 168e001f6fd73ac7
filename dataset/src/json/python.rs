//! JSON and numbers as Python writes them, so that files are the same byte for byte.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

/// A value as `json.dumps` writes it: spaces behind commas and colons, ASCII only. Fields keep their order.
pub(crate) fn dumps(value: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut out = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut out, Python))?;
    Ok(out)
}

struct Python;

impl Formatter for Python {
    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { out.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { out.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }

    /// A part of a string without quotes, backslashes and control characters.
    fn write_string_fragment<W: ?Sized + Write>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        let mut units = [0; 2];
        for c in fragment.chars() {
            if matches!(c, ' '..='~') {
                out.write_all(c.encode_utf8(&mut [0; 4]).as_bytes())?;
            } else {
                c.encode_utf16(&mut units).iter().try_for_each(|unit| write!(out, "\\u{unit:04x}"))?;
            }
        }
        Ok(())
    }

    fn write_f64<W: ?Sized + Write>(&mut self, out: &mut W, value: f64) -> io::Result<()> {
        out.write_all(float_repr(value).as_bytes())
    }
}

/// A string as `json.dumps` writes it.
pub(crate) fn dump_str(text: &str) -> Vec<u8> {
    dumps(&text).unwrap_or_default()
}

/// A floating-point number as `json.dumps` writes it, with what JSON lacks.
pub(crate) fn dump_float(value: f64) -> String {
    if value.is_finite() {
        float_repr(value)
    } else if value.is_nan() {
        "NaN".into()
    } else {
        if value > 0.0 { "Infinity" } else { "-Infinity" }.into()
    }
}

/// A floating-point number as Python's `str` and `repr` write it: the shortest digits that read back as the same number,
/// with an exponent of at least two digits below 1e-4 and from 1e16 on.
pub(crate) fn float_repr(value: f64) -> String {
    if !value.is_finite() {
        return if value.is_nan() { "nan".into() } else { value.to_string() };
    }
    // Rust's exponential form has the shortest digits too.
    let text = format!("{value:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&exponent) {
        let plain = value.to_string();
        return if plain.contains('.') { plain } else { plain + ".0" };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
}

/// An integer as Python writes it: no plus sign, no zeros in front.
pub(crate) fn integer_repr(digits: &str) -> String {
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", digits.strip_prefix('+').unwrap_or(digits)),
    };
    match digits.trim_start_matches('0') {
        "" => "0".into(),
        digits => format!("{sign}{digits}"),
    }
}

/// A text that has been checked to be JSON as `json.dumps(json.loads(text))` writes it, but for repeated keys, which stay.
pub(crate) fn redump(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + text.len() / 8);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let len = match c {
            '"' => {
                let len = super::string_len(rest);
                let string = &rest[..len];
                // Halves of surrogate pairs are no text, and are written already as Python would.
                match serde_json::from_str::<String>(string) {
                    Ok(unescaped) => out.extend(dump_str(&unescaped)),
                    Err(_) => out.extend(string.as_bytes()),
                }
                len
            }
            ',' | ':' => {
                out.extend([rest.as_bytes()[0], b' ']);
                1
            }
            ' ' | '\t' | '\n' | '\r' => 1,
            '-' | '0'..='9' => {
                let end = rest.find(|c: char| !matches!(c, '-' | '+' | '.' | 'e' | 'E' | '0'..='9'));
                let number = &rest[..end.unwrap_or(rest.len())];
                match number.parse::<f64>() {
                    Ok(float) if number.contains(['.', 'e', 'E']) => out.extend(dump_float(float).as_bytes()),
                    // The sign of `-Infinity`, whose letters follow.
                    Err(_) => out.extend(number.as_bytes()),
                    Ok(_) => out.extend(integer_repr(number).as_bytes()),
                }
                number.len()
            }
            _ => {
                out.extend(c.encode_utf8(&mut [0; 4]).as_bytes());
                c.len_utf8()
            }
        };
        rest = &rest[len..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_stability_of_floats() {
        // Python's `repr` of each.
        for (value, repr) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (-1.5, "-1.5"),
            (0.1, "0.1"),
            (1.0 / 3.0, "0.3333333333333333"),
            (1e15, "1000000000000000.0"),
            (9999999999999998.0, "9999999999999998.0"),
            (1e16, "1e+16"),
            (1.5e16, "1.5e+16"),
            (1e22, "1e+22"),
            (1e100, "1e+100"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1.5e-7, "1.5e-07"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (123456.789, "123456.789"),
            (0.00012345, "0.00012345"),
            (123456789012345680.0, "1.2345678901234568e+17"),
        ] {
            assert_eq!(float_repr(value), repr);
        }
        assert_eq!((float_repr(f64::NAN), dump_float(f64::NAN)), ("nan".into(), "NaN".into()));
    }

    #[test]
    fn value_stability_of_texts() {
        let redump = |text| String::from_utf8(redump(text)).unwrap();
        assert_eq!(
            redump(r#" {"a":[1,2.50, 1e5,-0,NaN,-Infinity] , "é\u00e9\/\"" : "😀\n"}"#),
            r#"{"a": [1, 2.5, 100000.0, 0, NaN, -Infinity], "\u00e9\u00e9/\"": "\ud83d\ude00\n"}"#
        );
        assert_eq!(redump(r#"["\ud800", "", [], {}]"#), r#"["\ud800", "", [], {}]"#);
        assert_eq!(redump("1E400"), "Infinity");
        assert_eq!(String::from_utf8(dump_str("\u{7f}\u{1}\\\u{8}")).unwrap(), r#""\u007f\u0001\\\b""#);
    }
}
