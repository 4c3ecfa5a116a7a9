//! The actions between operations. Each ends with a look at the clock, so that waiting and thinking are in no latency.

use super::admission::Admission;
use crate::clock::Ticks;
use crate::events::StoppedBy;
use crate::pace::coordination::Waited;
use crate::plan::TokenUnit;
use crate::program::actions::ActionNode;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Longest burning of CPU without a look at the stop flag.
const LONGEST_BURN_NS: u64 = 1_000_000;

impl<T: Ticks> Admission<T> {
    pub(super) fn act(&mut self, action: &ActionNode, rng: &mut fastrand::Rng) -> Result<(), StoppedBy> {
        self.meter.rest();
        match action {
            ActionNode::Wait { semaphore, count } => self.wait(*semaphore, *count)?,
            ActionNode::Post { semaphore, count } => self.job.coordination.post(*semaphore, *count),
            ActionNode::Token { bucket, unit, counted } => self.token(*bucket, *unit, counted)?,
            ActionNode::Think { seconds, burn } => {
                let pause_ns = (seconds.sample_f64(rng) * 1e9) as u64;
                let until_ns = self.meter.read_clock().saturating_add(pause_ns);
                if *burn {
                    self.pass_time(until_ns, LONGEST_BURN_NS, T::burn_until)?;
                } else {
                    self.nap_until(until_ns)?;
                }
            }
            ActionNode::FinishOn { counted, ops, bytes, together } => {
                let done = self.done(counted, *together);
                if ops.is_some_and(|ops| done.0 >= ops) {
                    return Err(StoppedBy::Ops);
                }
                if bytes.is_some_and(|bytes| done.1 >= bytes) {
                    return Err(StoppedBy::Bytes);
                }
            }
        }
        self.meter.go_on();
        Ok(())
    }

    fn wait(&mut self, semaphore: usize, count: u32) -> Result<(), StoppedBy> {
        let job = Arc::clone(&self.job);
        let result = job.coordination.wait(semaphore, count, || {
            self.meter.read_clock();
            self.check()
        });
        result.map_err(|waited| match waited {
            Waited::Stopped(why) => why,
            Waited::Stuck => StoppedBy::Exhausted,
        })
    }

    /// Pay for what was done since this bucket was paid last, and wait until that is due.
    fn token(&mut self, bucket: usize, unit: TokenUnit, counted: &[usize]) -> Result<(), StoppedBy> {
        let tokens = match unit {
            TokenUnit::Event => 1.0,
            TokenUnit::Op | TokenUnit::DataOp | TokenUnit::Mebibyte => {
                let (ops, bytes) = self.meter.done(counted);
                let done = if unit == TokenUnit::Mebibyte { bytes as f64 / 1_048_576.0 } else { ops as f64 };
                done - std::mem::replace(&mut self.paid[bucket], done)
            }
        };
        let due_ns = self.job.coordination.take_tokens(bucket, tokens, self.meter.read_clock());
        self.nap_until(due_ns)
    }

    /// Operations and bytes completed of those counted: this worker's, or at a place those of all workers of the job.
    fn done(&mut self, counted: &[usize], together: Option<usize>) -> (u64, u64) {
        let own = self.meter.done(counted);
        let Some(place) = together else { return own };
        let reported = std::mem::replace(&mut self.reported[place], own);
        let add = |at: usize, more: u64| self.job.finishing[2 * place + at].fetch_add(more, Relaxed) + more;
        (add(0, own.0 - reported.0), add(1, own.1 - reported.1))
    }
}
