//! fio's `write_iolog`: `FILE ACTION OFFSET LENGTH`, and in version 3 a time in milliseconds before them.

use super::fields::{expected, length, whole, words};
use super::{Devices, Epoch, LineFormat, Meaning, TraceError, TraceRequest};

/// Whether a file begins as one of fio's.
pub fn begins(head: &[u8]) -> bool {
    head.starts_with(b"fio version 2 iolog") || head.starts_with(b"fio version 3 iolog")
}

/// The lines of fio.
#[derive(Debug, Default)]
pub struct FioIolog {
    version: u8,
    waited_ns: u64,
}

impl LineFormat for FioIolog {
    fn read(&mut self, line: &[u8], devices: &mut Devices) -> Result<Meaning, TraceError> {
        if self.version == 0 {
            if !begins(line) {
                return Err(TraceError::Input("an I/O log of fio begins with 'fio version 2 iolog', or 3".into()));
            }
            self.version = line[12] - b'0';
            return Ok(Meaning::Other);
        }
        let mut words = words(line);
        let mut time_ns = self.waited_ns;
        if self.version == 3 {
            let Some(word) = words.next() else { return Ok(Meaning::Other) };
            time_ns = whole(word).and_then(|ms| ms.checked_mul(1_000_000)).ok_or_else(|| expected("the time"))?;
        }
        let Some(file) = words.next() else { return Ok(Meaning::Other) };
        let is_write = match words.next().ok_or_else(|| expected("the action"))? {
            b"read" => false,
            b"write" => true,
            b"wait" => {
                let us = words.next().and_then(whole).ok_or_else(|| expected("the time to wait"))?;
                self.waited_ns = self.waited_ns.saturating_add(us.saturating_mul(1000));
                return Ok(Meaning::Other);
            }
            b"add" | b"open" | b"close" => return Ok(Meaning::Other),
            b"sync" | b"datasync" | b"trim" => return Ok(Meaning::LeftOut),
            _ => return Err(TraceError::Input("this is no action of fio".into())),
        };
        let offset = words.next().and_then(whole).ok_or_else(|| expected("the offset"))?;
        let length = length(words.next().and_then(whole))?;
        Ok(Meaning::Request(TraceRequest { time_ns, offset, length, device: devices.index_of(file)?, is_write }))
    }

    fn epoch(&self) -> Epoch {
        if self.version == 3 || self.waited_ns > 0 { Epoch::Own } else { Epoch::None }
    }
}
