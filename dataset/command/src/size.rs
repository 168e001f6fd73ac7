//! Numbers of bytes as people write them.

/// Reads `67108864`, `64mb` or `2 GiB`. Units are powers of 1024 however they are spelt, as in mosaicml-streaming.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    let lower = text.to_ascii_lowercase();
    let digits = lower.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit: u64 = match &lower[digits.len()..] {
        "" | "b" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        "t" | "tb" | "tib" => 1 << 40,
        unit => return Err(format!("unknown unit `{unit}`; known are kb, mb, gb and tb (of 1024)")),
    };
    let number = digits.trim().parse::<u64>().map_err(|_| format!("`{text}` is not a size such as 64mb"))?;
    number.checked_mul(unit).ok_or_else(|| format!("`{text}` is beyond 64 bits"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(parse("67108864"), Ok(1 << 26));
        assert_eq!(parse("64mb"), Ok(1 << 26));
        assert_eq!(parse("1 KiB"), Ok(1024));
        assert_eq!(parse("3TB"), Ok(3 << 40));
        assert!(parse("").is_err() && parse("mb").is_err() && parse("1x").is_err());
        assert!(parse("99999999999gb").is_err() && parse("-1").is_err());
    }
}
