//! Traces of binary records that all have one size.

use super::{BATCH, Devices, Epoch, Meaning, TraceBytes, TraceError, TraceReader, TraceRequest, left_out};

/// A format of records.
pub trait RecordFormat {
    /// Bytes of a record.
    fn size(&self) -> usize;

    /// What a record means; it has [`RecordFormat::size`] bytes.
    ///
    /// # Errors
    ///
    /// It is no record of the format.
    fn read(&mut self, record: &[u8], devices: &mut Devices) -> Result<Meaning, TraceError>;

    /// What the times mean.
    fn epoch(&self) -> Epoch;
}

/// Reads records of a format.
pub struct RecordReader<F> {
    bytes: TraceBytes,
    format: F,
    records: u64,
    left_out: u64,
    is_cut: bool,
}

impl<F: RecordFormat> RecordReader<F> {
    /// Nothing is read yet.
    pub fn new(bytes: TraceBytes, format: F) -> Self {
        Self { bytes, format, records: 0, left_out: 0, is_cut: false }
    }
}

impl<F: RecordFormat> TraceReader for RecordReader<F> {
    fn fill(&mut self, batch: &mut Vec<TraceRequest>, devices: &mut Devices) -> Result<bool, TraceError> {
        let size = self.format.size();
        let come = self.bytes.peek(size)?;
        if come.len() < size {
            self.is_cut = !come.is_empty();
            return Ok(false);
        }
        let records = (come.len() / size).min(BATCH);
        for (place, record) in come[..records * size].chunks_exact(size).enumerate() {
            match self.format.read(record, devices) {
                Ok(Meaning::Request(request)) => batch.push(request),
                Ok(Meaning::LeftOut) => self.left_out += 1,
                Ok(Meaning::Other) => {}
                Err(TraceError::Input(why)) => {
                    return Err(TraceError::Input(format!("record {}: {why}", self.records + place as u64 + 1)));
                }
                Err(error) => return Err(error),
            }
        }
        self.records += records as u64;
        self.bytes.advance(records * size);
        Ok(true)
    }

    fn bytes(&self) -> u64 {
        self.bytes.read()
    }

    fn epoch(&self) -> Epoch {
        self.format.epoch()
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = left_out(self.left_out);
        if self.is_cut {
            notes.push("the last record is cut off, and is left out".into());
        }
        notes
    }
}

/// Two bytes at a place, lowest first.
#[inline]
pub fn u16_at(record: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([record[at], record[at + 1]])
}

/// Four bytes at a place, lowest first.
#[inline]
pub fn u32_at(record: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|place| record[at + place]))
}

/// Eight bytes at a place, lowest first.
#[inline]
pub fn u64_at(record: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|place| record[at + place]))
}
