//! Formats of traces. Each reader turns bytes into requests, in batches, and names what it left out.

mod arc_trace;
mod blkparse;
mod blktrace;
mod columns;
mod fields;
mod fio_iolog;
mod oracle_general;
mod records;
mod snia;
#[cfg(test)]
mod tests;
mod vscsi;

pub use columns::ColumnMap;

use super::TraceError;
use super::request::{Devices, TraceRequest};
use super::trace_bytes::{Line, MOST_LINE, TraceBytes};
use serde::{Deserialize, Serialize};

/// Bytes by which a format is recognised.
const HEAD: usize = 16_384;
/// Requests of a batch.
pub const BATCH: usize = 4096;

/// What the times of a format begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Epoch {
    /// 1970, in UTC.
    Unix,
    /// A beginning of the trace's own.
    Own,
    /// It has no times.
    None,
}

/// The formats that are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TraceFormat {
    /// fio's `write_iolog`, versions 2 and 3.
    Fio,
    /// Text of blkparse.
    Blkparse,
    /// Binary records of blktrace.
    Blktrace,
    /// VMware's vscsiStats, versions 1 and 2.
    Vscsi,
    /// CSV of Microsoft Research, as SNIA has it.
    Snia,
    /// libCacheSim's records of 24 bytes.
    OracleGeneral,
    /// Four numbers a line: first block, blocks, ignored, number of the request.
    Arc,
    /// Any CSV, with the meaning of its columns.
    Csv,
}

/// How the user wants traces to be read.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// Of all traces; None: it is found out.
    pub format: Option<TraceFormat>,
    /// Columns of a CSV.
    pub columns: Option<ColumnMap>,
    /// Whether requests of blktrace count when the device gets them, and not when they are queued.
    pub at_issue: bool,
}

/// Reads one trace.
pub trait TraceReader {
    /// Add requests to a batch; false once there are none left.
    ///
    /// # Errors
    ///
    /// The trace cannot be read, or is not of its format.
    fn fill(&mut self, batch: &mut Vec<TraceRequest>, devices: &mut Devices) -> Result<bool, TraceError>;

    /// Bytes read so far.
    fn bytes(&self) -> u64;

    /// What the times mean.
    fn epoch(&self) -> Epoch;

    /// What was left out.
    fn notes(&self) -> Vec<String>;
}

/// A reader with what it reads.
pub struct OpenTrace {
    /// Which format it is.
    pub format: TraceFormat,
    /// The reader.
    pub reader: Box<dyn TraceReader>,
}

/// Find the format out, and begin to read. `name`: of the trace, which is the device where the format names none.
///
/// # Errors
///
/// The trace cannot be read, or is of no format that is known.
pub fn open(mut bytes: TraceBytes, name: &str, options: &ReadOptions) -> Result<OpenTrace, TraceError> {
    let head = bytes.peek(HEAD)?;
    let head = &head[..head.len().min(HEAD)];
    if head.is_empty() {
        return Err(TraceError::Input("it is empty".into()));
    }
    let of_columns = options.columns.as_ref().map(|_| TraceFormat::Csv);
    let format = options.format.or(of_columns).or_else(|| recognise(head)).ok_or_else(|| {
        TraceError::Input("it is of no format that is known; --format names one, --columns the columns of a CSV".into())
    })?;
    let reader: Box<dyn TraceReader> = match format {
        TraceFormat::Fio => Box::new(TextReader::new(bytes, fio_iolog::FioIolog::default())),
        TraceFormat::Blkparse => Box::new(TextReader::new(bytes, blkparse::Blkparse::new(options.at_issue))),
        TraceFormat::Blktrace => Box::new(blktrace::Blktrace::new(bytes, options.at_issue)),
        TraceFormat::Vscsi => Box::new(vscsi::Vscsi::new(bytes, name)?),
        TraceFormat::Snia => Box::new(TextReader::new(bytes, snia::Snia::default())),
        TraceFormat::OracleGeneral => Box::new(oracle_general::OracleGeneral::new(bytes)),
        TraceFormat::Arc => Box::new(TextReader::new(bytes, arc_trace::ArcTrace::new(name))),
        TraceFormat::Csv => {
            let map = options.columns.clone().ok_or_else(|| {
                TraceError::Input("a CSV needs the meaning of its columns: --columns offset=NAME,...".into())
            })?;
            Box::new(TextReader::new(bytes, columns::MappedCsv::new(map, name)))
        }
    };
    Ok(OpenTrace { format, reader })
}

/// The format that begins like this; binary ones are looked at last, since they begin like much else.
fn recognise(head: &[u8]) -> Option<TraceFormat> {
    let first = |is: fn(&[u8]) -> bool| head.split(|&byte| byte == b'\n').take(3).any(is);
    if fio_iolog::begins(head) {
        Some(TraceFormat::Fio)
    } else if first(blkparse::is_line) {
        Some(TraceFormat::Blkparse)
    } else if first(snia::is_line) {
        Some(TraceFormat::Snia)
    } else if first(arc_trace::is_line) {
        Some(TraceFormat::Arc)
    } else if blktrace::begins(head) {
        Some(TraceFormat::Blktrace)
    } else if vscsi::version(head).is_some() {
        Some(TraceFormat::Vscsi)
    } else if oracle_general::begins(head) {
        Some(TraceFormat::OracleGeneral)
    } else {
        None
    }
}

/// What a line is.
#[derive(Debug, PartialEq, Eq)]
pub enum Meaning {
    /// A request.
    Request(TraceRequest),
    /// Something else that is left out without a word: a heading, an opened file.
    Other,
    /// A request that neither reads nor writes, or another event, which is counted.
    LeftOut,
}

/// A format of lines.
pub trait LineFormat {
    /// What a line means; Err: why it is none of the format.
    ///
    /// # Errors
    ///
    /// It is no line of the format.
    fn read(&mut self, line: &[u8], devices: &mut Devices) -> Result<Meaning, TraceError>;

    /// What the times mean.
    fn epoch(&self) -> Epoch;
}

/// Reads lines of a format.
struct TextReader<F> {
    bytes: TraceBytes,
    format: F,
    line: u64,
    left_out: u64,
    is_cut: bool,
}

impl<F: LineFormat> TextReader<F> {
    fn new(bytes: TraceBytes, format: F) -> Self {
        Self { bytes, format, line: 0, left_out: 0, is_cut: false }
    }
}

impl<F: LineFormat> TraceReader for TextReader<F> {
    fn fill(&mut self, batch: &mut Vec<TraceRequest>, devices: &mut Devices) -> Result<bool, TraceError> {
        // Lines without requests are work, too: a batch ends with what came by then.
        for _ in 0..BATCH {
            self.line += 1;
            let line = match self.bytes.line()? {
                Line::Whole(line) => line,
                Line::Cut => {
                    self.is_cut = true;
                    return Ok(false);
                }
                Line::End => return Ok(false),
                Line::TooLong => {
                    return Err(TraceError::Input(format!(
                        "line {}: it has more than {MOST_LINE} bytes, so this is no trace",
                        self.line
                    )));
                }
            };
            match self.format.read(line, devices) {
                Ok(Meaning::Request(request)) => batch.push(request),
                Ok(Meaning::LeftOut) => self.left_out += 1,
                Ok(Meaning::Other) => {}
                Err(TraceError::Input(why)) => {
                    let shown = String::from_utf8_lossy(&line[..line.len().min(80)]).into_owned();
                    return Err(TraceError::Input(format!("line {}: {why}: {shown:?}", self.line)));
                }
                Err(error) => return Err(error),
            }
        }
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
            notes.push("the last line has no end, so it may be cut off, and is left out".into());
        }
        notes
    }
}

/// A note on events that are no reads and writes of data.
fn left_out(events: u64) -> Vec<String> {
    match events {
        0 => Vec::new(),
        1 => vec!["1 event is no read or write of data, and is left out".into()],
        _ => vec![format!("{events} events are no reads or writes of data, and are left out")],
    }
}
