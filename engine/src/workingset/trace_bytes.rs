//! The bytes of a trace, read in large pieces: whole records, or lines.

use std::fmt;
use std::io;
use std::io::Read;

/// Read at once.
const PIECE: usize = 1 << 20;
/// Longest line; longer ones are no trace.
pub const MOST_LINE: usize = 1 << 16;

/// A stream with a buffer that shows what comes next.
pub struct TraceBytes {
    input: Box<dyn Read>,
    buffer: Vec<u8>,
    begin: usize,
    end: usize,
    is_at_end: bool,
    read: u64,
}

impl fmt::Debug for TraceBytes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TraceBytes").field("read", &self.read).finish_non_exhaustive()
    }
}

/// What the next line is.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// A line, without its end.
    Whole(&'a [u8]),
    /// The last line has no end, so it may be cut off.
    Cut,
    /// Longer than [`MOST_LINE`].
    TooLong,
    /// There is none.
    End,
}

impl TraceBytes {
    /// Nothing is read yet.
    pub fn new(input: Box<dyn Read>) -> Self {
        Self { input, buffer: vec![0; PIECE + MOST_LINE], begin: 0, end: 0, is_at_end: false, read: 0 }
    }

    /// Bytes read so far.
    pub fn read(&self) -> u64 {
        self.read
    }

    /// What comes next: at least `wanted` bytes (up to [`MOST_LINE`]), fewer only before the end.
    ///
    /// # Errors
    ///
    /// The input cannot be read.
    pub fn peek(&mut self, wanted: usize) -> io::Result<&[u8]> {
        debug_assert!(wanted <= MOST_LINE);
        while self.end - self.begin < wanted && !self.is_at_end {
            self.refill()?;
        }
        Ok(&self.buffer[self.begin..self.end])
    }

    /// Go past bytes that were seen.
    pub fn advance(&mut self, bytes: usize) {
        self.begin = self.end.min(self.begin + bytes);
    }

    /// The next line, which is gone past.
    ///
    /// # Errors
    ///
    /// The input cannot be read.
    pub fn line(&mut self) -> io::Result<Line<'_>> {
        let mut seen = 0;
        loop {
            let rest = &self.buffer[self.begin..self.end];
            if let Some(at) = rest[seen..].iter().position(|&byte| byte == b'\n') {
                let begin = self.begin;
                let end = begin + seen + at;
                self.begin = end + 1;
                let line = &self.buffer[begin..end];
                return Ok(Line::Whole(line.strip_suffix(b"\r").unwrap_or(line)));
            }
            seen = rest.len();
            if seen >= MOST_LINE {
                return Ok(Line::TooLong);
            }
            if self.is_at_end {
                self.begin = self.end;
                return Ok(if seen > 0 { Line::Cut } else { Line::End });
            }
            self.refill()?;
        }
    }

    fn refill(&mut self) -> io::Result<()> {
        if self.begin > 0 {
            self.buffer.copy_within(self.begin..self.end, 0);
            self.end -= self.begin;
            self.begin = 0;
        }
        loop {
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(bytes) => {
                    self.is_at_end = bytes == 0;
                    self.end += bytes;
                    self.read += bytes as u64;
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives one byte at a time.
    struct Slow(Vec<u8>, usize);

    impl Read for Slow {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let Some(&byte) = self.0.get(self.1) else { return Ok(0) };
            buffer[0] = byte;
            self.1 += 1;
            Ok(1)
        }
    }

    #[test]
    fn lines_end_with_either_end_and_a_cut_one_is_named() {
        let mut bytes = TraceBytes::new(Box::new(Slow(b"one\r\n\ntwo\nthr".to_vec(), 0)));

        assert_eq!(bytes.line().unwrap(), Line::Whole(b"one"));
        assert_eq!(bytes.line().unwrap(), Line::Whole(b""));
        assert_eq!(bytes.line().unwrap(), Line::Whole(b"two"));
        assert_eq!(bytes.line().unwrap(), Line::Cut);
        assert_eq!(bytes.line().unwrap(), Line::End);
    }

    #[test]
    fn a_line_without_end_is_not_kept_for_ever() {
        let mut bytes = TraceBytes::new(Box::new(io::repeat(b'x')));

        assert_eq!(bytes.line().unwrap(), Line::TooLong);
    }
}
