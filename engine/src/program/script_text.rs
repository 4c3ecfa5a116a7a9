//! The text of a script: a line `[op, file index, offset, size, due_ns]` for each operation.
//!
//! Scripts have millions of lines, and nearly all are five plain numbers without blanks: those are read here, digit by digit.
//! Whatever else JSON allows, and every message about what it does not, is left to the parser of JSON.

use crate::program::lines::Entry;
use std::io::{self, BufRead, BufReader, Read};

const READ_BYTES: usize = 1 << 16;

/// A script that is being read.
pub struct ScriptText<R> {
    text: BufReader<R>,
    number: u64,
}

impl<R: Read> ScriptText<R> {
    /// Begin at the first line.
    pub fn new(text: R) -> Self {
        Self { text: BufReader::with_capacity(READ_BYTES, text), number: 0 }
    }

    /// Number of the latest line, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The next line that is not blank, or what is wrong with it; None at the end.
    pub fn next_line(&mut self) -> io::Result<Option<Result<Entry, String>>> {
        if let Some((entry, bytes)) = plain(self.text.buffer()) {
            self.text.consume(bytes);
            self.number += 1;
            return Ok(Some(Ok(entry)));
        }
        self.unusual_line()
    }

    /// A line that is not all in the buffer, or has another form.
    #[cold]
    fn unusual_line(&mut self) -> io::Result<Option<Result<Entry, String>>> {
        let mut line = Vec::new();
        while self.text.read_until(b'\n', &mut line)? > 0 {
            self.number += 1;
            if !line.trim_ascii().is_empty() {
                return Ok(Some(as_json(&line)));
            }
            line.clear();
        }
        Ok(None)
    }
}

/// Read the entry at the start of what is there of a file, if it is in a whole line of five numbers without blanks; and
/// how many bytes that line takes. None: it has another form, or not all of it is there.
#[inline]
fn plain(text: &[u8]) -> Option<(Entry, usize)> {
    let mut rest = text.strip_prefix(b"[")?;
    let mut next = |after: u8| {
        let (value, digits) = number(rest)?;
        rest = rest[digits..].strip_prefix(&[after])?;
        Some(value)
    };
    let (op, file) = (next(b',')?, next(b',')?);
    let (offset, size, due_ns) = (next(b',')?, next(b',')?, next(b']')?);
    let rest = rest.strip_prefix(b"\n")?;
    let entry = Entry { due_ns, offset, size, file: u32::try_from(file).ok()?, op: u32::try_from(op).ok()? };
    Some((entry, text.len() - rest.len()))
}

/// A whole number at the start of a text, and its digits. JSON has none with a zero in front.
#[inline]
fn number(text: &[u8]) -> Option<(u64, usize)> {
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
    is_json.then_some((value, digits))
}

/// The entry in a line of any form. An error says what is wrong with it.
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
            next in "[\\[0-9,]{0,9}",
        ) {
            let (op, file, offset, size, due_ns) = numbers;
            let (offset, size, due_ns) = (offset >> shift, size >> shift, due_ns >> shift);
            let entry = Entry { due_ns, offset, size, file, op };
            let line = format!("[{op},{file},{offset},{size},{due_ns}]\n");

            let is_short = offset.max(size).max(due_ns) < 10_u64.pow(19);

            prop_assert_eq!(as_json(line.as_bytes()), Ok(entry));
            prop_assert_eq!(plain(format!("{line}{next}").as_bytes()), is_short.then_some((entry, line.len())));
        }

        #[test]
        fn what_is_no_json_is_no_line(line in "[\\[\\]0-9, .e+-]{0,20}") {
            let text = format!("{line}\n");
            if let Some((entry, _)) = plain(text.as_bytes()) {
                prop_assert_eq!(as_json(line.as_bytes()), Ok(entry));
            }
        }
    }

    #[test]
    fn lines_are_read_in_order_over_the_ends_of_the_buffer_and_blank_ones_are_counted() {
        let text: String = (0..20_000).map(|file| format!("[1,{file},0,4096,{}]\n\n", file * 7)).collect();
        let mut script = ScriptText::new(text.trim_end().as_bytes());

        for file in 0..20_000 {
            let entry = Entry { due_ns: u64::from(file) * 7, offset: 0, size: 4096, file, op: 1 };
            assert_eq!(script.next_line().unwrap(), Some(Ok(entry)));
            assert_eq!(script.number(), 2 * u64::from(file) + 1);
        }
        assert_eq!(script.next_line().unwrap(), None);
    }

    #[test]
    fn part_of_a_line_is_none() {
        let line = b"[0,1,0,4096,0]\n";
        for length in 0..line.len() {
            assert_eq!(plain(&line[..length]), None, "{length}");
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
            assert_eq!(plain(format!("{line}\n").as_bytes()), None, "{line}");
            let refused = as_json(line.as_bytes()).unwrap_err();
            assert!(refused.contains("a line is [op, file index, offset, size, due_ns]"), "{line}: {refused}");
        }
    }
}
