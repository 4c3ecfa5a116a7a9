//! What one worker counts of its operations, and how it times them: nobody else touches these counters.
//!
//! An operation is counted as started where it is issued, and as completed or failed where it ends; one that a stop or the
//! death of its worker cuts off is neither. A transfer whose buffer needs no work takes the end of the operation before as
//! its own start, so back-to-back ones cost one look at the clock each, as long as nothing else lay between; operations that
//! are prepared first (content to write, a name to build) look twice, so that the preparation is in no latency. The latency of
//! a group is the sum of its members'.

mod in_flight;

use crate::clock::Ticks;
use crate::events::StoppedBy;
use crate::laps::Lap;
use crate::pace::pacing::UNSCHEDULED;
use crate::program::op::OpNode;
use crate::stats::{NEVER, WorkerCounters, WorkerStats};
use std::sync::Arc;

/// Failures in a row, with no success between them, after which a worker gives up.
const HOPELESS: u32 = 1000;

/// One finished call: when it was issued, and bytes moved or a negative errno. It ended at the meter's latest look.
#[derive(Debug, Clone, Copy)]
pub(super) struct Done {
    pub(super) issued_ns: u64,
    pub(super) result: i64,
}

impl Done {
    pub(super) fn without_bytes(self) -> Self {
        Self { result: self.result.min(0), ..self }
    }
}

/// Operations that are also recorded together.
#[derive(Debug, Clone, Copy)]
pub(super) struct Group {
    /// Histogram, if timed.
    pub(super) series: Option<u32>,
    /// Which of the groups with laps it is, if any.
    pub(super) laps: Option<u32>,
    /// Whether it counts as one of the worker's operations.
    pub(super) counts: bool,
}

/// What has been since the latest look at the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClockState {
    /// Nothing that takes time.
    Nothing,
    /// Something that is part of no operation.
    SomeTime,
    /// An operation that leaves its end to the next one, which begins where it did.
    OpenEnd,
}

/// What a group has come to.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    latency_ns: u64,
    bytes: u64,
    failed: bool,
}

/// Looks at the clock and counts.
pub(super) struct Meter<T> {
    pub(super) clock: T,
    stats: Arc<WorkerStats>,
    /// The latest look at the clock.
    last_ns: u64,
    /// What has been since.
    clock_state: ClockState,
    /// When the operation at hand was to begin; [`UNSCHEDULED`] in a closed loop.
    pub(super) intended_ns: u64,
    failures_in_a_row: u32,
    fatal: Option<(String, i32)>,
    /// By operation: completions and bytes, where an action of the job counts them.
    done: Vec<(u64, u64)>,
    /// By group with laps: completions.
    laps: Vec<u64>,
    /// Groups that have begun, the innermost last.
    groups: Vec<(Group, Sum)>,
}

impl<T: Ticks> Meter<T> {
    pub(super) fn new(clock: T, stats: Arc<WorkerStats>, operations: usize, laps: usize) -> Self {
        Self {
            clock,
            stats,
            last_ns: 0,
            clock_state: ClockState::SomeTime,
            intended_ns: UNSCHEDULED,
            failures_in_a_row: 0,
            fatal: None,
            done: vec![(0, 0); operations],
            laps: vec![0; laps],
            groups: Vec::with_capacity(8),
        }
    }

    // -- time ----------------------------------------------------------------------------------------------------------

    /// The latest look at the clock.
    #[inline(always)]
    pub(super) fn last_ns(&self) -> u64 {
        self.last_ns
    }

    #[inline(always)]
    pub(super) fn read_clock(&mut self) -> u64 {
        self.last_ns = self.clock.now_ns();
        self.clock_state = ClockState::Nothing;
        self.last_ns
    }

    /// Something that is part of no operation took time.
    pub(super) fn time_went_by(&mut self) {
        if self.clock_state == ClockState::Nothing {
            self.clock_state = ClockState::SomeTime;
        }
    }

    /// The worker waits on its own account from here: that is no stall of the storage.
    pub(super) fn rest(&self) {
        self.stats.busy_since_ns.set(NEVER);
    }

    /// From the latest look on, a rule of the load itself has it rest until then, with nothing in flight.
    pub(super) fn idle_until(&self, until_ns: u64) {
        let from_ns = if self.clock_state == ClockState::Nothing { self.last_ns } else { self.clock.now_ns() };
        self.stats.idle.rest(from_ns, until_ns);
    }

    /// It rested until the latest look, and no longer.
    pub(super) fn idle_no_more(&self) {
        self.stats.idle.break_off(self.last_ns);
    }

    /// It goes on.
    pub(super) fn go_on(&mut self) {
        let now_ns = self.read_clock();
        self.stats.busy_since_ns.set(now_ns);
    }

    /// A part of a long operation has ended at the latest look at the clock.
    pub(super) fn got_on(&self) {
        self.stats.busy_since_ns.set(self.last_ns);
    }

    /// A sign of life from within a long operation.
    pub(super) fn is_alive(&self) {
        self.stats.busy_since_ns.set(self.clock.now_ns());
    }

    // -- one operation -------------------------------------------------------------------------------------------------

    /// An operation is issued now.
    #[inline(always)]
    pub(super) fn start(&self, op: &OpNode) {
        let stats: &WorkerCounters = &self.stats;
        stats.started.add(1);
        stats.current.set(op.state as u64);
    }

    /// An operation is issued now: when. `at_once`: where the latest look still has the time, there is no other.
    #[inline(always)]
    pub(super) fn begin(&mut self, op: &OpNode, at_once: bool) -> u64 {
        self.start(op);
        let begins_there =
            if self.clock_state == ClockState::Nothing { at_once } else { self.clock_state == ClockState::OpenEnd };
        if begins_there { self.last_ns } else { self.read_clock() }
    }

    /// The call that was issued at `issued_ns` has ended now.
    #[inline(always)]
    pub(super) fn ended(&mut self, issued_ns: u64, result: i64) -> Done {
        self.read_clock();
        Done { issued_ns, result }
    }

    /// As [`Meter::ended`], but where it `leaves_open` its end to the next member of its group, nobody looks at the clock, as
    /// long as it has not failed: the next one then begins where this one did.
    #[inline]
    pub(super) fn ended_open(&mut self, issued_ns: u64, result: i64, leaves_open: bool) -> Done {
        if !leaves_open || result < 0 {
            return self.ended(issued_ns, result);
        }
        (self.last_ns, self.clock_state) = (issued_ns, ClockState::OpenEnd);
        Done { issued_ns, result }
    }

    /// Time the one call of an operation, which gives bytes or a negative errno.
    #[inline(always)]
    pub(super) fn timed(&mut self, op: &OpNode, call: impl FnOnce() -> i64) -> Done {
        let issued_ns = self.begin(op, false);
        let result = call();
        self.ended(issued_ns, result)
    }

    /// So many requests were handed over, each when the one before was done.
    #[inline(always)]
    pub(super) fn submitted_alone(&self, requests: u64) {
        let stats: &WorkerCounters = &self.stats;
        stats.submissions.add(requests);
        stats.depth_sum.add(requests);
    }

    /// A transfer of `asked_bytes` has moved `result`.
    #[inline(always)]
    pub(super) fn moved(&self, result: i64, asked_bytes: usize) {
        if result != asked_bytes as i64 {
            self.moved_less(result);
        }
    }

    #[cold]
    fn moved_less(&self, result: i64) {
        self.stats.short_transfers.add(u64::from(result >= 0));
    }

    /// Count what a worker with one request in flight has done, `in_group` for that too. False: it failed.
    #[inline(always)]
    pub(super) fn end(&mut self, op: &OpNode, done: Done, in_group: bool) -> Result<bool, StoppedBy> {
        if done.result < 0 {
            self.note_time(op, done.issued_ns);
            return self.fail(op, -done.result as i32);
        }
        let sum = Sum { latency_ns: self.last_ns - done.issued_ns, bytes: done.result as u64, failed: false };
        self.succeed(op, done.issued_ns, 1, sum.bytes);
        self.record(op.series, op.counts, sum);
        if in_group {
            self.add_to_group(sum);
        }
        Ok(true)
    }

    /// `ops` operations that end now have moved `bytes` together.
    #[inline(always)]
    fn succeed(&mut self, op: &OpNode, first_issued_ns: u64, ops: u64, bytes: u64) {
        self.note_time(op, first_issued_ns);
        self.stats.completed.add(ops);
        self.failures_in_a_row = 0;
        if op.is_counted {
            let done = &mut self.done[op.state];
            *done = (done.0 + ops, done.1 + bytes);
        }
    }

    /// An operation that was issued at `issued_ns` has ended now.
    #[inline(always)]
    fn note_time(&self, op: &OpNode, issued_ns: u64) {
        let stats: &WorkerCounters = &self.stats;
        if !op.is_timed {
            // Work that is not timed is in no window, but a sign of life.
            stats.busy_since_ns.set(self.last_ns);
            return;
        }
        if stats.first_op_ns.get() == NEVER {
            stats.first_op_ns.set(issued_ns);
        }
        stats.last_op_ns.set(self.last_ns);
    }

    #[cold]
    #[inline(never)]
    fn fail(&mut self, op: &OpNode, errno: i32) -> Result<bool, StoppedBy> {
        self.time_went_by();
        // The observer looks for the number of it once it sees that there is one more.
        self.stats.failures.add(op.state, errno);
        self.stats.failed.add(1);
        // What nowait asks for is no sign that nothing works any more.
        self.failures_in_a_row += u32::from(errno != libc::EAGAIN || op.rw_flags & libc::RWF_NOWAIT == 0);
        let sum = Sum { failed: true, ..Sum::default() };
        self.record(op.series, op.counts, sum);
        self.add_to_group(sum);
        let lost = matches!(errno, libc::ENOSPC | libc::EDQUOT | libc::EROFS | libc::ENODEV);
        let unsupported = op.kind.unsupported(errno);
        if lost || unsupported.is_some() || self.failures_in_a_row >= HOPELESS {
            let why = unsupported.map_or(String::new(), |why| format!(" ({why})"));
            return Err(self.give_up(format!("{}{why}", op.name), errno));
        }
        Ok(false)
    }

    /// There is nothing to go on with. The groups that have begun have failed too.
    #[cold]
    pub(super) fn give_up(&mut self, why: String, errno: i32) -> StoppedBy {
        self.fatal = Some((why, errno));
        while let Some((group, _)) = self.groups.pop() {
            let series = group.series.map(|series| series as usize);
            self.record(series, group.counts, Sum { failed: true, ..Sum::default() });
        }
        StoppedBy::Error
    }

    #[inline(always)]
    fn record(&self, series: Option<usize>, counts: bool, sum: Sum) {
        let Some(series) = series else { return };
        let into = &self.stats.series[series];
        if sum.failed {
            into.errors.add(1);
            return;
        }
        into.latency.record(sum.latency_ns);
        into.bytes.add(sum.bytes);
        if counts {
            if self.intended_ns != UNSCHEDULED {
                into.response.record(self.last_ns - self.intended_ns);
            }
            let counters: &WorkerCounters = &self.stats;
            counters.ops.add(1);
            counters.bytes.add(sum.bytes);
        }
    }

    // -- groups --------------------------------------------------------------------------------------------------------

    pub(super) fn begin_group(&mut self, group: Group) {
        self.groups.push((group, Sum::default()));
    }

    pub(super) fn end_group(&mut self) {
        let (group, sum) = self.groups.pop().expect("a group ends after its begin");
        self.record(group.series.map(|series| series as usize), group.counts, sum);
        if let Some(lap) = group.laps {
            self.keep_lap(lap as usize, sum);
        }
        self.add_to_group(sum);
    }

    #[inline(always)]
    fn add_to_group(&mut self, sum: Sum) {
        if let Some((_, group)) = self.groups.last_mut() {
            group.latency_ns += sum.latency_ns;
            group.bytes += sum.bytes;
            group.failed |= sum.failed;
        }
    }

    #[inline(never)]
    fn keep_lap(&mut self, group: usize, sum: Sum) {
        let latency_ns = (!sum.failed).then_some(sum.latency_ns);
        let lap = Lap { group, number: self.laps[group], end_ns: self.last_ns, latency_ns };
        self.stats.laps.iter().for_each(|laps| laps.keep(lap));
        self.laps[group] += 1;
    }

    // -- beside operations ---------------------------------------------------------------------------------------------

    /// A scheduled arrival has begun. `missed`: after the worker's next one was due.
    pub(super) fn arrived(&self, missed: bool) {
        self.stats.arrivals.add(1);
        self.stats.missed.add(u64::from(missed));
    }

    /// So many were due and had no turn.
    pub(super) fn left_out(&self, arrivals: u64) {
        self.stats.unissued.add(arrivals);
    }

    /// A program that the worker ran has had so much CPU time.
    pub(super) fn child_ended(&self, cpu_ns: u64) {
        self.stats.children_cpu_ns.add(cpu_ns);
    }

    /// Operations and bytes completed of those with these states.
    pub(super) fn done(&self, states: &[usize]) -> (u64, u64) {
        let done = states.iter().map(|&state| self.done[state]);
        done.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }

    /// Issued, and neither completed nor failed.
    pub(super) fn abandoned(&self) -> u64 {
        self.stats.abandoned()
    }

    /// The failure that left nothing to go on with.
    pub(super) fn fatal(&self) -> Option<&(String, i32)> {
        self.fatal.as_ref()
    }
}
