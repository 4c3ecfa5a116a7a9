//! Reads, writes and flushes of a worker that does one at a time: in one call, in pieces, or a whole file.

use super::meter::Done;
use super::parts::Worker;
use crate::backend::{Backend, Request};
use crate::clock::Ticks;
use crate::events::StoppedBy;
use crate::plan::Access;
use crate::program::op::OpNode;
use std::sync::atomic::Ordering::Relaxed;

impl<B: Backend, T: Ticks> Worker<B, T> {
    /// One data operation. A fixed one keeps its request in registers.
    #[inline(always)]
    pub(super) fn data(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        if let Some(target) = self.tools.files.fixed_request(op, &mut self.rng) {
            let target = target.map_err(|miss| self.missed(op, miss))?;
            self.admission.admit_bytes(target.request.length as u64)?;
            if target.is_plain {
                return Ok(self.transfer_plainly(op, target.request, target.reuses_timestamp));
            }
            return Ok(self.transfer(op, target.request, target.index, target.reuses_timestamp));
        }
        self.varying(op)
    }

    /// As [`Worker::transfer`], where nothing is to be done to the buffer before or after the call.
    #[inline(always)]
    fn transfer_plainly(&mut self, op: &OpNode, request: Request, reuses_timestamp: bool) -> Done {
        let meter = &mut self.admission.meter;
        meter.submitted_alone(1);
        let issued_ns = meter.begin(op, reuses_timestamp);
        let result = self.tools.backend.execute(request);
        let done = meter.ended(issued_ns, result);
        meter.moved(result, request.length);
        done
    }

    /// As [`Worker::data`], with less in one place.
    #[inline(always)]
    pub(super) fn data_in_group(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        if self.tools.files.cursors[op.state].fixed.is_some() { self.fixed_request(op) } else { self.varying(op) }
    }

    #[inline(never)]
    fn fixed_request(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        self.data(op)
    }

    #[inline(always)]
    fn varying(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        match op.access {
            Access::Whole { chunk_bytes, to_end } if self.line.is_none() && op.kind.rules().moves_data() => {
                self.whole(op, chunk_bytes, to_end && op.kind.rules().reads())
            }
            _ => self.anywhere(op),
        }
    }

    #[inline(never)]
    fn anywhere(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        let tools = &mut self.tools;
        let target = tools.files.target(op, self.line, &mut tools.backend, &mut self.rng);
        let target = target.map_err(|miss| self.missed(op, miss))?;
        self.admission.admit_bytes(target.request.length as u64)?;
        let chunk_bytes = if self.line.is_some() { self.line_chunk_bytes } else { op.chunk_bytes };
        if chunk_bytes > 0 && op.kind.rules().moves_data() {
            return self.transfer_in_pieces(op, target.request, target.index, target.reuses_timestamp, chunk_bytes);
        }
        if target.is_plain {
            let done = self.transfer_plainly(op, target.request, target.reuses_timestamp);
            if done.result == 0 {
                self.met_the_end(op);
            }
            return Ok(done);
        }
        let done = self.transfer(op, target.request, target.index, target.reuses_timestamp);
        if done.result == 0 {
            self.met_the_end(op);
        }
        Ok(done)
    }

    /// Nothing was there any more; the next one of a slot starts over, unless it is asked not to.
    #[cold]
    #[inline(never)]
    fn met_the_end(&mut self, op: &OpNode) {
        if op.rewinds && self.line.is_none() {
            self.tools.files.rewind(op);
        }
    }

    /// Carry a request out and wait for it. `reuses_timestamp`: it may begin where the operation before ended.
    #[inline(never)]
    pub(super) fn transfer(&mut self, op: &OpNode, request: Request, index: u64, reuses_timestamp: bool) -> Done {
        self.admission.meter.submitted_alone(1);
        self.prepare(op, request, index);
        let issued_ns = self.admission.meter.begin(op, reuses_timestamp | (self.is_made & self.joins));
        let result = self.tools.backend.execute(request);
        let done = self.admission.meter.ended_open(issued_ns, result, op.ends_open & self.joins);
        self.settle(op, request, result, request.length);
        self.admission.meter.moved(result, request.length);
        done
    }

    /// As [`Worker::transfer`], in successive calls of at most `chunk_bytes`: one operation, whose latency is that of them all.
    /// One that a stop cuts short is given up.
    fn transfer_in_pieces(
        &mut self,
        op: &OpNode,
        request: Request,
        index: u64,
        reuses_timestamp: bool,
        chunk_bytes: usize,
    ) -> Result<Done, StoppedBy> {
        self.admission.meter.submitted_alone(request.length.div_ceil(chunk_bytes) as u64);
        self.prepare(op, request, index);
        let issued_ns = self.admission.meter.begin(op, reuses_timestamp | (self.is_made & self.joins));
        let result = self.tools.backend.execute_in_pieces(request, chunk_bytes, self.admission.stop());
        let done = self.admission.meter.ended_open(issued_ns, result, op.ends_open & self.joins);
        self.settle(op, request, result, request.length.min(chunk_bytes));
        let is_short = result >= 0 && (result as usize) < request.length;
        if is_short && self.admission.stop().load(Relaxed) {
            return Err(StoppedBy::Control);
        }
        self.admission.meter.moved(result, request.length);
        Ok(done)
    }

    #[inline(always)]
    pub(super) fn prepare(&mut self, op: &OpNode, request: Request, index: u64) {
        if !self.is_made {
            let tools = &mut self.tools;
            let set = || tools.files.set_of(op);
            tools.filler.prepare(0, op, request, set, index, &mut tools.backend);
        }
    }

    /// `overwritten`: bytes of the buffer that a read has changed.
    #[inline(always)]
    fn settle(&mut self, op: &OpNode, request: Request, result: i64, overwritten: usize) {
        let tools = &mut self.tools;
        tools.filler.overwritten(request, overwritten);
        tools.filler.settle(0, op, result, &mut tools.backend);
    }

    /// A whole file in pieces, as one operation; `to_end`: up to where a read gives nothing. One that a stop cuts short is given
    /// up.
    #[inline(never)]
    fn whole(&mut self, op: &OpNode, chunk_bytes: u64, to_end: bool) -> Result<Done, StoppedBy> {
        let tools = &mut self.tools;
        let found = tools.files.whole(op, &mut tools.backend, &mut self.rng);
        let (target, bytes) = found.map_err(|miss| self.missed(op, miss))?;
        let piece = if chunk_bytes > 0 { chunk_bytes } else { op.size.sample_u64(&mut self.rng).max(1) };
        self.admission.admit_bytes(bytes)?;
        self.admission.meter.start(op);
        let (mut at, mut latency_ns) = (0, 0);
        while at < bytes || to_end {
            let length = if to_end { piece } else { piece.min(bytes - at) } as usize;
            let request = Request { offset: at, length, ..target.request };
            self.admission.meter.submitted_alone(1);
            self.prepare(op, request, target.index);
            let issued_ns = self.admission.meter.read_clock();
            let result = self.tools.backend.execute(request);
            let done = self.admission.meter.ended(issued_ns, result);
            self.settle(op, request, result, length);
            if result < 0 {
                return Ok(done);
            }
            latency_ns += self.admission.meter.last_ns() - issued_ns;
            self.admission.meter.got_on();
            at += result as u64;
            if result == 0 {
                if !to_end {
                    self.admission.meter.moved(result, length);
                }
                break;
            }
            if (at < bytes || to_end) && self.admission.stop().load(Relaxed) {
                return Err(StoppedBy::Control);
            }
        }
        // Latency without the time that making the content took.
        let last_ns = self.admission.meter.last_ns();
        Ok(Done { issued_ns: last_ns.max(latency_ns) - latency_ns, result: at as i64 })
    }
}
