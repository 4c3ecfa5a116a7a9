//! The text that blkparse prints: `MAJOR,MINOR CPU SEQUENCE TIME PID ACTION RWBS SECTOR + SECTORS [PROGRAM]`.

use super::fields::{SECOND_NS, expected, length, nanoseconds, whole, words};
use super::{Devices, Epoch, LineFormat, Meaning, TraceError, TraceRequest};

/// Bytes of a sector.
const SECTOR: u64 = 512;

/// Whether a line is an event.
pub fn is_line(line: &[u8]) -> bool {
    let mut words = words(line);
    let device = words.next().is_some_and(is_device);
    let numbers = [words.next(), words.next()].iter().all(|word| word.and_then(whole).is_some());
    let time = words.next().is_some_and(|word| word.contains(&b'.') && nanoseconds(word, SECOND_NS).is_some());
    device && numbers && time && words.next().and_then(whole).is_some()
}

fn is_device(word: &[u8]) -> bool {
    word.iter().position(|&byte| byte == b',').is_some_and(|at| {
        let (major, minor) = (&word[..at], &word[at + 1..]);
        whole(major).is_some() && whole(minor).is_some()
    })
}

/// The lines of blkparse: requests count where they are queued (Q), or where the device gets them (D).
#[derive(Debug)]
pub struct Blkparse {
    action: &'static [u8],
}

impl Blkparse {
    /// At the queue, or at the device.
    pub fn new(at_issue: bool) -> Self {
        Self { action: if at_issue { b"D" } else { b"Q" } }
    }
}

impl LineFormat for Blkparse {
    fn read(&mut self, line: &[u8], devices: &mut Devices) -> Result<Meaning, TraceError> {
        let mut words = words(line);
        // The summary at the end, and messages, are no events.
        let Some(device) = words.next().filter(|word| is_device(word)) else { return Ok(Meaning::Other) };
        let (Some(_), Some(_), Some(time), Some(_), Some(action)) =
            (words.next(), words.next(), words.next(), words.next(), words.next())
        else {
            return Err(TraceError::Input("the event has no action".into()));
        };
        if action != self.action {
            return Ok(Meaning::Other);
        }
        let kinds = words.next().ok_or_else(|| expected("the kind of request"))?;
        let is_write = kinds.contains(&b'W');
        if kinds.contains(&b'D') || !(is_write || kinds.contains(&b'R')) {
            return Ok(Meaning::LeftOut);
        }
        let time_ns = nanoseconds(time, SECOND_NS).ok_or_else(|| expected("the time"))?;
        let sector = words.next().and_then(whole).and_then(|sector| sector.checked_mul(SECTOR));
        let offset = sector.ok_or_else(|| expected("the sector"))?;
        if words.next() != Some(b"+") {
            return Ok(Meaning::LeftOut); // A flush with no data.
        }
        let length = length(words.next().and_then(whole).and_then(|sectors| sectors.checked_mul(SECTOR)))?;
        if length == 0 {
            return Ok(Meaning::LeftOut);
        }
        Ok(Meaning::Request(TraceRequest { time_ns, offset, length, device: devices.index_of(device)?, is_write }))
    }

    fn epoch(&self) -> Epoch {
        Epoch::Own
    }
}
