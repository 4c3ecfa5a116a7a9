//! From a question to the answer: one pass through all traces.

use super::TraceError;
use super::blocks::Blocks;
use super::curve::{Curve, CurveBuilder};
use super::merge::Merged;
use super::policies::{PolicyServed, Simulations};
use super::question::Question;
use super::readers::{self, Epoch, TraceFormat};
use super::request::TraceRequest;
use super::tiers::{TierCounts, Tiers};
use super::trace_bytes::TraceBytes;
use serde::Serialize;
use std::fs::File;
use std::io::{Read, Write};
use std::time::{Duration, Instant};

/// Time between two lines of progress.
const EACH: Duration = Duration::from_millis(500);
/// Keys up to which `--exact` has memory: about 6 GiB.
const MOST_EXACT_KEYS: usize = 1 << 26;

/// A line of the output.
#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
enum OutLine {
    Progress { bytes: u64, requests: u64 },
    Answer(Box<Answer>),
}

/// A trace, and what it is.
#[derive(Debug, Serialize)]
struct NamedFormat {
    name: String,
    format: TraceFormat,
}

/// What the requests are, all together.
#[derive(Debug, Default, Clone, Copy, Serialize)]
struct Totals {
    reads: u64,
    writes: u64,
    read_bytes: u64,
    write_bytes: u64,
    read_blocks: u64,
    write_blocks: u64,
    begin_ns: u64,
    end_ns: u64,
    /// Requests whose time is before that of the request before.
    late: u64,
}

/// The answer.
#[derive(Debug, Serialize)]
struct Answer {
    traces: Vec<NamedFormat>,
    devices: Vec<String>,
    epoch: Epoch,
    origin_ns: u64,
    is_of_objects: bool,
    totals: Totals,
    curve: Option<Curve>,
    policies: Option<Vec<PolicyServed>>,
    tiers: Option<Tiers>,
    notes: Vec<String>,
}

/// Answer a question: lines of progress, and the answer as the last line.
///
/// # Errors
///
/// The question or a trace is not as it has to be, or the answer cannot be written.
pub fn answer(text: &str, mut output: impl Write) -> Result<(), TraceError> {
    let question = Question::parse(text)?;
    let mut merged = Merged::new(open(&question)?)?;
    let mut pass = Pass::new(&question, merged.is_of_objects());
    let (mut batch, mut due) = (Vec::new(), Instant::now() + EACH);
    loop {
        merged.fill(&mut batch)?;
        if batch.is_empty() {
            break;
        }
        pass.begin(merged.epoch(), batch[0].time_ns)?;
        pass.take(&batch)?;
        if Instant::now() >= due {
            let requests = pass.totals.reads + pass.totals.writes;
            write(&mut output, &OutLine::Progress { bytes: merged.bytes(), requests })?;
            due = Instant::now() + EACH;
        }
    }
    write(&mut output, &OutLine::Answer(Box::new(pass.finish(&merged)?)))
}

fn open(question: &Question) -> Result<Vec<(String, readers::OpenTrace)>, TraceError> {
    let options = question.read_options();
    let opened = question.traces.iter().map(|trace| {
        let input: Box<dyn Read> =
            if trace.path == "-" { Box::new(std::io::stdin()) } else { Box::new(File::open(&trace.path)?) };
        Ok((trace.name.clone(), readers::open(TraceBytes::new(input), &trace.name, &options)?))
    });
    opened.zip(&question.traces).map(|(one, trace)| one.map_err(|error: TraceError| error.of(&trace.name))).collect()
}

fn write(output: &mut impl Write, line: &OutLine) -> Result<(), TraceError> {
    let mut text = serde_json::to_string(line).map_err(|error| TraceError::Unwritten(error.into()))?;
    text.push('\n');
    output.write_all(text.as_bytes()).and_then(|()| output.flush()).map_err(TraceError::Unwritten)
}

/// What one pass through the traces collects.
struct Pass<'a> {
    question: &'a Question,
    blocks: Blocks,
    curve: Option<CurveBuilder>,
    policies: Option<Simulations>,
    tiers: Option<TierCounts>,
    totals: Totals,
    origin_ns: u64,
    is_begun: bool,
    time_ns: u64,
}

impl<'a> Pass<'a> {
    fn new(question: &'a Question, is_of_objects: bool) -> Self {
        Self {
            question,
            blocks: Blocks::new(question.block_bytes.trailing_zeros(), is_of_objects),
            curve: None,
            policies: question.policies.as_ref().map(Simulations::new),
            tiers: None,
            totals: Totals::default(),
            origin_ns: 0,
            is_begun: false,
            time_ns: 0,
        }
    }

    /// Decide where times begin, once the first request is there.
    fn begin(&mut self, epoch: Epoch, first_ns: u64) -> Result<(), TraceError> {
        if std::mem::replace(&mut self.is_begun, true) {
            return Ok(());
        }
        // Days of the calendar where there is one, else days since the first request.
        self.origin_ns = if epoch == Epoch::Unix { 0 } else { first_ns };
        (self.time_ns, self.totals.begin_ns) = (first_ns, first_ns);
        if self.policies.is_none() {
            let origin = (epoch != Epoch::None).then_some(self.origin_ns);
            self.curve = Some(CurveBuilder::new(self.question.sampling(), origin));
        }
        if let Some(tier) = self.question.tier_question() {
            if epoch == Epoch::None || self.blocks.is_of_objects() {
                return Err(TraceError::Input("tiers need times and places, which this format does not have".into()));
            }
            self.tiers = Some(TierCounts::new(tier, self.origin_ns));
        }
        Ok(())
    }

    fn take(&mut self, batch: &[TraceRequest]) -> Result<(), TraceError> {
        for request in batch {
            if self.question.reads_only && request.is_write {
                self.totals.writes += 1;
                continue;
            }
            let mut request = *request;
            if request.time_ns < self.time_ns {
                self.totals.late += 1;
                request.time_ns = self.time_ns;
            }
            self.time_ns = request.time_ns;
            let hashes = self.blocks.hashes(&request)?;
            if let Some(tiers) = &mut self.tiers {
                tiers.add(&request)?;
            }
            let mut blocks = 0;
            for hash in hashes {
                blocks += 1;
                if let Some(curve) = &mut self.curve {
                    let of = curve.touch(hash, request.time_ns, request.is_write);
                    if let (Some(of), Some(tiers)) = (of, &mut self.tiers) {
                        tiers.add_use(of);
                    }
                } else if let Some(policies) = &mut self.policies {
                    policies.touch(hash);
                }
            }
            self.totals.add(&request, blocks);
        }
        if self.curve.as_ref().is_some_and(|curve| curve.sampled_keys() > MOST_EXACT_KEYS) {
            return Err(TraceError::Input("the trace uses more than 2^26 blocks; take a sample (--rate 0.01)".into()));
        }
        Ok(())
    }

    fn finish(self, merged: &Merged) -> Result<Answer, TraceError> {
        let mut totals = self.totals;
        totals.end_ns = self.time_ns;
        if totals.read_blocks + totals.write_blocks == 0 {
            return Err(TraceError::Input("no trace has a request that counts".into()));
        }
        Ok(Answer {
            traces: merged.formats().map(|(name, format)| NamedFormat { name: name.into(), format }).collect(),
            devices: merged.devices().names().to_vec(),
            epoch: merged.epoch(),
            origin_ns: self.origin_ns,
            is_of_objects: merged.is_of_objects(),
            totals,
            curve: self.curve.map(|curve| curve.finish(&self.question.sizes)),
            policies: self.policies.map(|policies| policies.finish()),
            tiers: self.tiers.map(TierCounts::finish),
            notes: merged.notes(),
        })
    }
}

impl Totals {
    #[inline]
    fn add(&mut self, request: &TraceRequest, blocks: u64) {
        let (count, bytes, all) = if request.is_write {
            (&mut self.writes, &mut self.write_bytes, &mut self.write_blocks)
        } else {
            (&mut self.reads, &mut self.read_bytes, &mut self.read_blocks)
        };
        *count += 1;
        *bytes += u64::from(request.length);
        *all += blocks;
    }
}
