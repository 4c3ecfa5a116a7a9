//! The actions between operations. Each ends with a look at the clock, so that waiting and thinking are in no latency.

use super::{Flow, Worker};
use crate::backend::Backend;
use crate::clock::Ticks;
use crate::events::StoppedBy;
use crate::pace::coordination::Waited;
use crate::plan::TokenUnit;
use crate::program::actions::{ActionNode, Counted};
use crate::worker::pace::LONGEST_NAP_NS;
use crate::worker::stats::NEVER;
use std::sync::Arc;

/// Longest burning of CPU without a look at the stop flag.
const LONGEST_BURN_NS: u64 = 1_000_000;

impl<B: Backend, T: Ticks> Worker<B, T> {
    pub(super) fn action(&mut self, action: &ActionNode) -> Flow {
        // Waiting on the worker's own account is no stall of the storage.
        self.stats.busy_since_ns.set(NEVER);
        match action {
            ActionNode::Wait { semaphore, count } => self.wait(*semaphore, *count)?,
            ActionNode::Post { semaphore, count } => self.job.coordination.post(*semaphore, *count),
            ActionNode::Token { bucket, unit, counted } => self.token(*bucket, *unit, counted)?,
            ActionNode::Think { seconds, burn } => {
                let until_ns = self.clock.now_ns().saturating_add((seconds.sample_f64(&mut self.rng) * 1e9) as u64);
                let (pass, longest_ns): (fn(&T, u64), _) =
                    if *burn { (T::burn_until, LONGEST_BURN_NS) } else { (T::nap_until, LONGEST_NAP_NS) };
                self.pass_time(until_ns, longest_ns, pass)?;
            }
            ActionNode::FinishOn { counted, ops, bytes } => self.finish_on(counted, *ops, *bytes)?,
        }
        self.last_ns = self.clock.now_ns();
        self.stats.busy_since_ns.set(self.last_ns);
        Ok(())
    }

    fn wait(&mut self, semaphore: usize, count: u32) -> Flow {
        let job = Arc::clone(&self.job);
        let result = job.coordination.wait(semaphore, count, || {
            self.last_ns = self.clock.now_ns();
            self.check()
        });
        result.map_err(|waited| match waited {
            Waited::Stopped(why) => why,
            Waited::Stuck => StoppedBy::Exhausted,
        })
    }

    /// Pay for what was done since this bucket was paid last, and wait until that is due.
    fn token(&mut self, bucket: usize, unit: TokenUnit, counted: &Counted) -> Flow {
        let tokens = match unit {
            TokenUnit::Event => 1.0,
            TokenUnit::Op | TokenUnit::DataOp | TokenUnit::Mebibyte => {
                let (ops, bytes) = self.count(counted);
                let done = if unit == TokenUnit::Mebibyte { bytes as f64 / 1_048_576.0 } else { ops as f64 };
                done - std::mem::replace(&mut self.paid[bucket], done)
            }
        };
        let due_ns = self.job.coordination.take_tokens(bucket, tokens, self.clock.now_ns());
        self.nap_until(due_ns)
    }

    fn finish_on(&mut self, counted: &Counted, ops: Option<u64>, bytes: Option<u64>) -> Flow {
        let done = self.count(counted);
        if ops.is_some_and(|ops| done.0 >= ops) {
            return Err(StoppedBy::Ops);
        }
        if bytes.is_some_and(|bytes| done.1 >= bytes) {
            return Err(StoppedBy::Bytes);
        }
        Ok(())
    }

    /// Operations and bytes completed by this worker.
    fn count(&self, counted: &Counted) -> (u64, u64) {
        let states = counted.states.iter().map(|&state| &self.states[state]);
        states.fold((0, 0), |(ops, bytes), state| (ops + state.ops, bytes + state.bytes))
    }

    /// Sleep until `until_ns`, waking to hear a stop.
    pub(super) fn nap_until(&mut self, until_ns: u64) -> Flow {
        self.pass_time(until_ns, LONGEST_NAP_NS, T::nap_until)
    }

    /// Let time go by until `until_ns`, with a look for a stop at least every `longest_ns`.
    fn pass_time(&mut self, until_ns: u64, longest_ns: u64, pass: fn(&T, u64)) -> Flow {
        loop {
            self.last_ns = self.clock.now_ns();
            if self.last_ns >= until_ns {
                return Ok(());
            }
            self.check()?;
            pass(&self.clock, until_ns.min(self.last_ns + longest_ns).min(self.limits.deadline_ns()));
        }
    }
}
