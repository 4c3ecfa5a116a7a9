//! No storage at all: a request is done when it is handed over. What is left of a run is what the engine takes by itself.
//!
//! Files are there and open, as for every backend over the kernel, and no byte of them is read or written. A read leaves its
//! buffer as it is.

use super::kernel::OverKernel;
use super::{Backend, Completion, Note, QueuedBackend, Report, Request, RequestKind, Wait};
use crate::buffer::{BufferSize, Buffers};
use crate::warning_id::WarningId;
use std::io;

/// Takes requests and gives them back.
#[derive(Debug)]
pub struct Nothing {
    buffers: Buffers,
    /// Not taken back, the oldest first.
    done: Vec<Completion>,
    /// So many of them are handed over.
    handed_over: usize,
}

impl Nothing {
    /// With buffers of a size for `depth` requests.
    pub fn new(depth: u32, size: BufferSize) -> io::Result<Self> {
        Ok(Self {
            buffers: Buffers::new(depth as usize, size)?,
            done: Vec::with_capacity(depth as usize),
            handed_over: 0,
        })
    }
}

impl OverKernel for Nothing {}

/// All that was asked for.
fn result_of(request: Request) -> i64 {
    match request.kind {
        RequestKind::Read | RequestKind::Write => request.length as i64,
        RequestKind::Fsync | RequestKind::Fdatasync => 0,
    }
}

impl Backend for Nothing {
    const NAME: &'static str = "null";

    fn buffer(&mut self, slot: usize, length: usize) -> &mut [u8] {
        self.buffers.slot(slot, length)
    }

    #[inline]
    fn execute(&mut self, request: Request) -> i64 {
        result_of(request)
    }

    fn report(&mut self) -> Report {
        let text = "the backend null moved nothing: its numbers are what the engine takes by itself, and of no storage";
        Report { punted: Some(0), notes: vec![Note::new(WarningId::NothingMoved, text)], ..Report::default() }
    }
}

impl QueuedBackend for Nothing {
    #[inline]
    fn submit(&mut self, slot: usize, request: Request) {
        self.done.push(Completion { slot, result: result_of(request) });
    }

    fn hand_over(&mut self) -> io::Result<()> {
        self.handed_over = self.done.len();
        Ok(())
    }

    fn complete(&mut self, done: &mut Vec<Completion>, wait: Wait) -> io::Result<()> {
        self.hand_over()?;
        self.look(done, wait.at_most)
    }

    fn look(&mut self, done: &mut Vec<Completion>, at_most: usize) -> io::Result<()> {
        let count = self.handed_over.min(at_most);
        done.extend(self.done.drain(..count));
        self.handed_over -= count;
        Ok(())
    }
}
