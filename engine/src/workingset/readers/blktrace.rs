//! Binary records of blktrace, of one CPU a file: a header of 48 bytes, and what a program attached.
//!
//! Magic and version (4), number (4), time in nanoseconds (8), sector (8), bytes (4), action (4), process (4), device
//! (4), CPU (4), error (2), attached bytes (2). Of the action, the lower half is the event, the upper half the kind of
//! request.

use super::records::{u16_at, u32_at, u64_at};
use super::{BATCH, Devices, Epoch, TraceBytes, TraceError, TraceReader, TraceRequest, left_out};

const MAGIC: u32 = 0x6561_7400;
const HEADER: usize = 48;
const SECTOR: u64 = 512;
/// Events: a request is queued, and the device gets it.
const QUEUED: u32 = 1;
const ISSUED: u32 = 7;
/// Kinds, in the upper half.
const READ: u32 = 1 << 16;
const WRITE: u32 = 1 << 17;
const NOTIFY: u32 = 1 << 26;
const DISCARD: u32 = 1 << 29;

/// Whether a file begins with a record.
pub fn begins(head: &[u8]) -> bool {
    head.len() >= HEADER && u32_at(head, 0) & 0xffff_ff00 == MAGIC
}

/// Reads the records.
pub struct Blktrace {
    bytes: TraceBytes,
    event: u32,
    records: u64,
    left_out: u64,
    is_cut: bool,
}

impl Blktrace {
    /// Requests count where they are queued, or where the device gets them.
    pub fn new(bytes: TraceBytes, at_issue: bool) -> Self {
        Self { bytes, event: if at_issue { ISSUED } else { QUEUED }, records: 0, left_out: 0, is_cut: false }
    }

    /// A request; None for another event.
    fn request(&mut self, header: &[u8; HEADER], devices: &mut Devices) -> Result<Option<TraceRequest>, TraceError> {
        let action = u32_at(header, 28);
        if action & 0xffff != self.event || action & NOTIFY != 0 {
            return Ok(None);
        }
        let (is_read, is_write, length) = (action & READ != 0, action & WRITE != 0, u32_at(header, 24));
        if length == 0 || action & DISCARD != 0 || !(is_read || is_write) {
            self.left_out += 1;
            return Ok(None);
        }
        let device = u32_at(header, 36);
        let device = devices.index_of(format!("{},{}", device >> 20, device & 0xf_ffff).as_bytes())?;
        let offset = u64_at(header, 16).checked_mul(SECTOR);
        let offset =
            offset.ok_or_else(|| TraceError::Input(format!("record {}: the sector is too large", self.records)))?;
        Ok(Some(TraceRequest { time_ns: u64_at(header, 8), offset, length, device, is_write }))
    }
}

impl TraceReader for Blktrace {
    fn fill(&mut self, batch: &mut Vec<TraceRequest>, devices: &mut Devices) -> Result<bool, TraceError> {
        for _ in 0..BATCH {
            self.records += 1;
            let Some(&header) = self.bytes.peek(HEADER)?.first_chunk::<HEADER>() else {
                self.is_cut = !self.bytes.peek(1)?.is_empty();
                return Ok(false);
            };
            if !begins(&header) {
                return Err(TraceError::Input(format!(
                    "record {}: it does not begin as one of blktrace",
                    self.records
                )));
            }
            let whole = HEADER + usize::from(u16_at(&header, 46)).min(super::MOST_LINE - HEADER);
            if self.bytes.peek(whole)?.len() < whole {
                self.is_cut = true;
                return Ok(false);
            }
            self.bytes.advance(whole);
            batch.extend(self.request(&header, devices)?);
        }
        Ok(true)
    }

    fn bytes(&self) -> u64 {
        self.bytes.read()
    }

    fn epoch(&self) -> Epoch {
        Epoch::Own
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = left_out(self.left_out);
        if self.is_cut {
            notes.push("the last record is cut off, and is left out".into());
        }
        notes
    }
}
