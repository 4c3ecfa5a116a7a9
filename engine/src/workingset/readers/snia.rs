//! CSV of Microsoft Research's traces: `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`.
//!
//! Times are Windows' file times: 100 ns since 1601.

use super::fields::{expected, length, whole};
use super::{Devices, Epoch, LineFormat, Meaning, TraceError, TraceRequest};

/// 1970 as a file time.
const UNIX_TICKS: u64 = 116_444_736_000_000_000;
const TICK_NS: u64 = 100;

/// Whether a line is a request: seven fields, and a time of this age.
pub fn is_line(line: &[u8]) -> bool {
    let fields: Vec<&[u8]> = line.split(|&byte| byte == b',').collect();
    fields.len() == 7 && whole(fields[0]).is_some_and(|ticks| ticks > UNIX_TICKS) && kind(fields[3]).is_some()
}

fn kind(word: &[u8]) -> Option<bool> {
    if word.eq_ignore_ascii_case(b"read") {
        Some(false)
    } else if word.eq_ignore_ascii_case(b"write") {
        Some(true)
    } else {
        None
    }
}

/// The lines.
#[derive(Debug, Default)]
pub struct Snia {
    has_begun: bool,
    name: Vec<u8>,
}

impl LineFormat for Snia {
    fn read(&mut self, line: &[u8], devices: &mut Devices) -> Result<Meaning, TraceError> {
        if line.is_empty() || !std::mem::replace(&mut self.has_begun, true) && line.starts_with(b"Timestamp") {
            return Ok(Meaning::Other);
        }
        let mut fields = line.split(|&byte| byte == b',');
        let mut next = |what| fields.next().ok_or_else(|| expected(what));
        let time = next("the time")?;
        let (host, disk) = (next("the host")?, next("the disk")?);
        let is_write = kind(next("the type")?)
            .ok_or_else(|| TraceError::Input("the fourth field is neither Read nor Write".into()))?;
        let offset = whole(next("the offset")?).ok_or_else(|| expected("the offset"))?;
        let length = length(whole(next("the length")?))?;
        let time_ns = whole(time)
            .and_then(|ticks| ticks.checked_sub(UNIX_TICKS)?.checked_mul(TICK_NS))
            .ok_or_else(|| TraceError::Input("the time is no file time after 1970".into()))?;
        self.name.clear();
        self.name.extend_from_slice(host);
        self.name.push(b'/');
        self.name.extend_from_slice(disk);
        let device = devices.index_of(&self.name)?;
        Ok(Meaning::Request(TraceRequest { time_ns, offset, length, device, is_write }))
    }

    fn epoch(&self) -> Epoch {
        Epoch::Unix
    }
}
