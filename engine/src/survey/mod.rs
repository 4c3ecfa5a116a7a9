//! What files a tree has: `assay-engine survey`, apart from any run.
//!
//! It surveys its working directory. The first line of standard input is the [`Request`]; the end of input is a stop, and so
//! are TERM, INT and HUP. Lines of JSON go out: `progress` twice a second, and `survey` at the end, and before that as
//! often as the request wants it, with what another process needs to go on.
//!
//! Only directories are opened, each from the surveyed one without following a link ([`way`]); names are looked at where
//! they lie. A thread reads one directory at a time ([`walker`]), and what was found waits in the [`frontier`]. Counts take
//! a bounded amount of memory ([`tally`], [`value_counts`]).

mod frontier;
mod samples;
mod summary;
mod tally;
mod value_counts;
mod walker;
mod way;

use crate::error::Refusal;
use crate::sys::signals::Waiting as Signals;
use crate::sys::{posix, process};
use frontier::{Frontier, Left, Waiting};
use samples::Sample;
use serde::{Deserialize, Serialize};
use std::ffi::CStr;
use std::io::{BufRead, Read, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use summary::Summary;
use tally::Tally;
use walker::Walker;

const PROGRESS: Duration = Duration::from_millis(500);
/// Longest time that a stop from outside waits to be noticed.
const LOOK: Duration = Duration::from_millis(5);
const MOST_THREADS: usize = 256;
/// A file that a survey goes on with has at most as many bytes.
const MOST_REQUEST_BYTES: u64 = 1 << 30;

/// What is asked for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Whether other file systems below are surveyed too.
    crosses_mounts: bool,
    /// Directories that are read at a time.
    threads: usize,
    /// Whether files are chosen to look into, which is done elsewhere.
    samples: bool,
    /// Seconds between two states to go on from; None: no state is handed out at all.
    state_s: Option<f64>,
    /// Go on with an earlier survey of the same directory.
    state: Option<State>,
}

/// What another process needs to go on.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    version: u32,
    inode: u64,
    crosses_mounts: bool,
    now_s: i64,
    wall_s: f64,
    tally: Tally,
    left: Vec<Left>,
}

const STATE_VERSION: u32 = 1;

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Line<'a> {
    Progress {
        files: u64,
        directories: u64,
        bytes: u64,
        waiting: usize,
        wall_s: f64,
    },
    Survey {
        is_last: bool,
        is_whole: bool,
        wall_s: f64,
        now_s: i64,
        directories_left: usize,
        summary: &'a Summary,
        sampled_by_number: Vec<&'a Sample>,
        sampled_by_bytes: Vec<&'a Sample>,
        /// The bytes that a smaller file of the sample by bytes represents.
        sample_threshold_bytes: f64,
        state: Option<&'a State>,
    },
}

/// Survey the working directory.
///
/// # Errors
///
/// The request is none, the directory cannot be read, or nobody takes what is found.
pub fn survey(mut input: impl BufRead + Send + 'static, output: impl Write) -> Result<(), Refusal> {
    let request = read_request(&mut input)?;
    let stop = Arc::new(AtomicBool::new(false));
    listen(input, &stop).map_err(|error| Refusal::Machine(format!("no thread could be made: {error}")))?;
    Session::open(c".", request)?.run(&stop, output)
}

fn read_request(input: &mut impl BufRead) -> Result<Request, Refusal> {
    let mut line = String::new();
    let read = input.take(MOST_REQUEST_BYTES).read_line(&mut line);
    read.map_err(|error| Refusal::Call(format!("the request could not be read: {error}")))?;
    let request: Request =
        serde_json::from_str(&line).map_err(|error| Refusal::Call(format!("this is no request: {error}")))?;
    if !(1..=MOST_THREADS).contains(&request.threads) {
        return Err(Refusal::Call(format!("threads are 1 to {MOST_THREADS}")));
    }
    Ok(request)
}

/// Signals and the end of input are a stop; a second signal ends the process at once.
fn listen(input: impl Read + Send + 'static, stop: &Arc<AtomicBool>) -> std::io::Result<()> {
    let signals = Signals::block(&[libc::SIGTERM, libc::SIGINT, libc::SIGHUP]);
    let (by_signal, by_input) = (stop.clone(), stop.clone());
    std::thread::Builder::new().spawn(move || {
        signals.wait();
        by_signal.store(true, Ordering::Relaxed);
        process::leave(128 + signals.wait());
    })?;
    std::thread::Builder::new().spawn(move || {
        let _ = std::io::copy(&mut { input }, &mut std::io::sink());
        by_input.store(true, Ordering::Relaxed);
    })?;
    Ok(())
}

/// A survey at work.
struct Session {
    root: std::fs::File,
    device: u64,
    threads: usize,
    samples: bool,
    leg: Option<Duration>,
    look: Duration,
    earlier_s: f64,
    begun: Instant,
    state: State,
    waiting: Vec<Waiting>,
}

impl Session {
    fn open(place: &CStr, request: Request) -> Result<Self, Refusal> {
        let unreadable = |error| Refusal::Machine(format!("the directory cannot be read: {error}"));
        let root = posix::open(place, libc::O_RDONLY | libc::O_DIRECTORY, 0).map_err(unreadable)?;
        let status = posix::fstat(root.as_fd()).map_err(unreadable)?;
        let (state, waiting) = match request.state {
            None => (new_state(status.st_ino, request.crosses_mounts), vec![Waiting::new(None)]),
            Some(mut state) => {
                if (state.version, state.inode, state.crosses_mounts)
                    != (STATE_VERSION, status.st_ino, request.crosses_mounts)
                {
                    let what = "the survey to go on with is of another directory, other mounts or another version";
                    return Err(Refusal::Call(what.to_owned()));
                }
                let left = frontier::from_left(&std::mem::take(&mut state.left));
                (state, left.ok_or_else(|| Refusal::Call("its list of directories is damaged".to_owned()))?)
            }
        };
        Ok(Self {
            root: root.into(),
            device: status.st_dev,
            threads: request.threads,
            samples: request.samples,
            leg: request.state_s.and_then(|seconds| Duration::try_from_secs_f64(seconds.max(0.1)).ok()),
            look: LOOK,
            earlier_s: state.wall_s,
            begun: Instant::now(),
            state,
            waiting,
        })
    }

    fn run(mut self, stop: &AtomicBool, mut output: impl Write) -> Result<(), Refusal> {
        loop {
            let reported = self.walk(stop, &mut output);
            let is_last = self.waiting.is_empty() || stop.load(Ordering::Relaxed) || reported.is_err();
            reported.and_then(|()| self.report(is_last, &mut output)).map_err(|error| {
                Refusal::Machine(format!("the survey could not be written to standard output: {error}"))
            })?;
            if is_last {
                return Ok(());
            }
        }
    }

    /// Walk until all is done, a stop comes, or a state is due.
    fn walk(&mut self, stop: &AtomicBool, output: &mut impl Write) -> std::io::Result<()> {
        let frontier = Frontier::new(std::mem::take(&mut self.waiting));
        let whole = Mutex::new(std::mem::take(&mut self.state.tally));
        let walker = Walker {
            root: self.root.as_fd(),
            device: self.device,
            crosses: self.state.crosses_mounts,
            samples: self.samples,
            now_s: self.state.now_s,
            frontier: &frontier,
            whole: &whole,
        };
        let (leg, mut shown) = (Instant::now(), Instant::now());
        let reported = std::thread::scope(|scope| {
            (0..self.threads).for_each(|_| drop(scope.spawn(|| walker.work())));
            let mut reported = Ok(());
            while !frontier.is_empty() && !frontier.is_stopped() {
                frontier.wait(self.look);
                if stop.load(Ordering::Relaxed)
                    || reported.is_err()
                    || self.leg.is_some_and(|most| leg.elapsed() >= most)
                {
                    frontier.stop();
                }
                if shown.elapsed() >= PROGRESS {
                    shown = Instant::now();
                    let line = self.progress(&whole.lock().unwrap_or_else(PoisonError::into_inner), frontier.len());
                    reported = write(output, &line);
                }
            }
            reported
        });
        self.state.tally = whole.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.waiting = frontier.into_waiting();
        self.state.wall_s = self.wall_s();
        reported
    }

    fn progress(&self, tally: &Tally, waiting: usize) -> Line<'static> {
        Line::Progress {
            files: tally.files(),
            directories: tally.directories,
            bytes: tally.bytes(),
            waiting,
            wall_s: self.wall_s(),
        }
    }

    fn report(&mut self, is_last: bool, output: &mut impl Write) -> std::io::Result<()> {
        let tally = &self.state.tally;
        let summary = Summary::new(tally);
        let is_whole = self.waiting.is_empty() && tally.left_out.count == 0;
        let keeps = self.leg.is_some() && !self.waiting.is_empty();
        self.state.left = if keeps { frontier::to_left(&self.waiting) } else { Vec::new() };
        let line = Line::Survey {
            is_last,
            is_whole,
            wall_s: self.state.wall_s,
            now_s: self.state.now_s,
            directories_left: self.waiting.len(),
            summary: &summary,
            sampled_by_number: tally.by_number.chosen().collect(),
            sampled_by_bytes: tally.by_bytes.chosen().collect(),
            sample_threshold_bytes: samples::threshold_bytes(&tally.by_bytes),
            state: keeps.then_some(&self.state),
        };
        let written = write(output, &line);
        self.state.left = Vec::new();
        written
    }

    fn wall_s(&self) -> f64 {
        self.earlier_s + self.begun.elapsed().as_secs_f64()
    }
}

fn new_state(inode: u64, crosses_mounts: bool) -> State {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
    let tally = Tally::default();
    State { version: STATE_VERSION, inode, crosses_mounts, now_s: now, wall_s: 0.0, tally, left: Vec::new() }
}

fn write(output: &mut impl Write, line: &Line<'_>) -> std::io::Result<()> {
    let mut buffered = std::io::BufWriter::new(output);
    serde_json::to_writer(&mut buffered, line)?;
    buffered.write_all(b"\n")?;
    buffered.flush()
}

#[cfg(test)]
mod tests;
