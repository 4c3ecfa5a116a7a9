//! libCacheSim's oracleGeneral: records of 24 bytes: time in seconds (4), object (8), its size (4), next use (8).
//!
//! An object is a number, and neither a place nor a range: each is one block. Reads and writes look
//! the same.

use super::records::{RecordFormat, RecordReader, u32_at, u64_at};
use super::{Devices, Epoch, Meaning, TraceBytes, TraceError, TraceRequest};

const SIZE: usize = 24;
const SECOND_NS: u64 = 1_000_000_000;
/// Records by which the format is recognised, at least; it has no mark.
const LEAST: usize = 8;
/// The next use is the number of a request; of an object that is not used again, -1 or the highest number.
const MOST_REQUESTS: u64 = 1 << 48;

/// Whether a file may begin like this: times do not go back, sizes are not 0, next uses come next.
pub fn begins(head: &[u8]) -> bool {
    let records = head.chunks_exact(SIZE);
    let mut last = 0;
    records.len() >= LEAST
        && records.enumerate().all(|(place, record)| {
            let (time, size, next) = (u32_at(record, 0), u32_at(record, 12), u64_at(record, 16));
            let is_later = time >= last;
            last = time;
            let is_used_again = next > place as u64 && next < MOST_REQUESTS;
            is_later && size > 0 && (is_used_again || next == u64::MAX || next == i64::MAX as u64)
        })
}

/// The records.
#[derive(Debug)]
pub struct OracleGeneral;

impl OracleGeneral {
    /// Read them.
    pub fn new(bytes: TraceBytes) -> RecordReader<Self> {
        RecordReader::new(bytes, Self)
    }
}

impl RecordFormat for OracleGeneral {
    #[inline]
    fn size(&self) -> usize {
        SIZE
    }

    #[inline]
    fn read(&mut self, record: &[u8], _: &mut Devices) -> Result<Meaning, TraceError> {
        Ok(Meaning::Request(TraceRequest {
            time_ns: u64::from(u32_at(record, 0)) * SECOND_NS,
            offset: u64_at(record, 4),
            length: u32_at(record, 12),
            device: 0,
            is_write: false,
        }))
    }

    fn epoch(&self) -> Epoch {
        Epoch::Own
    }
}
