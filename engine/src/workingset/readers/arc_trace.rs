//! Traces of the authors of ARC (Megiddo and Modha, FAST '03): first block, blocks, ignored, number of the request.
//!
//! Blocks have 512 bytes. There are no times, and reads and writes look the same.

use super::fields::{expected, length, whole, words};
use super::{Devices, Epoch, LineFormat, Meaning, TraceError, TraceRequest};

/// Bytes of a block.
const BLOCK: u64 = 512;

/// Whether a line has four numbers.
pub fn is_line(line: &[u8]) -> bool {
    let numbers: Vec<_> = words(line).map(whole).collect();
    numbers.len() == 4 && numbers.iter().all(Option::is_some)
}

/// The lines, all of one device: that of the trace.
#[derive(Debug)]
pub struct ArcTrace {
    name: Vec<u8>,
}

impl ArcTrace {
    /// Of this device.
    pub fn new(name: &str) -> Self {
        Self { name: name.into() }
    }
}

impl LineFormat for ArcTrace {
    fn read(&mut self, line: &[u8], devices: &mut Devices) -> Result<Meaning, TraceError> {
        let mut words = words(line);
        let Some(first) = words.next() else { return Ok(Meaning::Other) };
        let offset =
            whole(first).and_then(|block| block.checked_mul(BLOCK)).ok_or_else(|| expected("the first block"))?;
        let length = length(words.next().and_then(whole).and_then(|blocks| blocks.checked_mul(BLOCK)))?;
        let device = devices.index_of(&self.name)?;
        Ok(Meaning::Request(TraceRequest { time_ns: 0, offset, length, device, is_write: false }))
    }

    fn epoch(&self) -> Epoch {
        Epoch::None
    }
}
