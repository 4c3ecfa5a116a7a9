//! The op loop of a worker that follows a script.

use super::{Done, Flow, Worker};
use crate::backend::{Backend, Request, RequestKind};
use crate::events::StoppedBy;
use crate::load::op::{FileSource, Node, OpNode};
use crate::load::pacing::UNSCHEDULED;
use crate::load::script::{Entry, Script};
use crate::plan::OpKind;
use crate::worker::stats::NEVER;

impl<B: Backend> Worker<B> {
    /// The worker's lines in order, once, or as many times as a rule on passes says.
    pub(super) fn run_script(&mut self, ops: &[Node], script: &Script, start_ns: u64) -> Flow {
        let (worker, workers) = (self.walker.worker as usize, self.walker.workers as usize);
        loop {
            for entry in script.entries.iter().skip(worker).step_by(workers) {
                self.check()?;
                self.line(ops, *entry, start_ns)?;
            }
            self.limits.pass(&self.job.limits)?;
            if !self.job.limits.has_passes() || script.entries.len() <= worker {
                return Err(StoppedBy::Exhausted);
            }
        }
    }

    fn line(&mut self, ops: &[Node], entry: Entry, start_ns: u64) -> Flow {
        let Node::Op(op) = &ops[entry.op as usize] else { unreachable!("scripts refer to operations") };
        self.arrive_at(entry, start_ns)?;
        if op.counts {
            self.limits.admit(&self.job.limits)?;
        }
        self.scripted = Some(entry);
        self.stats.current.set(op.state as u64);
        let done = match op.kind {
            OpKind::Read | OpKind::Write | OpKind::Fsync | OpKind::Fdatasync => self.scripted_data(op, entry)?,
            _ => self.other_op(op)?,
        };
        self.account(op, done).map(drop)
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

    fn scripted_data(&mut self, op: &OpNode, entry: Entry) -> Result<Done, StoppedBy> {
        let (kind, length) = match op.kind {
            OpKind::Read => (RequestKind::Read, entry.size),
            OpKind::Write => (RequestKind::Write, entry.size),
            OpKind::Fsync => (RequestKind::Fsync, 0),
            _ => (RequestKind::Fdatasync, 0),
        };
        let (fd, file_index) = match op.file {
            FileSource::Slot(slot) => match &mut self.slots[slot] {
                Some(file) => {
                    file.at = entry.offset + length;
                    (file.fd, file.index)
                }
                None => return Err(self.empty_slot(op)),
            },
            FileSource::Opened { opened, .. } => match self.opened_at(opened, u64::from(entry.file)) {
                Some(file) => {
                    self.keep_opened(op, opened, file, entry.offset + length);
                    (file.fd, file.index)
                }
                None => (-1, u64::from(entry.file)),
            },
            FileSource::Named { .. } => unreachable!("data operations work on open files"),
        };
        self.limits.admit_bytes(&self.job.limits, length)?;
        let request = Request {
            fd,
            kind,
            offset: entry.offset,
            length: length as usize,
            rw_flags: op.rw_flags,
            vectors: op.vectors,
        };
        self.prepare_content(0, op, request, file_index);
        self.stats.submissions.add(1);
        self.stats.depth_sum.add(1);
        let done = self.timed(|worker| worker.backend.execute(request));
        self.settle(0, op, done.result);
        if done.result >= 0 && (done.result as u64) < length {
            self.stats.short_transfers.add(1);
        }
        Ok(done)
    }
}
