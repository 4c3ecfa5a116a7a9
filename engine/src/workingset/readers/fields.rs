//! Numbers in the text of traces.

use super::super::TraceError;

/// Nanoseconds of a second.
pub const SECOND_NS: u64 = 1_000_000_000;

/// Words between blanks.
pub fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

/// A whole number of decimal digits; None for anything else, or one that has no place in 64 bits.
#[inline]
pub fn whole(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 20 {
        return None;
    }
    text.iter().try_fold(0_u64, |number, &digit| {
        digit.is_ascii_digit().then(|| number.checked_mul(10)?.checked_add(u64::from(digit - b'0')))?
    })
}

/// A decimal number in units of `unit` nanoseconds, as nanoseconds: exact, with digits below one left out.
pub fn nanoseconds(text: &[u8], unit: u64) -> Option<u64> {
    let (before, after) = match text.iter().position(|&byte| byte == b'.') {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, &[][..]),
    };
    let mut sum = whole(before)?.checked_mul(unit)?;
    let mut worth = unit;
    for &digit in after {
        if !digit.is_ascii_digit() {
            return None;
        }
        worth /= 10;
        sum = sum.checked_add(u64::from(digit - b'0') * worth)?;
    }
    Some(sum)
}

/// A length that a request can have.
///
/// # Errors
///
/// It is longer than 4 GiB.
pub fn length(bytes: Option<u64>) -> Result<u32, TraceError> {
    bytes
        .and_then(|bytes| u32::try_from(bytes).ok())
        .ok_or_else(|| TraceError::Input("the length is no whole number below 2^32 bytes".into()))
}

/// An error where a field is not what it has to be.
pub fn expected(what: &str) -> TraceError {
    TraceError::Input(format!("{what} is missing, or is no number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_exact_and_nothing_else_is_a_number() {
        assert_eq!(whole(b"18446744073709551615"), Some(u64::MAX));
        for text in ["", "18446744073709551616", "-1", "+1", "1e3", " 1", "0x10", "000000000000000000001"] {
            assert_eq!(whole(text.as_bytes()), None, "{text}");
        }
        assert_eq!(nanoseconds(b"12.000000001", SECOND_NS), Some(12_000_000_001));
        assert_eq!(nanoseconds(b"0.0000000019", SECOND_NS), Some(1));
        assert_eq!(nanoseconds(b"7", 100), Some(700));
        assert_eq!(nanoseconds(b"7.5", 1), Some(7));
        for text in ["", ".", ".5", "1.x", "1.2.3", "nan", "18446744073709551615"] {
            assert_eq!(nanoseconds(text.as_bytes(), SECOND_NS), None, "{text}");
        }
    }

    #[test]
    fn words_are_what_lies_between_blanks() {
        assert_eq!(words(b"  8,0 \t 3 W ").collect::<Vec<_>>(), [&b"8,0"[..], b"3", b"W"]);
    }
}
