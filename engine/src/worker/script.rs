//! The op loop of a worker that follows a script.

use super::{Done, Flow, Sum, Worker};
use crate::backend::store::Handle;
use crate::backend::{Backend, Request, RequestKind};
use crate::clock::Ticks;
use crate::events::StoppedBy;
use crate::pace::pacing::UNSCHEDULED;
use crate::plan::OpKind;
use crate::program::lines::Entry;
use crate::program::op::{FileSource, Node, OpNode};
use crate::program::script::{Script, members};
use crate::worker::stats::NEVER;

impl<B: Backend, T: Ticks> Worker<B, T> {
    /// The worker's lines in order, once, or as many times as a rule on passes says.
    pub(super) fn run_script(&mut self, ops: &[Node], script: &Script, start_ns: u64) -> Flow {
        let (worker, workers) = (self.walker.worker as usize, self.walker.workers as usize);
        loop {
            for row in (worker..script.lines.len()).step_by(workers) {
                self.check()?;
                self.line(ops, script.lines.get(row), start_ns)?;
            }
            self.limits.pass(&self.job.limits)?;
            if !self.job.limits.has_passes() || script.lines.len() <= worker {
                return Err(StoppedBy::Exhausted);
            }
        }
    }

    fn line(&mut self, ops: &[Node], entry: Entry, start_ns: u64) -> Flow {
        self.arrive_at(entry, start_ns)?;
        self.scripted = Some(entry);
        let node = &ops[entry.op as usize];
        if let Node::Op(OpNode { counts: true, .. }) | Node::Group { counts: true, .. } = node {
            self.limits.admit(&self.job.limits)?;
        }
        let (chunk_bytes, makes_first) = match node {
            Node::Group { chunk_bytes, makes_first, .. } => (*chunk_bytes, *makes_first),
            _ => (0, None),
        };
        if let Some(set) = makes_first {
            self.give_pooled(set, entry.size as usize, entry.offset, u64::from(entry.file));
        }
        let mut sum = Sum::default();
        let mut flow = Ok(());
        for op in members(node) {
            match self.scripted_op(op, entry, chunk_bytes, makes_first.is_some()) {
                Ok(done) => sum.add(done),
                // A failure that ends the run is one of the group too; a stop between its operations is none.
                Err(why) => {
                    sum.failed = self.fatal.is_some();
                    flow = Err(why);
                }
            }
            if sum.failed || flow.is_err() {
                break;
            }
        }
        match node {
            Node::Group { series, counts, .. } if flow.is_ok() || sum.failed => self.record(*series, *counts, sum),
            _ => {}
        }
        flow
    }

    fn scripted_op(&mut self, op: &OpNode, entry: Entry, chunk_bytes: usize, is_made: bool) -> Result<Sum, StoppedBy> {
        self.stats.current.set(op.state as u64);
        let done = match op.kind {
            OpKind::Read | OpKind::Write | OpKind::Fsync | OpKind::Fdatasync => {
                self.scripted_data(op, entry, chunk_bytes, is_made)?
            }
            _ => self.other_op(op)?,
        };
        self.account(op, done)
    }

    /// Wait until a line is due.
    fn arrive_at(&mut self, entry: Entry, start_ns: u64) -> Flow {
        if entry.due_ns == 0 {
            self.intended_ns = UNSCHEDULED;
            return self.arrive();
        }
        self.stats.busy_since_ns.set(NEVER);
        self.nap_until(start_ns + entry.due_ns)?;
        self.stats.busy_since_ns.set(self.last_ns);
        self.intended_ns = start_ns + entry.due_ns;
        Ok(())
    }

    /// `is_made`: what it writes is in the buffer already.
    fn scripted_data(
        &mut self,
        op: &OpNode,
        entry: Entry,
        chunk_bytes: usize,
        is_made: bool,
    ) -> Result<Done, StoppedBy> {
        let (kind, length) = match op.kind {
            OpKind::Read => (RequestKind::Read, entry.size),
            OpKind::Write => (RequestKind::Write, entry.size),
            OpKind::Fsync => (RequestKind::Fsync, 0),
            _ => (RequestKind::Fdatasync, 0),
        };
        let (file, file_index) = match op.file {
            FileSource::Slot(slot) => match &mut self.slots[slot] {
                Some(file) => {
                    file.at = entry.offset + length;
                    (file.handle, file.index)
                }
                None => return Err(self.empty_slot(op)),
            },
            FileSource::Opened { opened, .. } => match self.opened_at(opened, u64::from(entry.file)) {
                Some(file) => {
                    self.keep_opened(op, opened, file, entry.offset + length);
                    (file.handle, file.index)
                }
                None => (Handle::NONE, u64::from(entry.file)),
            },
            FileSource::Named { .. } => unreachable!("data operations work on open files"),
        };
        self.limits.admit_bytes(&self.job.limits, length)?;
        let request = Request {
            file,
            kind,
            offset: entry.offset,
            length: length as usize,
            rw_flags: op.rw_flags,
            vectors: op.vectors,
        };
        if !is_made {
            self.prepare_content(0, op, request, file_index);
        }
        let is_cut = chunk_bytes > 0 && matches!(kind, RequestKind::Read | RequestKind::Write);
        let calls = if is_cut { request.length.div_ceil(chunk_bytes) as u64 } else { 1 };
        self.stats.submissions.add(calls);
        self.stats.depth_sum.add(calls);
        let call = |worker: &mut Self| match is_cut {
            true => worker.backend.execute_in_pieces(request, chunk_bytes, &worker.job.stop),
            false => worker.backend.execute(request),
        };
        // Otherwise what a write writes was made, or a buffer cooled, after the end of the operation before.
        let begins_at_once = is_made || !(kind == RequestKind::Write || op.cold_buffer);
        let done = self.timed_in_script(op, begins_at_once, call);
        if kind == RequestKind::Read {
            let overwritten = if is_cut { request.length.min(chunk_bytes) } else { request.length };
            self.unpooled_bytes = self.unpooled_bytes.max(overwritten);
        }
        self.settle(0, op, done.result);
        if is_cut {
            self.was_not_cut(done, request.length)?;
        }
        if done.result >= 0 && (done.result as u64) < length {
            self.stats.short_transfers.add(1);
        }
        Ok(done)
    }

    /// Have the bytes of the pool in the buffer, and new ones in each block.
    pub(super) fn give_pooled(&mut self, set: usize, length: usize, offset: u64, file_index: u64) {
        let fill = self.fills[set].as_mut().expect("a job has content for every set it touches");
        if self.unpooled_bytes > 0 {
            fill.fill_pool(self.backend.buffer(0, self.unpooled_bytes));
            self.unpooled_bytes = 0;
        }
        self.generation += 1;
        fill.renew(self.backend.buffer(0, length), file_index, offset, self.generation);
    }
}
