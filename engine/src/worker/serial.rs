//! The runner of a worker that does one operation at a time.

use super::parts::Worker;
use super::source::{Line, Source, Step};
use crate::backend::Backend;
use crate::clock::Ticks;
use crate::events::StoppedBy;
use crate::program::op::OpNode;

impl<B: Backend, T: Ticks> Worker<B, T> {
    /// Do what the source says until something ends it.
    pub(super) fn run_serial(&mut self, source: Source, start_ns: u64) -> Result<(), StoppedBy> {
        let mut source = source.join_pass();
        loop {
            match source.next(&mut self.rng) {
                Step::Op(op, is_last) => {
                    self.admission.check()?;
                    if !self.op(op, false)? {
                        source.break_off();
                    }
                    if is_last {
                        self.admission.pass()?;
                        source.again();
                    }
                }
                Step::Pass => {
                    self.admission.pass()?;
                    source.again();
                }
                Step::Member(op) => {
                    if !self.member(op)? {
                        source.break_off();
                    }
                }
                Step::Begin(group) => {
                    let (group, is_outermost) = source.begin_group(group);
                    if is_outermost {
                        self.admission.check()?;
                    }
                    if group.counts && self.line.is_none() {
                        self.admission.admit()?;
                        self.admission.arrive()?;
                    }
                    self.admission.meter.begin_group(group);
                }
                Step::End(is_last) => {
                    self.admission.meter.end_group();
                    source.end_group();
                    if is_last {
                        self.admission.pass()?;
                        source.again();
                    }
                }
                Step::Look => self.admission.check()?,
                Step::Action(action) => {
                    self.admission.check()?;
                    self.admission.act(action, &mut self.rng)?;
                }
                Step::Exhausted => return Err(StoppedBy::Exhausted),
                Step::Line => self.begin_line(source.line(), start_ns)?,
            }
        }
    }

    /// One operation; false: it has failed.
    #[inline(always)]
    fn op(&mut self, op: &OpNode, in_group: bool) -> Result<bool, StoppedBy> {
        if op.counts && !(in_group && self.line.is_some()) {
            self.admission.admit()?;
            if self.gets_ready(op) && !in_group {
                return self.op_when_due(op);
            }
            self.admission.arrive()?;
        }
        let done = self.carry_out(op, in_group)?;
        self.admission.meter.end(op, done, in_group)
    }

    /// One transfer of an open loop, made before it is due: what making its content takes is in no response then.
    #[inline(never)]
    fn op_when_due(&mut self, op: &OpNode) -> Result<bool, StoppedBy> {
        let tools = &mut self.tools;
        let target = tools.files.fixed_request(op, &mut self.rng).expect("the place of what gets ready is known");
        let target = target.map_err(|miss| self.missed(op, miss))?;
        let (request, index) = (target.request, target.index);
        self.prepare(op, request, index);
        self.admission.meter.read_clock();
        self.admission.arrive()?;
        self.admission.admit_bytes(request.length as u64)?;
        self.is_made = true;
        let done = self.transfer(op, request, index, false);
        self.is_made = false;
        self.admission.meter.end(op, done, false)
    }

    /// Whether an open loop can have the content of an operation ready before it is due. Stamped content can not be: whoever
    /// reads its place meanwhile has to know whether it was written.
    #[inline(always)]
    pub(super) fn gets_ready(&self, op: &OpNode) -> bool {
        self.admission.is_scheduled() && self.makes_content(op)
    }

    #[inline(never)]
    fn makes_content(&self, op: &OpNode) -> bool {
        let (cursor, filler) = (&self.tools.files.cursors[op.state], &self.tools.filler);
        let takes_time = cursor.request.is_some_and(|kind| filler.takes_time(op, kind));
        cursor.fixed.is_some() && takes_time && !filler.settles() && self.line.is_none()
    }

    #[inline(never)]
    fn member(&mut self, op: &OpNode) -> Result<bool, StoppedBy> {
        self.op(op, true)
    }

    /// The line of a script comes next, when it is due.
    fn begin_line(&mut self, line: Line, start_ns: u64) -> Result<(), StoppedBy> {
        self.admission.check()?;
        let Line { entry, chunk_bytes, makes_first, counts } = line;
        self.admission.arrive_at((entry.due_ns > 0).then_some(start_ns.saturating_add(entry.due_ns)))?;
        if counts {
            self.admission.admit()?;
        }
        (self.line, self.line_chunk_bytes, self.is_made) = (Some(entry), chunk_bytes, makes_first.is_some());
        if let Some(set) = makes_first {
            let tools = &mut self.tools;
            let (index, length) = (u64::from(entry.file), entry.size as usize);
            tools.filler.give_pooled(set, index, length, entry.offset, &mut tools.backend);
            self.admission.meter.time_went_by();
        }
        Ok(())
    }
}
