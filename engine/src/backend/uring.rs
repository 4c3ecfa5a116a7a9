//! io_uring: a queue of requests a worker, submitted and reaped in batches.
//!
//! The ring belongs to the thread that makes it (SINGLE_ISSUER), and completions are worked off when that thread asks for
//! them (DEFER_TASKRUN), which spares interrupts of the worker. Kernels before 6.1 have neither; there the ring is made
//! without. Files that stay open and the buffers are registered, which spares a look-up and the pinning of pages for
//! each request; where the kernel refuses that, requests go without and the report says so. The ring is registered, too, which
//! spares a look-up of each call.

use super::by_handle::ByHandle;
use super::kernel::OverKernel;
use super::pieces::Pieces;
use super::punts::PuntCounter;
use super::ring::Ring;
use super::store::Handle;
use super::{Backend, Completion, Note, QueuedBackend, Report, Request, RequestKind, Wait};
use crate::buffer::{BufferSize, Buffers};
use crate::sys::limits::limit_of;
use crate::warning_id::WarningId;
use io_uring::{IoUring, opcode, squeue, types};
use std::io;
use std::os::fd::RawFd;
use std::time::{Duration, Instant};

/// Milliseconds that the polling thread of the kernel goes on without work before it sleeps.
const SQPOLL_IDLE_MS: u32 = 50;
/// IORING_ENTER_GETEVENTS.
const GET_EVENTS: u32 = 1;
/// Requests in flight that a ring with a polling thread has room for: its queue holds twice as many, and the kernel's longest
/// has 32,768 (IORING_MAX_ENTRIES).
pub const MOST_POLLED: u32 = 16_384;
/// Buffers that the kernel registers (IORING_MAX_REG_BUFFERS).
const MOST_BUFFERS: usize = 16_384;
/// Between two looks where some of several completions are there, and the kernel cannot wait for the rest and a time.
const SHORT_NAP: Duration = Duration::from_micros(50);
const LONGEST_POLL: Duration = Duration::from_millis(10);

/// What a ring is made for.
#[derive(Debug, Clone, Copy)]
pub struct UringOptions {
    /// Requests in flight.
    pub depth: u32,
    /// Its buffers, as long as the longest transfer.
    pub buffer_size: BufferSize,
    /// Most pieces of a vectored request.
    pub most_pieces: u32,
    /// Whether a thread of the kernel polls for submissions.
    pub sqpoll: bool,
    /// CPU of that thread; None: the kernel chooses.
    pub sqpoll_cpu: Option<u32>,
    /// Whether completions are polled for.
    pub iopoll: bool,
}

/// One ring and the buffers that its requests work on.
pub struct Uring {
    ring: Ring,
    buffers: Buffers,
    pieces: Pieces,
    /// Index of registered files.
    files: ByHandle<u32>,
    has_registered_buffers: bool,
    /// Whether the kernel can wait for completions or a time, whichever comes first: since Linux 5.11.
    has_timed_waits: bool,
    /// Whether completions come only to who asks the device for them.
    is_iopoll: bool,
    /// By slot: its latest request as the kernel reads it.
    entries: Vec<squeue::Entry>,
    /// Slots that the kernel is to see with the next `hand_over` or `complete` and no sooner: a polling thread of the kernel would
    /// start on them before their clock does.
    queued: Vec<u32>,
    in_flight: usize,
    /// The kernel's error when it could not be entered. Requests that it may have seen still own their slots, and could
    /// come back at any time: nothing else is taken to it from then on.
    broken: Option<i32>,
    punts: Option<PuntCounter>,
    features: Vec<String>,
    notes: Vec<Note>,
}

/// Where the file's offset lies in an `io_uring_sqe`, in bytes: part of the kernel's interface.
const SQE_OFFSET: usize = 8;
const _: () = assert!(size_of::<squeue::Entry>() == 64);

impl Uring {
    /// A ring of the calling thread.
    pub fn new(options: UringOptions) -> io::Result<Self> {
        let (ring, how) = build(options)?;
        let has_timed_waits = ring.params().is_feature_ext_arg();
        let mut ring = Ring::new(ring);
        let punts = PuntCounter::open(ring.descriptor, options.sqpoll);
        let depth = options.depth as usize;
        let buffers = Buffers::new(depth, options.buffer_size)?;
        let mut notes: Vec<Note> = how.note().into_iter().collect();
        let mut features: Vec<String> = how.features().iter().copied().map(str::to_owned).collect();
        features.extend(options.sqpoll_cpu.map(|cpu| format!("SQ_AFF to CPU {cpu}")));
        features.extend(options.iopoll.then(|| "IOPOLL".to_owned()));
        // Before Linux 5.18 there is no such number; each call then goes by the descriptor.
        features.extend(ring.submitter.register_ring_fd().is_ok().then(|| "registered ring".to_owned()));
        // SAFETY: the buffers live as long as the ring: `Drop` frees neither before every request has come back.
        let registered = unsafe { ring.submitter.register_buffers(&buffers.as_iovecs()) };
        match &registered {
            Ok(()) => features.push("registered buffers".to_owned()),
            Err(error) => notes.push(buffers_refused(error, depth, buffers.slot_bytes())),
        }
        Ok(Self {
            is_iopoll: options.iopoll,
            has_timed_waits,
            ring,
            buffers,
            pieces: Pieces::new(depth, options.most_pieces),
            files: ByHandle::default(),
            has_registered_buffers: registered.is_ok(),
            entries: vec![opcode::Nop::new().build(); depth],
            queued: Vec::with_capacity(depth),
            in_flight: 0,
            broken: None,
            punts,
            features,
            notes,
        })
    }

    /// As on a kernel before Linux 5.11.
    #[cfg(test)]
    pub(super) fn forget_timed_waits(&mut self) {
        self.has_timed_waits = false;
    }

    /// As if the kernel had refused to register the buffers.
    #[cfg(test)]
    pub(super) fn forget_registered_buffers(&mut self) {
        self.has_registered_buffers = false;
    }

    /// As on a kernel before Linux 5.18.
    #[cfg(test)]
    pub(super) fn forget_registered_ring(&mut self) {
        let _ = self.ring.submitter.unregister_ring_fd();
    }

    /// The ring's descriptor.
    #[cfg(test)]
    pub(super) fn descriptor(&self) -> RawFd {
        self.ring.descriptor
    }

    #[inline(never)]
    fn entry(&mut self, slot: usize, request: Request) -> squeue::Entry {
        let (file, flags) = match self.files.get(request.file) {
            Some(&index) => (types::Fd(index as RawFd), squeue::Flags::FIXED_FILE),
            None => (types::Fd(request.file.0), squeue::Flags::empty()),
        };
        let (address, length) = (self.buffers.address(slot), request.length as u32);
        let (offset, rw_flags) = (request.offset, request.rw_flags);
        match request.kind {
            RequestKind::Read | RequestKind::Write if request.vectors > 1 => self.vectored(slot, file, request),
            RequestKind::Read if self.has_registered_buffers => {
                opcode::ReadFixed::new(file, address, length, slot as u16).offset(offset).rw_flags(rw_flags).build()
            }
            RequestKind::Read => opcode::Read::new(file, address, length).offset(offset).rw_flags(rw_flags).build(),
            RequestKind::Write if self.has_registered_buffers => {
                opcode::WriteFixed::new(file, address, length, slot as u16).offset(offset).rw_flags(rw_flags).build()
            }
            RequestKind::Write => opcode::Write::new(file, address, length).offset(offset).rw_flags(rw_flags).build(),
            RequestKind::Fsync => opcode::Fsync::new(file).build(),
            RequestKind::Fdatasync => opcode::Fsync::new(file).flags(types::FsyncFlags::DATASYNC).build(),
        }
        .flags(flags)
        .user_data(slot as u64)
    }

    #[cold]
    fn vectored(&mut self, slot: usize, file: types::Fd, request: Request) -> squeue::Entry {
        let pieces = self.pieces.cut(slot, self.buffers.address(slot), request.length, request.vectors);
        let (address, count) = (pieces.as_ptr(), pieces.len() as u32);
        let (offset, rw_flags) = (request.offset, request.rw_flags);
        if request.kind == RequestKind::Read {
            opcode::Readv::new(file, address, count).offset(offset).rw_flags(rw_flags).build()
        } else {
            opcode::Writev::new(file, address, count).offset(offset).rw_flags(rw_flags).build()
        }
    }

    /// Put the queue where the kernel will see it.
    #[inline]
    fn push(&mut self) -> io::Result<()> {
        if let Some(errno) = self.broken {
            self.queued.clear();
            return Err(io::Error::from_raw_os_error(errno));
        }
        let ring = &mut self.ring.submission;
        // The kernel has taken entries since.
        ring.sync();
        for &slot in &self.queued {
            // SAFETY: the entries point into `self.buffers` and `self.pieces`, which `Drop` frees only after every request
            // in flight has come back; slots are taken one request at a time.
            let pushed = unsafe { ring.push(&self.entries[slot as usize]) };
            pushed.expect("the ring has room for a request of every slot");
        }
        ring.sync();
        self.in_flight += self.queued.len();
        self.queued.clear();
        Ok(())
    }

    #[cold]
    fn break_off(&mut self, error: io::Error) -> io::Error {
        self.broken = Some(error.raw_os_error().unwrap_or(libc::EIO));
        error
    }

    /// Completions that are there.
    #[inline]
    fn completions(&mut self) -> usize {
        self.ring.completion.sync();
        self.ring.completion.len()
    }

    /// Take the completions that are there, up to `at_most`.
    #[inline]
    fn reap(&mut self, done: &mut Vec<Completion>, at_most: usize) {
        let ring = &mut self.ring.completion;
        ring.sync();
        let count = ring.len().min(at_most);
        done.reserve(count);
        for (place, entry) in done.spare_capacity_mut()[..count].iter_mut().zip(&mut *ring) {
            place.write(Completion { slot: entry.user_data() as usize, result: i64::from(entry.result()) });
        }
        // SAFETY: room for `count` was made, and as many were written: the ring had them when it was asked.
        unsafe { done.set_len(done.len() + count) };
        ring.sync();
        self.in_flight -= count;
    }

    /// Show the queue to the kernel and wait for `at_least` completions.
    #[inline]
    fn enter(&mut self, at_least: usize) -> io::Result<()> {
        self.push()?;
        loop {
            match self.ring.submitter.submit_and_wait(at_least) {
                Ok(_) => {}
                Err(error) if can_try_again(&error) => {}
                Err(error) => return Err(self.break_off(error)),
            }
            if self.completions() >= at_least {
                return Ok(());
            }
        }
    }

    /// As [`Uring::enter`], but come back with fewer once the time is over.
    fn enter_within(&mut self, at_least: usize, time: Duration) -> io::Result<()> {
        if !self.has_timed_waits {
            return self.enter_and_poll(at_least, time);
        }
        self.push()?;
        let timeout = types::Timespec::from(time);
        match self.ring.submitter.submit_with_args(at_least, &types::SubmitArgs::new().timespec(&timeout)) {
            Ok(_) => Ok(()),
            Err(error) if error.raw_os_error() == Some(libc::ETIME) || can_try_again(&error) => Ok(()),
            Err(error) => Err(self.break_off(error)),
        }
    }
}

impl Uring {
    /// Enter the kernel and wait for nothing: a ring that defers its work has no completions before that.
    fn get_events(&mut self) -> io::Result<()> {
        // SAFETY: no memory is passed.
        match unsafe { self.ring.submitter.enter::<libc::sigset_t>(0, 0, GET_EVENTS, None) } {
            Ok(_) => Ok(()),
            Err(error) if can_try_again(&error) => Ok(()),
            Err(error) => Err(self.break_off(error)),
        }
    }

    /// As [`Uring::enter_within`], where the kernel cannot wait for a time: a ring can be polled, which waits for the first.
    #[cold]
    fn enter_and_poll(&mut self, at_least: usize, time: Duration) -> io::Result<()> {
        let end = Instant::now() + time;
        self.hand_over()?;
        loop {
            self.get_events()?;
            let (there, left) = (self.completions(), end.saturating_duration_since(Instant::now()));
            if there >= at_least || left.is_zero() {
                return Ok(());
            }
            if self.is_iopoll {
                continue;
            }
            if there > 0 {
                std::thread::sleep(left.min(SHORT_NAP));
                continue;
            }
            let mut ring = libc::pollfd { fd: self.ring.descriptor, events: libc::POLLIN, revents: 0 };
            // Not for long: a ring that defers its work may not wake who polls it.
            let nap = left.min(LONGEST_POLL);
            let timeout = libc::timespec { tv_sec: nap.as_secs() as i64, tv_nsec: i64::from(nap.subsec_nanos()) };
            // SAFETY: both live until the call is over; no signal mask is passed.
            if unsafe { libc::ppoll(&raw mut ring, 1, &raw const timeout, std::ptr::null()) } < 0 {
                let error = io::Error::last_os_error();
                if !can_try_again(&error) {
                    return Err(self.break_off(error));
                }
            }
        }
    }
}

impl OverKernel for Uring {}

impl Backend for Uring {
    const NAME: &'static str = "io_uring";

    fn buffer(&mut self, slot: usize, length: usize) -> &mut [u8] {
        self.buffers.slot(slot, length)
    }

    fn execute(&mut self, request: Request) -> i64 {
        self.submit(0, request);
        if let Err(error) = self.enter(1) {
            return -i64::from(error.raw_os_error().unwrap_or(libc::EIO));
        }
        self.in_flight -= 1;
        let next = self.ring.completion.next();
        self.ring.completion.sync();
        next.map_or(-i64::from(libc::EIO), |entry| i64::from(entry.result()))
    }

    fn hold(&mut self, files: &[Handle]) -> io::Result<()> {
        if files.is_empty() {
            return Ok(());
        }
        let descriptors: Vec<RawFd> = files.iter().map(|file| file.0).collect();
        match self.ring.submitter.register_files(&descriptors) {
            Ok(()) => {
                (0..).zip(files).for_each(|(index, &file)| self.files.insert(file, index));
                self.features.push("registered files".to_owned());
            }
            Err(error) => self.notes.push(Note::new(
                WarningId::IoUringFilesPlain,
                format!("io_uring could not register {} files ({error}); it looked each up anew", files.len()),
            )),
        }
        Ok(())
    }

    fn report(&mut self) -> Report {
        Report {
            punted: self.punts.as_ref().and_then(PuntCounter::read),
            features: std::mem::take(&mut self.features),
            notes: std::mem::take(&mut self.notes),
            ..Report::default()
        }
    }
}

impl QueuedBackend for Uring {
    #[inline]
    fn submit(&mut self, slot: usize, request: Request) {
        self.entries[slot] = self.entry(slot, request);
        self.queued.push(slot as u32);
    }

    #[inline]
    fn submit_again(&mut self, slot: usize, request: Request) {
        let entry = (&raw mut self.entries[slot]).cast::<u8>();
        // SAFETY: the offset lies inside the 64 bytes of an entry, which is aligned to 8, and is a plain integer.
        unsafe { entry.add(SQE_OFFSET).cast::<u64>().write(request.offset) };
        self.queued.push(slot as u32);
    }

    #[inline]
    fn hand_over(&mut self) -> io::Result<()> {
        self.push()?;
        match self.ring.submitter.submit() {
            Ok(_) => Ok(()),
            // They lie in the ring, and go with the next call.
            Err(error) if can_try_again(&error) => Ok(()),
            Err(error) => Err(self.break_off(error)),
        }
    }

    #[inline]
    fn complete(&mut self, done: &mut Vec<Completion>, wait: Wait) -> io::Result<()> {
        match wait.within {
            None => self.enter(wait.at_least)?,
            Some(time) => self.enter_within(wait.at_least, time)?,
        }
        self.reap(done, wait.at_most);
        Ok(())
    }

    fn look(&mut self, done: &mut Vec<Completion>, at_most: usize) -> io::Result<()> {
        if self.completions() == 0 {
            self.get_events()?;
        }
        self.reap(done, at_most);
        Ok(())
    }
}

/// Whether the kernel was called away, or has no room until completions are taken.
fn can_try_again(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::EBUSY))
}

/// How a ring hands completions over. Each kernel has the ones before the one that it is the first to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Handing {
    /// When the worker asks for them: Linux 6.1.
    Deferred,
    /// When the worker enters the kernel for whatever: Linux 5.19.
    Cooperative,
    /// At once, which interrupts the worker.
    Interrupting,
    /// A thread of the kernel submits, and so does not interrupt the worker.
    Polled,
}

impl Handing {
    /// Of its IORING_SETUP_ flags.
    fn features(self) -> &'static [&'static str] {
        match self {
            Self::Deferred => &["SINGLE_ISSUER", "DEFER_TASKRUN"],
            Self::Cooperative => &["COOP_TASKRUN"],
            Self::Interrupting => &[],
            Self::Polled => &["SQPOLL"],
        }
    }

    fn note(self) -> Option<Note> {
        let how = match self {
            Self::Deferred | Self::Polled => return None,
            Self::Cooperative => "with each of the worker's calls (IORING_SETUP_COOP_TASKRUN)",
            Self::Interrupting => "at once, which interrupts the worker",
        };
        let text = format!(
            "this kernel has no deferred completions (IORING_SETUP_DEFER_TASKRUN): io_uring hands them over {how}"
        );
        Some(Note::new(WarningId::IoUringCompletionsPlain, text))
    }
}

/// The ring that costs the worker least of those that the kernel can make.
fn build(options: UringOptions) -> io::Result<(IoUring, Handing)> {
    // A polling thread gives entries back only when it is through with a batch, and completions can come before that: the
    // queue then holds a batch of old entries beside as many new ones.
    let entries = (options.depth * if options.sqpoll { 2 } else { 1 }).next_power_of_two();
    let mut builder = IoUring::builder();
    if options.iopoll {
        builder.setup_iopoll();
    }
    if options.sqpoll {
        if let Some(cpu) = options.sqpoll_cpu {
            builder.setup_sqpoll_cpu(cpu);
        }
        return Ok((builder.setup_sqpoll(SQPOLL_IDLE_MS).build(entries)?, Handing::Polled));
    }
    if let Ok(ring) = builder.clone().setup_single_issuer().setup_defer_taskrun().build(entries) {
        return Ok((ring, Handing::Deferred));
    }
    if let Ok(ring) = builder.clone().setup_coop_taskrun().build(entries) {
        return Ok((ring, Handing::Cooperative));
    }
    Ok((builder.build(entries)?, Handing::Interrupting))
}

fn buffers_refused(error: &io::Error, buffers: usize, each_bytes: usize) -> Note {
    let limit = limit_of(libc::RLIMIT_MEMLOCK).unwrap_or(u64::MAX);
    let why = match error.raw_os_error() {
        _ if buffers > MOST_BUFFERS => format!("queue_depth is {buffers}, and the kernel takes {MOST_BUFFERS}"),
        Some(libc::ENOMEM) => {
            let bytes = buffers * each_bytes;
            format!("a worker's take {bytes} bytes and may lock {limit} (ulimit -l)")
        }
        _ => error.to_string(),
    };
    let text = format!("io_uring could not register its buffers ({why}); it pinned pages for each request");
    Note::new(WarningId::IoUringBuffersPlain, text)
}

impl Drop for Uring {
    fn drop(&mut self) {
        // What the kernel has not seen, it cannot be waiting on.
        self.queued.clear();
        let mut done = Vec::new();
        while self.in_flight > 0 {
            if self.complete(&mut done, Wait { at_least: 1, at_most: usize::MAX, within: None }).is_err() {
                // The kernel may still write into the buffers: leaking them is the only safe way out.
                let unreachable = Buffers::new(1, BufferSize::plain(1)).expect("a page of memory");
                std::mem::forget(std::mem::replace(&mut self.buffers, unreachable));
                std::mem::forget(std::mem::replace(&mut self.pieces, Pieces::new(0, 1)));
                return;
            }
        }
    }
}
