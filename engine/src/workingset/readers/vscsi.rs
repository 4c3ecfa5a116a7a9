//! VMware's vscsiStats in binary, as the CloudPhysics traces are. Numbers have their lowest byte first.
//!
//! Version 1 has 32 bytes: number (4), length in bytes (4), segments (4), SCSI command (2), version (2), sector (8),
//! time in microseconds (8). Version 2 has 40: command (2), version (2), number (4), length (4), segments (4), sector
//! (8), time (8), response time (8). The version is in the upper byte of its field.

use super::records::{RecordFormat, RecordReader, u16_at, u32_at, u64_at};
use super::{Devices, Epoch, Meaning, TraceBytes, TraceError, TraceRequest};

/// Bytes of a sector.
const SECTOR: u64 = 512;
const US_NS: u64 = 1000;
/// Records that are looked at to recognise the format.
const LOOKED_AT: usize = 64;

/// Where the fields are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VscsiLayout {
    size: usize,
    command: usize,
    version: usize,
    length: usize,
    number: u16,
}

const LAYOUTS: [VscsiLayout; 2] = [
    VscsiLayout { size: 32, command: 12, version: 14, length: 4, number: 1 },
    VscsiLayout { size: 40, command: 0, version: 2, length: 8, number: 2 },
];
const SECTOR_AT: usize = 16;
const TIME_AT: usize = 24;

/// The layout of a file that begins like this.
pub fn version(head: &[u8]) -> Option<VscsiLayout> {
    LAYOUTS.into_iter().find(|layout| {
        let mut records = head.chunks_exact(layout.size).take(LOOKED_AT).peekable();
        records.peek().is_some()
            && records.all(|record| {
                u16_at(record, layout.version) >> 8 == layout.number && u16_at(record, layout.command) < 0x100
            })
    })
}

/// The records, all of one device: that of the trace.
#[derive(Debug)]
pub struct Vscsi {
    layout: VscsiLayout,
    name: Vec<u8>,
}

impl Vscsi {
    /// Of this device.
    ///
    /// # Errors
    ///
    /// It is of neither version.
    pub fn new(mut bytes: TraceBytes, name: &str) -> Result<RecordReader<Self>, TraceError> {
        let layout = version(bytes.peek(super::HEAD)?)
            .ok_or_else(|| TraceError::Input("it is of no version of vscsiStats that is known".into()))?;
        Ok(RecordReader::new(bytes, Self { layout, name: name.into() }))
    }
}

impl RecordFormat for Vscsi {
    fn size(&self) -> usize {
        self.layout.size
    }

    fn read(&mut self, record: &[u8], devices: &mut Devices) -> Result<Meaning, TraceError> {
        if u16_at(record, self.layout.version) >> 8 != self.layout.number {
            return Err(TraceError::Input("it is of another version than the first".into()));
        }
        let is_write = match u16_at(record, self.layout.command) {
            0x08 | 0x28 | 0x88 | 0xa8 => false,
            0x0a | 0x2a | 0x8a | 0xaa => true,
            _ => return Ok(Meaning::LeftOut),
        };
        let far = || TraceError::Input("the sector or the time is too large".into());
        let offset = u64_at(record, SECTOR_AT).checked_mul(SECTOR).ok_or_else(far)?;
        let time_ns = u64_at(record, TIME_AT).checked_mul(US_NS).ok_or_else(far)?;
        let (length, device) = (u32_at(record, self.layout.length), devices.index_of(&self.name)?);
        Ok(Meaning::Request(TraceRequest { time_ns, offset, length, device, is_write }))
    }

    fn epoch(&self) -> Epoch {
        Epoch::Own
    }
}
