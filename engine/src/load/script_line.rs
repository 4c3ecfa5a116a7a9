//! A line of a script's file as numbers: `[op, file index, offset, size, due_ns]`.
//!
//! Scripts have millions of lines, and nearly all are five plain numbers: those are read here, digit by digit. Whatever else
//! JSON allows, and every message about what it does not, is left to the parser of JSON.

use crate::load::lines::Entry;

/// The numbers of a line. An error says what is wrong with it.
pub fn read(line: &[u8]) -> Result<Entry, String> {
    plain(line).map_or_else(|| as_json(line), Ok)
}

/// A line of five numbers in its usual form; None: it has another.
fn plain(line: &[u8]) -> Option<Entry> {
    let mut rest = line.trim_ascii_start().strip_prefix(b"[")?;
    let mut next = |after: u8| {
        let (value, end) = number(rest.trim_ascii_start())?;
        rest = end.trim_ascii_start().strip_prefix(&[after])?;
        Some(value)
    };
    let (op, file) = (next(b',')?, next(b',')?);
    let (offset, size, due_ns) = (next(b',')?, next(b',')?, next(b']')?);
    if !rest.trim_ascii_start().is_empty() {
        return None;
    }
    Some(Entry { due_ns, offset, size, file: u32::try_from(file).ok()?, op: u32::try_from(op).ok()? })
}

/// A whole number at the start of a text, and what follows it. JSON has none with a zero in front.
#[inline]
fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    const MOST_DIGITS: usize = 19;
    let mut value = 0;
    let mut digits = 0;
    while let Some(digit) = text.get(digits).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
        if digits == MOST_DIGITS {
            return None;
        }
        value = value * 10 + u64::from(digit);
        digits += 1;
    }
    let is_json = digits == 1 || (digits > 1 && text[0] != b'0');
    is_json.then(|| (value, &text[digits..]))
}

fn as_json(line: &[u8]) -> Result<Entry, String> {
    let (op, file, offset, size, due_ns) = serde_json::from_slice(line)
        .map_err(|error| format!("{error}; a line is [op, file index, offset, size, due_ns], whole numbers from 0"))?;
    Ok(Entry { due_ns, offset, size, file, op })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn plain_lines_are_read_as_json_is(
            numbers in (any::<u32>(), any::<u32>(), any::<u64>(), any::<u64>(), any::<u64>()),
            shift in 0_u32..64,
            blanks in "[ \t\r]{0,2}",
        ) {
            let (op, file, offset, size, due_ns) = numbers;
            let (offset, size, due_ns) = (offset >> shift, size >> shift, due_ns >> shift);
            let line = format!("{blanks}[{op},{blanks}{file}{blanks},{offset},{size},{due_ns}{blanks}]{blanks}\n");

            let read = read(line.as_bytes());

            prop_assert_eq!(read, Ok(Entry { due_ns, offset, size, file, op }));
            prop_assert_eq!(plain(line.as_bytes()).is_some(), offset.max(size).max(due_ns) < 10_u64.pow(19));
        }

        #[test]
        fn what_is_no_json_is_no_line(line in "[\\[\\]0-9, .e+-]{0,20}") {
            prop_assert_eq!(plain(line.as_bytes()).is_some(), as_json(line.as_bytes()).is_ok(), "{}", line);
        }
    }

    #[test]
    fn lines_that_are_none_are_refused() {
        for line in [
            "",
            "[]",
            "[0,1,0,4096]",
            "[0,1,0,4096,0,0]",
            "[0,1,0,4096,0",
            "[0,1,0,4096,0]]",
            "0,1,0,4096,0",
            "[0,,0,1,0]",
            "[0,01,0,1,0]",
            "[0,-1,0,1,0]",
            "[0,1.0,0,1,0]",
            "[4294967296,0,0,1,0]",
            "[0,4294967296,0,1,0]",
            "[0,0,18446744073709551616,1,0]",
            "[0,1,0,1,0] x",
        ] {
            let refused = read(line.as_bytes()).unwrap_err();
            assert!(refused.contains("a line is [op, file index, offset, size, due_ns]"), "{line}: {refused}");
        }
    }
}
