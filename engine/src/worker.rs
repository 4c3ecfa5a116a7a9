//! The op loop: what one worker does between the common start and its stop.
//!
//! Nothing in it allocates, locks or calls the kernel beyond what the workload asks for and the clock. A read that follows
//! the operation before without other work takes that one's end as its own start, so back-to-back reads cost one clock
//! read each; operations that are prepared first (content to write, a name to build) read it twice, so that the
//! preparation is in no latency. The latency of a group is the sum of its members'.

use crate::backend::{Backend, Completion, Request, RequestKind};
use crate::clock::Clock;
use crate::histogram::{Counter, Recorder};
use crate::load::content::ContentFill;
use crate::load::fileset::FileSetState;
use crate::load::limits::{JobLimits, LocalLimits};
use crate::load::names::PathBuffer;
use crate::load::offsets::{Offsets, Walker};
use crate::load::op::{FileSource, Node, OpNode, Program};
use crate::events::StoppedBy;
use crate::plan::{Access, OpKind, Pick};
use std::collections::HashMap;
use std::io;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Failures in a row, with no success between them, after which a worker gives up.
const HOPELESS: u32 = 1000;
/// Value of [`WorkerStats::first_op_ns`] before the first operation.
pub const NEVER: u64 = u64::MAX;

/// What a worker counts, for the observer to read while it runs.
#[derive(Debug)]
pub struct WorkerStats {
    /// By histogram of the program.
    pub series: Vec<SeriesStats>,
    /// Timed operations completed (a timed group counts once, its members not).
    pub ops: Counter,
    /// Bytes that they moved.
    pub bytes: Counter,
    /// Operations of any kind begun.
    pub started: Counter,
    /// Of these, done without error.
    pub completed: Counter,
    /// Of these, failed.
    pub failed: Counter,
    /// Issue of the first, [`NEVER`] before.
    pub first_op_ns: Counter,
    /// Completion of the latest.
    pub last_op_ns: Counter,
    /// Sum of the I/Os in flight at each submission.
    pub depth_sum: Counter,
    /// Submissions.
    pub submissions: Counter,
    /// Reaps that brought completions.
    pub reaps: Counter,
    /// Transfers of fewer bytes than asked for.
    pub short_transfers: Counter,
}

/// What a worker counts of one operation or group.
#[derive(Debug, Default)]
pub struct SeriesStats {
    /// Bytes moved.
    pub bytes: Counter,
    /// Failed.
    pub errors: Counter,
    /// Issue to completion of those that succeeded.
    pub latency: Recorder,
}

impl WorkerStats {
    /// Nothing yet, for a program with that many histograms.
    pub fn new(series: usize) -> Self {
        let stats = Self {
            series: (0..series).map(|_| SeriesStats::default()).collect(),
            ops: Counter::default(),
            bytes: Counter::default(),
            started: Counter::default(),
            completed: Counter::default(),
            failed: Counter::default(),
            first_op_ns: Counter::default(),
            last_op_ns: Counter::default(),
            depth_sum: Counter::default(),
            submissions: Counter::default(),
            reaps: Counter::default(),
            short_transfers: Counter::default(),
        };
        stats.first_op_ns.set(NEVER);
        stats
    }
}

/// An open file of a set.
#[derive(Debug, Clone, Copy)]
pub struct OpenFile {
    /// Descriptor.
    pub fd: RawFd,
    /// Index in its set.
    pub index: u64,
    /// Size at opening.
    pub bytes: u64,
}

/// What all workers of a job share.
pub struct JobShared {
    /// The job's program.
    pub program: Program,
    /// State of every file set of the Plan.
    pub sets: Vec<Arc<FileSetState>>,
    /// Set when the job is to stop.
    pub stop: Arc<AtomicBool>,
    /// Stop rules of job and phase.
    pub limits: JobLimits,
    /// Flags for files that operations open.
    pub open_flags: i32,
    /// By operation: how many files `pick next` has handed out.
    pub next_file: Vec<AtomicU64>,
}

/// One worker, ready to run.
pub struct Worker<B> {
    backend: B,
    clock: Clock,
    job: Arc<JobShared>,
    stats: Arc<WorkerStats>,
    rng: fastrand::Rng,
    fill: ContentFill,
    generation: u64,
    opened: Vec<Vec<OpenFile>>,
    slots: Vec<Option<SlotFile>>,
    states: Vec<OpState>,
    path: PathBuffer,
    limits: LocalLimits,
    walker: Walker,
    last_ns: u64,
    failures_in_a_row: u32,
    errors: HashMap<(usize, i32), u64>,
    fatal: Option<(String, i32)>,
}

/// A file that an operation left in a slot.
#[derive(Debug, Clone, Copy)]
struct SlotFile {
    fd: RawFd,
    set: usize,
    index: u64,
    at: u64,
}

/// What an operation of a worker remembers from one time to the next.
struct OpState {
    walks: Vec<Option<Offsets>>,
    file: usize,
}

/// What a worker leaves behind.
#[derive(Debug)]
pub struct Ended {
    /// Why it stopped.
    pub stopped_by: StoppedBy,
    /// Failures by operation name and error number.
    pub errors: Vec<(String, i32, u64)>,
    /// The failure that left nothing to go on with: in words, and its number.
    pub fatal: Option<(String, i32)>,
    /// Operations given up without a result.
    pub abandoned: u64,
}

/// Why the loop ends; `Ok` goes on.
type Flow = Result<(), StoppedBy>;

/// Outcome of one operation, for the group around it.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    latency_ns: u64,
    bytes: u64,
    failed: bool,
}

impl<B: Backend> Worker<B> {
    /// A worker with its files open.
    pub fn new(
        backend: B,
        clock: Clock,
        job: Arc<JobShared>,
        stats: Arc<WorkerStats>,
        opened: Vec<Vec<OpenFile>>,
        fill: ContentFill,
        walker: Walker,
    ) -> crate::error::Result<Self> {
        let mut states: Vec<OpState> =
            (0..job.program.operations).map(|_| OpState { walks: Vec::new(), file: usize::MAX }).collect();
        prepare_walks(&job.program.nodes, &opened, walker, &mut states)?;
        let slots = vec![None; job.program.slots];
        Ok(Self {
            backend,
            clock,
            rng: fastrand::Rng::with_seed(walker.seed),
            fill,
            generation: u64::from(walker.worker) << 40,
            opened,
            slots,
            states,
            path: PathBuffer::new(),
            limits: LocalLimits::default(),
            walker,
            last_ns: 0,
            failures_in_a_row: 0,
            errors: HashMap::new(),
            fatal: None,
            job,
            stats,
        })
    }

    /// Run from `start_ns` to a stop.
    pub fn run(&mut self, start_ns: u64, queue_depth: u32) -> Ended {
        let job = Arc::clone(&self.job);
        self.limits.begin(start_ns, &job.limits);
        self.last_ns = self.clock.now_ns();
        let flow = if queue_depth > 1 {
            self.run_queue(&job.program.nodes, queue_depth as usize)
        } else {
            self.run_loop(&job.program.nodes)
        };
        let stopped_by = flow.expect_err("the loop goes on until something ends it");
        self.close_slots();
        let errors = std::mem::take(&mut self.errors);
        Ended {
            stopped_by,
            errors: errors.into_iter().map(|((state, errno), n)| (self.name_of(state), errno, n)).collect(),
            fatal: self.fatal.take(),
            abandoned: self.stats.started.get() - self.stats.completed.get() - self.stats.failed.get(),
        }
    }

    fn name_of(&self, state: usize) -> String {
        fn find(nodes: &[Node], state: usize) -> Option<String> {
            nodes.iter().find_map(|node| match node {
                Node::Op(op) => (op.state == state).then(|| op.name.clone()),
                Node::Group { nodes, .. } | Node::Repeat { nodes, .. } => find(nodes, state),
                Node::Choice { branches, .. } => branches.iter().find_map(|nodes| find(nodes, state)),
            })
        }
        find(&self.job.program.nodes, state).unwrap_or_default()
    }

    // -- one operation at a time ---------------------------------------------------------------------------------------

    fn run_loop(&mut self, nodes: &[Node]) -> Flow {
        loop {
            for node in nodes {
                self.check()?;
                self.node(node)?;
            }
            self.limits.pass(&self.job.limits)?;
        }
    }

    /// Whether to go on, from the time of the latest completion.
    #[inline]
    fn check(&self) -> Flow {
        if self.job.stop.load(Relaxed) {
            return Err(StoppedBy::Control);
        }
        self.limits.check_time(self.last_ns)
    }

    fn node(&mut self, node: &Node) -> Result<Sum, StoppedBy> {
        match node {
            Node::Op(op) => self.op(op),
            Node::Group { series, counts, nodes } => self.group(*series, *counts, nodes),
            Node::Choice { cumulative, branches } => {
                let draw = self.rng.f64();
                let branch = cumulative.iter().position(|&end| draw < end).unwrap_or(branches.len() - 1);
                self.all(&branches[branch], true)
            }
            Node::Repeat { times, nodes } => {
                let mut sum = Sum::default();
                for _ in 0..*times {
                    self.check()?;
                    sum.add(self.all(nodes, true)?);
                }
                Ok(sum)
            }
        }
    }

    fn all(&mut self, nodes: &[Node], go_on_after_failure: bool) -> Result<Sum, StoppedBy> {
        let mut sum = Sum::default();
        for node in nodes {
            sum.add(self.node(node)?);
            if sum.failed && !go_on_after_failure {
                break;
            }
        }
        Ok(sum)
    }

    fn group(&mut self, series: Option<usize>, counts: bool, nodes: &[Node]) -> Result<Sum, StoppedBy> {
        if counts {
            self.limits.admit(&self.job.limits)?;
        }
        let sum = self.all(nodes, false)?;
        self.record(series, counts, sum);
        Ok(sum)
    }

    fn op(&mut self, op: &OpNode) -> Result<Sum, StoppedBy> {
        if op.counts {
            self.limits.admit(&self.job.limits)?;
        }
        let done = match op.kind {
            OpKind::Read | OpKind::Write | OpKind::Fsync | OpKind::Fdatasync => self.data(op)?,
            OpKind::Create | OpKind::Open => self.open(op)?,
            OpKind::Close => self.close(op)?,
            OpKind::Stat => self.stat(op)?,
            OpKind::Fstat => self.fstat(op)?,
            OpKind::Unlink => self.unlink(op)?,
            _ => unreachable!("the compiler refuses what is not carried out"),
        };
        self.account(op, done)
    }

    /// Count one finished operation. `result`: bytes moved or a negative errno.
    #[inline]
    fn account(&mut self, op: &OpNode, done: Done) -> Result<Sum, StoppedBy> {
        let stats = &self.stats;
        stats.started.add(1);
        if stats.first_op_ns.get() == NEVER {
            stats.first_op_ns.set(done.issued_ns);
        }
        stats.last_op_ns.set(self.last_ns);
        if done.result < 0 {
            return self.account_failure(op, -done.result as i32);
        }
        stats.completed.add(1);
        self.failures_in_a_row = 0;
        let sum = Sum { latency_ns: self.last_ns - done.issued_ns, bytes: done.result as u64, failed: false };
        self.record(op.series, op.counts, sum);
        Ok(sum)
    }

    #[cold]
    fn account_failure(&mut self, op: &OpNode, errno: i32) -> Result<Sum, StoppedBy> {
        self.stats.failed.add(1);
        *self.errors.entry((op.state, errno)).or_insert(0) += 1;
        self.failures_in_a_row += 1;
        let sum = Sum { failed: true, ..Sum::default() };
        self.record(op.series, op.counts, sum);
        let lost = matches!(errno, libc::ENOSPC | libc::EDQUOT | libc::EROFS | libc::ENODEV);
        if lost || self.failures_in_a_row >= HOPELESS {
            self.fatal = Some((op.name.clone(), errno));
            return Err(StoppedBy::Error);
        }
        Ok(sum)
    }

    #[inline]
    fn record(&mut self, series: Option<usize>, counts: bool, sum: Sum) {
        let Some(series) = series else { return };
        let into = &self.stats.series[series];
        if sum.failed {
            into.errors.add(1);
            return;
        }
        into.latency.record(sum.latency_ns);
        into.bytes.add(sum.bytes);
        if counts {
            self.stats.ops.add(1);
            self.stats.bytes.add(sum.bytes);
        }
    }

    /// Time one call that returns bytes or a negative errno.
    #[inline]
    fn timed(&mut self, call: impl FnOnce(&mut Self) -> i64) -> Done {
        let issued_ns = self.clock.now_ns();
        let result = call(self);
        self.last_ns = self.clock.now_ns();
        Done { issued_ns, result }
    }

    fn data(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        if let (Access::Whole { chunk_bytes }, OpKind::Read | OpKind::Write) = (&op.access, op.kind) {
            return self.whole(op, *chunk_bytes);
        }
        let (request, file_index) = self.request(op)?;
        self.stats.submissions.add(1);
        self.stats.depth_sum.add(1);
        let done = if op.kind == OpKind::Read {
            let issued_ns = self.last_ns;
            let result = self.backend.execute(request);
            self.last_ns = self.clock.now_ns();
            Done { issued_ns, result }
        } else {
            self.prepare_content(0, request, file_index);
            self.timed(|worker| worker.backend.execute(request))
        };
        if done.result >= 0 && (done.result as usize) < request.length {
            self.stats.short_transfers.add(1);
        }
        Ok(done)
    }

    /// Fill the buffer of a write.
    #[inline]
    fn prepare_content(&mut self, slot: usize, request: Request, file_index: u64) {
        if request.kind == RequestKind::Write {
            self.generation += 1;
            let buffer = self.backend.buffer(slot, request.length);
            self.fill.fill(buffer, file_index, request.offset, self.generation);
        }
    }

    /// The next request of an operation, and the index of its file.
    #[inline]
    fn request(&mut self, op: &OpNode) -> Result<(Request, u64), StoppedBy> {
        let kind = match op.kind {
            OpKind::Read => RequestKind::Read,
            OpKind::Write => RequestKind::Write,
            OpKind::Fsync => RequestKind::Fsync,
            _ => RequestKind::Fdatasync,
        };
        let flush = matches!(kind, RequestKind::Fsync | RequestKind::Fdatasync);
        let size = if flush { 0 } else { op.size.sample_u64(&mut self.rng) };
        let (fd, file_index, offset, length) = match &op.file {
            FileSource::Slot(slot) => {
                let Some(file) = &mut self.slots[*slot] else { return Err(self.empty_slot(op)) };
                let offset = file.at;
                file.at += size;
                (file.fd, file.index, offset, size)
            }
            FileSource::Opened { opened, pick } => {
                let (file, offset, length) = self.place(op, *opened, pick, size, flush)?;
                (file.fd, file.index, offset, length)
            }
            FileSource::Named { .. } => unreachable!("data operations work on open files"),
        };
        self.limits.admit_bytes(&self.job.limits, length)?;
        Ok((Request { fd, kind, offset, length: length as usize, dsync: op.dsync }, file_index))
    }

    #[cold]
    fn empty_slot(&mut self, op: &OpNode) -> StoppedBy {
        self.fatal = Some((format!("{} (its slot holds no file: create or open comes first)", op.name), libc::EBADF));
        StoppedBy::Error
    }

    /// File, offset and length of an operation on opened files.
    #[inline]
    fn place(
        &mut self,
        op: &OpNode,
        opened: usize,
        pick: &Pick,
        size: u64,
        flush: bool,
    ) -> Result<(OpenFile, u64, u64), StoppedBy> {
        let files = &self.opened[opened];
        let state = &mut self.states[op.state];
        let sequential = matches!(op.access, Access::Sequential { .. } | Access::Backward { .. } | Access::Stride { .. });
        let next = &self.job.next_file[op.state];
        loop {
            match pick {
                Pick::Random { .. } => state.file = self.rng.usize(..files.len()),
                Pick::Next {} if state.file == usize::MAX || !sequential => {
                    let turn = next.fetch_add(1, Relaxed) as usize;
                    if sequential && turn >= files.len() && !wraps(&op.access) {
                        return Err(StoppedBy::Exhausted);
                    }
                    state.file = turn % files.len();
                }
                Pick::Own {} => state.file = 0,
                _ => {}
            }
            let file = files[state.file];
            if flush {
                return Ok((file, 0, 0));
            }
            let walk = state.walks[state.file].as_mut().expect("every opened file has a walk");
            if let Some((offset, length)) = walk.next(size, &mut self.rng) {
                return Ok((file, offset, length));
            }
            if *pick != (Pick::Next {}) || !sequential || file.bytes < size.min(1) {
                return Err(StoppedBy::Exhausted);
            }
            walk.rewind();
            state.file = usize::MAX;
        }
    }

    /// A whole file in pieces, as one operation.
    fn whole(&mut self, op: &OpNode, chunk_bytes: u64) -> Result<Done, StoppedBy> {
        let (fd, file_index, bytes) = match &op.file {
            FileSource::Slot(slot) => {
                let Some(file) = self.slots[*slot] else { return Err(self.empty_slot(op)) };
                (file.fd, file.index, self.job.sets[file.set].size_of(file.index))
            }
            FileSource::Opened { opened, pick } => {
                let (file, _, _) = self.place(op, *opened, pick, 0, true)?;
                (file.fd, file.index, file.bytes)
            }
            FileSource::Named { .. } => unreachable!("data operations work on open files"),
        };
        let piece = if chunk_bytes > 0 { chunk_bytes } else { op.size.sample_u64(&mut self.rng).max(1) };
        self.limits.admit_bytes(&self.job.limits, bytes)?;
        let kind = if op.kind == OpKind::Read { RequestKind::Read } else { RequestKind::Write };
        let (mut at, mut latency_ns) = (0, 0);
        while at < bytes {
            let length = piece.min(bytes - at) as usize;
            let request = Request { fd, kind, offset: at, length, dsync: op.dsync };
            self.prepare_content(0, request, file_index);
            let done = self.timed(|worker| worker.backend.execute(request));
            if done.result < 0 {
                return Ok(done);
            }
            latency_ns += self.last_ns - done.issued_ns;
            at += done.result as u64;
            if done.result == 0 {
                self.stats.short_transfers.add(1);
                break;
            }
        }
        // Latency without the time that making the content took.
        Ok(Done { issued_ns: self.last_ns.max(latency_ns) - latency_ns, result: at as i64 })
    }

    // -- names ---------------------------------------------------------------------------------------------------------

    /// Index of the file that a named operation works on, with its path in `self.path`.
    fn named(&mut self, op: &OpNode) -> Result<(usize, u64, Option<usize>), StoppedBy> {
        let FileSource::Named { set, pick, slot } = &op.file else {
            unreachable!("operations by name have a set");
        };
        let state = &self.job.sets[*set];
        let existing = state.existing();
        let count = existing.end - existing.start;
        let index = match pick {
            Pick::New {} => state.take_new(),
            Pick::Existing {} if op.kind == OpKind::Unlink => state.take_existing(),
            _ if count == 0 => None,
            Pick::Random { .. } => Some(existing.start + self.rng.u64(..count)),
            Pick::Own {} => Some(existing.start + u64::from(self.walker.worker) % count),
            _ => Some(existing.start + self.job.next_file[op.state].fetch_add(1, Relaxed) % count),
        };
        let index = index.ok_or(StoppedBy::Exhausted)?;
        state.path_into(index, &mut self.path);
        Ok((*set, index, *slot))
    }

    fn open(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        let (set, index, slot) = self.named(op)?;
        if let Some(file) = slot.and_then(|slot| self.slots[slot].take()) {
            close_fd(file.fd);
        }
        let create = if op.kind == OpKind::Create { libc::O_CREAT | libc::O_EXCL } else { 0 };
        let flags = self.job.open_flags | create;
        let done = self.timed(|worker| {
            // SAFETY: the path is NUL-terminated and lives across the call.
            let fd = unsafe { libc::open(worker.path.as_cstr().as_ptr(), flags, 0o644) };
            if fd >= 0 && slot.is_none() {
                close_fd(fd);
            }
            or_errno(fd)
        });
        if let (Some(slot), 0..) = (slot, done.result) {
            self.slots[slot] = Some(SlotFile { fd: done.result as RawFd, set, index, at: 0 });
        }
        Ok(done.without_bytes())
    }

    fn close(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        let FileSource::Slot(slot) = op.file else { unreachable!("close takes a slot") };
        let Some(file) = self.slots[slot].take() else { return Err(self.empty_slot(op)) };
        // SAFETY: the descriptor was opened by this worker and taken out of its slot: nobody uses it again.
        Ok(self.timed(|_| or_errno(unsafe { libc::close(file.fd) })))
    }

    fn stat(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        self.named(op)?;
        let mut attributes = std::mem::MaybeUninit::<libc::stat>::uninit();
        Ok(self.timed(|worker| {
            // SAFETY: the path is NUL-terminated; `attributes` has room for the answer.
            or_errno(unsafe { libc::stat(worker.path.as_cstr().as_ptr(), attributes.as_mut_ptr()) })
        }))
    }

    fn fstat(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        let fd = match &op.file {
            FileSource::Slot(slot) => match self.slots[*slot] {
                Some(file) => file.fd,
                None => return Err(self.empty_slot(op)),
            },
            FileSource::Opened { opened, pick } => self.place(op, *opened, pick, 0, true)?.0.fd,
            FileSource::Named { .. } => unreachable!("fstat works on open files"),
        };
        let mut attributes = std::mem::MaybeUninit::<libc::stat>::uninit();
        // SAFETY: `attributes` has room for the answer.
        Ok(self.timed(|_| or_errno(unsafe { libc::fstat(fd, attributes.as_mut_ptr()) })))
    }

    fn unlink(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        self.named(op)?;
        // SAFETY: the path is NUL-terminated.
        Ok(self.timed(|worker| or_errno(unsafe { libc::unlink(worker.path.as_cstr().as_ptr()) })))
    }

    fn close_slots(&mut self) {
        for slot in &mut self.slots {
            if let Some(file) = slot.take() {
                close_fd(file.fd);
            }
        }
    }

    // -- several in flight ---------------------------------------------------------------------------------------------

    fn run_queue(&mut self, nodes: &[Node], depth: usize) -> Flow {
        let mut free: Vec<usize> = (0..depth).rev().collect();
        let mut done: Vec<Completion> = Vec::with_capacity(depth);
        let mut issued: Vec<Option<(&OpNode, u64, usize)>> = vec![None; depth];
        let mut turn = 0;
        let mut ending: Option<StoppedBy> = None;
        loop {
            while ending.is_none() && !free.is_empty() {
                match self.queue_one(nodes, &mut turn, &mut free, &mut issued) {
                    Ok(()) => {}
                    Err(reason) => ending = Some(reason),
                }
            }
            if free.len() == depth {
                return Err(ending.expect("an empty queue is refilled until something ends it"));
            }
            let submitted_ns = self.clock.now_ns();
            for slot in issued.iter_mut().flatten().filter(|slot| slot.1 == NEVER) {
                slot.1 = submitted_ns;
                self.stats.submissions.add(1);
                self.stats.depth_sum.add((depth - free.len()) as u64);
            }
            if let Err(error) = self.backend.complete(&mut done) {
                self.fatal = Some(("io_uring_enter".to_owned(), error.raw_os_error().unwrap_or(libc::EIO)));
                return Err(StoppedBy::Error);
            }
            self.last_ns = self.clock.now_ns();
            self.stats.reaps.add(1);
            for completion in done.drain(..) {
                let (op, issued_ns, length) = issued[completion.slot].take().expect("only what was issued completes");
                free.push(completion.slot);
                if completion.result >= 0 && (completion.result as usize) < length {
                    self.stats.short_transfers.add(1);
                }
                if let Err(reason) = self.account(op, Done { issued_ns, result: completion.result }) {
                    ending.get_or_insert(reason);
                }
            }
            if let Err(reason) = self.check() {
                ending.get_or_insert(reason);
            }
        }
    }

    /// Put one more request into the queue.
    fn queue_one<'a>(
        &mut self,
        nodes: &'a [Node],
        turn: &mut usize,
        free: &mut Vec<usize>,
        issued: &mut [Option<(&'a OpNode, u64, usize)>],
    ) -> Flow {
        if *turn == nodes.len() {
            *turn = 0;
            self.limits.pass(&self.job.limits)?;
        }
        let op = match &nodes[*turn] {
            Node::Op(op) => op,
            Node::Choice { cumulative, branches } => {
                let draw = self.rng.f64();
                let branch = cumulative.iter().position(|&end| draw < end).unwrap_or(branches.len() - 1);
                let [Node::Op(op)] = &branches[branch][..] else {
                    unreachable!("the compiler lets only single operations into the branches of a queued choice")
                };
                op
            }
            Node::Group { .. } | Node::Repeat { .. } => unreachable!("the compiler refuses these with a queue"),
        };
        *turn += 1;
        if op.counts {
            self.limits.admit(&self.job.limits)?;
        }
        let (request, file_index) = self.request(op)?;
        let slot = free.pop().expect("asked only while a slot is free");
        self.prepare_content(slot, request, file_index);
        self.backend.submit(slot, request);
        issued[slot] = Some((op, NEVER, request.length));
        Ok(())
    }
}

/// One finished call: when it was issued, and bytes moved or a negative errno. Its end is the worker's `last_ns`.
#[derive(Debug, Clone, Copy)]
struct Done {
    issued_ns: u64,
    result: i64,
}

impl Done {
    fn without_bytes(self) -> Self {
        Self { result: self.result.min(0), ..self }
    }
}

impl Sum {
    fn add(&mut self, other: Self) {
        self.latency_ns += other.latency_ns;
        self.bytes += other.bytes;
        self.failed |= other.failed;
    }
}

fn wraps(access: &Access) -> bool {
    matches!(
        access,
        Access::Sequential { wrap: true, .. } | Access::Backward { wrap: true, .. } | Access::Stride { wrap: true, .. }
    )
}

fn or_errno(result: i32) -> i64 {
    if result < 0 {
        -i64::from(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO))
    } else {
        i64::from(result)
    }
}

fn close_fd(fd: RawFd) {
    // SAFETY: the caller took the descriptor out of the one place that held it.
    unsafe { libc::close(fd) };
}

/// Make the walks of every operation over opened files.
fn prepare_walks(
    nodes: &[Node],
    opened: &[Vec<OpenFile>],
    walker: Walker,
    states: &mut [OpState],
) -> crate::error::Result<()> {
    for node in nodes {
        match node {
            Node::Op(op) => {
                if let FileSource::Opened { opened: position, pick } = &op.file {
                    let access = single_pass(&op.access, pick);
                    let walker = Walker { seed: walker.seed ^ (op.state as u64 + 1).wrapping_mul(0x9e37_79b9), ..walker };
                    states[op.state].walks = opened[*position]
                        .iter()
                        .map(|file| Offsets::new(&access, file.bytes, op.size.is_fixed(), walker).map(Some))
                        .collect::<crate::error::Result<_>>()?;
                }
            }
            Node::Group { nodes, .. } | Node::Repeat { nodes, .. } => prepare_walks(nodes, opened, walker, states)?,
            Node::Choice { branches, .. } => {
                for nodes in branches {
                    prepare_walks(nodes, opened, walker, states)?;
                }
            }
        }
    }
    Ok(())
}

/// With pick 'next' a walk is one pass; the next file follows it.
fn single_pass(access: &Access, pick: &Pick) -> Access {
    let mut access = access.clone();
    if *pick == (Pick::Next {}) {
        if let Access::Sequential { wrap, .. } | Access::Backward { wrap, .. } | Access::Stride { wrap, .. } = &mut access
        {
            *wrap = false;
        }
    }
    access
}
