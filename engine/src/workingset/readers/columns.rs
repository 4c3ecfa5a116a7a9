//! A CSV of any program, by the meaning of its columns.

use super::fields::{expected, length, nanoseconds, whole};
use super::{Devices, Epoch, LineFormat, Meaning, TraceError, TraceRequest};
use serde::Deserialize;

/// A column: its number from 1, or its name in the heading, and what a number of it is in bytes or nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Number or name.
    pub name: String,
    /// What 1 is, in bytes or nanoseconds.
    #[serde(default = "one")]
    pub unit: u64,
}

fn one() -> u64 {
    1
}

/// The columns that make a request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnMap {
    /// When; without it there are no times.
    pub time: Option<Column>,
    /// Where.
    pub offset: Column,
    /// How much; without it, one byte: the block that it lies in.
    pub length: Option<Column>,
    /// Whether it reads or writes; without it, all read.
    pub op: Option<Column>,
    /// On what; without it, one device.
    pub device: Option<Column>,
}

/// Places of the columns in a line.
#[derive(Debug, Clone, Copy)]
struct Places {
    time: Option<usize>,
    offset: usize,
    length: Option<usize>,
    op: Option<usize>,
    device: Option<usize>,
}

/// The lines of a CSV.
#[derive(Debug)]
pub struct MappedCsv {
    map: ColumnMap,
    name: Vec<u8>,
    separator: u8,
    places: Option<Places>,
    has_begun: bool,
    ranges: Vec<(usize, usize)>,
}

impl MappedCsv {
    /// With these columns; `name`: the device where there is no column for it.
    pub fn new(map: ColumnMap, name: &str) -> Self {
        Self { map, name: name.into(), separator: b',', places: None, has_begun: false, ranges: Vec::new() }
    }

    fn split(&mut self, line: &[u8]) {
        self.ranges.clear();
        let (mut begin, mut is_quoted) = (0, false);
        for (at, &byte) in line.iter().enumerate() {
            if byte == b'"' {
                is_quoted = !is_quoted;
            } else if byte == self.separator && !is_quoted {
                self.ranges.push((begin, at));
                begin = at + 1;
            }
        }
        self.ranges.push((begin, line.len()));
    }

    fn field<'a>(&self, line: &'a [u8], place: usize) -> &'a [u8] {
        self.ranges.get(place).map_or(&[][..], |&(begin, end)| {
            let text = line[begin..end].trim_ascii();
            text.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\"")).unwrap_or(text)
        })
    }

    /// Look the columns up in the first line.
    fn begin(&mut self, line: &[u8]) -> Result<(), TraceError> {
        self.separator = *[b',', b';', b'\t'].iter().find(|&byte| line.contains(byte)).unwrap_or(&b',');
        self.split(line);
        let heading: Vec<Vec<u8>> = (0..self.ranges.len()).map(|at| self.field(line, at).to_vec()).collect();
        let place = |column: &Column| match whole(column.name.as_bytes()) {
            Some(number @ 1..=4096) => Ok(number as usize - 1),
            Some(_) => Err(TraceError::Input("columns have the numbers 1 to 4096".into())),
            None => heading
                .iter()
                .position(|name| name == column.name.as_bytes())
                .ok_or_else(|| TraceError::Input(format!("the heading has no column '{}'", column.name))),
        };
        let optional = |column: &Option<Column>| column.as_ref().map(place).transpose();
        let map = &self.map;
        let places = Places {
            offset: place(&map.offset)?,
            time: optional(&map.time)?,
            length: optional(&map.length)?,
            op: optional(&map.op)?,
            device: optional(&map.device)?,
        };
        self.places = Some(places);
        Ok(())
    }

    fn request(&self, line: &[u8], places: Places, devices: &mut Devices) -> Result<TraceRequest, TraceError> {
        let number = |place: usize, column: &Column| whole(self.field(line, place))?.checked_mul(column.unit);
        let offset = number(places.offset, &self.map.offset).ok_or_else(|| expected("the offset"))?;
        let length = match (places.length, &self.map.length) {
            (Some(place), Some(column)) => length(number(place, column))?,
            _ => 1,
        };
        let time_ns = match (places.time, &self.map.time) {
            (Some(place), Some(column)) => {
                nanoseconds(self.field(line, place), column.unit).ok_or_else(|| expected("the time"))?
            }
            _ => 0,
        };
        let is_write = match places.op {
            Some(place) => kind(self.field(line, place))
                .ok_or_else(|| TraceError::Input("the operation is neither a read nor a write".into()))?,
            None => false,
        };
        let device = places.device.map_or(&self.name[..], |place| self.field(line, place));
        Ok(TraceRequest { time_ns, offset, length, device: devices.index_of(device)?, is_write })
    }
}

impl LineFormat for MappedCsv {
    fn read(&mut self, line: &[u8], devices: &mut Devices) -> Result<Meaning, TraceError> {
        if line.is_empty() {
            return Ok(Meaning::Other);
        }
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        if is_first {
            self.begin(line)?;
        }
        let Some(places) = self.places else { return Ok(Meaning::Other) };
        self.split(line);
        match self.request(line, places, devices) {
            Ok(request) => Ok(Meaning::Request(request)),
            Err(_) if is_first => Ok(Meaning::Other), // A heading.
            Err(error) => Err(error),
        }
    }

    fn epoch(&self) -> Epoch {
        if self.map.time.is_some() { Epoch::Own } else { Epoch::None }
    }
}

/// Whether an operation writes: words that begin with r or w, SCSI commands, or 0 and 1.
fn kind(word: &[u8]) -> Option<bool> {
    match word {
        [b'r' | b'R', ..] | b"0" | b"28" | b"88" | b"08" | b"a8" | b"A8" => Some(false),
        [b'w' | b'W', ..] | b"1" | b"2a" | b"2A" | b"8a" | b"8A" | b"0a" | b"0A" | b"aa" | b"AA" => Some(true),
        _ => None,
    }
}
