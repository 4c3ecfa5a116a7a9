//! A request of a trace, and the devices that a trace names.

use super::TraceError;
use std::collections::HashMap;

/// Most devices of all traces together: a key has 16 bits for them.
const MOST_DEVICES: usize = 1 << 16;
/// Bytes of a device's name that are kept.
const MOST_NAME: usize = 256;

/// One read or write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceRequest {
    /// Since the Unix epoch, or since a beginning of the trace's own; 0 where the format has no times.
    pub time_ns: u64,
    /// In bytes; of a trace of objects, the object's number.
    pub offset: u64,
    /// In bytes.
    pub length: u32,
    /// Index in [`Devices`].
    pub device: u16,
    /// Whether it writes.
    pub is_write: bool,
}

/// The devices of all traces, by name: the same name is the same device.
#[derive(Debug, Default)]
pub struct Devices {
    names: Vec<String>,
    indices: HashMap<Vec<u8>, u16>,
}

impl Devices {
    /// The index of a device.
    ///
    /// # Errors
    ///
    /// There are too many devices.
    pub fn index_of(&mut self, name: &[u8]) -> Result<u16, TraceError> {
        let name = &name[..name.len().min(MOST_NAME)];
        if let Some(&index) = self.indices.get(name) {
            return Ok(index);
        }
        if self.names.len() == MOST_DEVICES {
            return Err(TraceError::Input(format!("the traces name more than {MOST_DEVICES} devices")));
        }
        let index = self.names.len() as u16;
        self.names.push(String::from_utf8_lossy(name).into_owned());
        self.indices.insert(name.to_vec(), index);
        Ok(index)
    }

    /// Names in the order of their indices.
    pub fn names(&self) -> &[String] {
        &self.names
    }
}
