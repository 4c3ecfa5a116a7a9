//! Linux AIO (io_submit(2), io_getevents(2)): what databases and hypervisors used before io_uring.
//!
//! It is asynchronous for O_DIRECT alone: a buffered request is carried out inside io_submit. Flushes are handed to a
//! thread of the kernel (Linux 4.18); where the kernel refuses them they are made in the worker, and the report says so.
//! glibc has no wrappers for these calls, so they go through syscall(2).

use super::kernel::OverKernel;
use super::pieces::Pieces;
use super::{Backend, Completion, Note, QueuedBackend, Report, Request, RequestKind, Wait, last_errno, or_errno};
use crate::buffer::{BufferSize, Buffers};
use crate::warning_id::WarningId;
use std::io;
use std::ptr;
use std::time::Duration;

/// `struct iocb` of linux/aio_abi.h.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Iocb {
    data: u64,
    #[cfg(target_endian = "little")]
    key: u32,
    rw_flags: i32,
    #[cfg(target_endian = "big")]
    key: u32,
    opcode: u16,
    priority: i16,
    fd: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    event_fd: u32,
}

/// `struct io_event` of linux/aio_abi.h.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Event {
    data: u64,
    iocb: u64,
    result: i64,
    result2: i64,
}

const PREAD: u16 = 0;
const PWRITE: u16 = 1;
const FSYNC: u16 = 2;
const FDSYNC: u16 = 3;
const PREADV: u16 = 7;
const PWRITEV: u16 = 8;

/// One context, and the buffers and control blocks that its requests work on.
pub struct Aio {
    context: libc::c_ulong,
    buffers: Buffers,
    pieces: Pieces,
    blocks: Vec<Iocb>,
    /// Slots whose blocks wait for the next io_submit, as the addresses that it takes.
    queued: Vec<*mut Iocb>,
    /// Completions that io_submit itself brought.
    refused: Vec<Completion>,
    events: Vec<Event>,
    in_flight: usize,
    flushes: u64,
    flushes_by_worker: u64,
}

impl Aio {
    /// A context for `depth` requests with buffers of a size, in at most `most_pieces`.
    pub fn new(depth: u32, size: BufferSize, most_pieces: u32) -> io::Result<Self> {
        let mut context: libc::c_ulong = 0;
        // SAFETY: `context` has room for the handle and is 0, as the call asks.
        if unsafe { libc::syscall(libc::SYS_io_setup, libc::c_long::from(depth), &raw mut context) } < 0 {
            return Err(setup_refused(io::Error::last_os_error()));
        }
        let depth = depth as usize;
        let buffers = Buffers::new(depth, size).inspect_err(|_| destroy(context))?;
        Ok(Self {
            context,
            buffers,
            pieces: Pieces::new(depth, most_pieces),
            blocks: vec![Iocb::default(); depth],
            queued: Vec::with_capacity(depth),
            refused: Vec::with_capacity(depth),
            events: vec![Event::default(); depth],
            in_flight: 0,
            flushes: 0,
            flushes_by_worker: 0,
        })
    }

    /// Hand the queue to the kernel, as far as it takes it.
    fn push(&mut self) {
        let mut next = 0;
        while next < self.queued.len() {
            let rest = &mut self.queued[next..];
            // SAFETY: every address is that of a block in `self.blocks`, whose buffers and pieces live in this struct;
            // `Drop` waits for all of them (io_destroy) before any of that is freed.
            let taken = unsafe {
                libc::syscall(libc::SYS_io_submit, self.context, rest.len() as libc::c_long, rest.as_mut_ptr())
            };
            if taken > 0 {
                self.in_flight += taken as usize;
                next += taken as usize;
                continue;
            }
            match last_errno() as i32 {
                libc::EINTR => {}
                // Full: the rest follows when completions have made room.
                libc::EAGAIN if self.in_flight > 0 => break,
                errno => {
                    let block = self.queued[next];
                    self.refuse(block, errno);
                    next += 1;
                }
            }
        }
        self.queued.drain(..next);
    }

    /// A request that io_submit does not take: its completion, at once.
    #[cold]
    fn refuse(&mut self, block: *mut Iocb, errno: i32) {
        // SAFETY: the address of a block of `self.blocks`, which the kernel does not hold.
        let Iocb { data, opcode, fd, .. } = unsafe { *block };
        let result = match (opcode, errno) {
            (FSYNC | FDSYNC, libc::EINVAL) => {
                self.flushes_by_worker += 1;
                // SAFETY: no memory is passed.
                or_errno(unsafe { if opcode == FSYNC { libc::fsync(fd as i32) } else { libc::fdatasync(fd as i32) } }
                    as isize)
            }
            _ => -i64::from(errno),
        };
        self.refused.push(Completion { slot: data as usize, result });
    }

    /// Wait for completions, and take them.
    fn reap(&mut self, done: &mut Vec<Completion>, wait: Wait) -> io::Result<()> {
        let timeout = wait
            .within
            .map(|time| libc::timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) });
        loop {
            // SAFETY: `events` has room for as many events as there are slots; the timeout, if any, outlives the call.
            let got = unsafe {
                libc::syscall(
                    libc::SYS_io_getevents,
                    self.context,
                    wait.at_least as libc::c_long,
                    self.events.len().min(wait.at_most) as libc::c_long,
                    self.events.as_mut_ptr(),
                    timeout.as_ref().map_or(ptr::null(), ptr::from_ref),
                )
            };
            if got >= 0 {
                self.in_flight -= got as usize;
                let events = &self.events[..got as usize];
                done.extend(events.iter().map(|event| Completion { slot: event.data as usize, result: event.result }));
                return Ok(());
            }
            let error = io::Error::last_os_error();
            if error.raw_os_error() != Some(libc::EINTR) {
                return Err(error);
            }
        }
    }
}

impl OverKernel for Aio {}

impl Backend for Aio {
    const NAME: &'static str = "aio";

    fn buffer(&mut self, slot: usize, length: usize) -> &mut [u8] {
        self.buffers.slot(slot, length)
    }

    fn execute(&mut self, request: Request) -> i64 {
        self.submit(0, request);
        self.push();
        if let Some(refused) = self.refused.pop() {
            return refused.result;
        }
        let mut done = std::mem::take(&mut self.refused);
        let result = match self.reap(&mut done, Wait { at_least: 1, at_most: 1, within: None }) {
            Ok(()) => done[0].result,
            Err(error) => -i64::from(error.raw_os_error().unwrap_or(libc::EIO)),
        };
        done.clear();
        self.refused = done;
        result
    }

    fn report(&mut self) -> Report {
        let mut report = Report { punted: Some(self.flushes - self.flushes_by_worker), ..Report::default() };
        if self.flushes_by_worker > 0 {
            let text = "this kernel or file system has no asynchronous flush: the worker waited for each in fsync(2)";
            report.notes.push(Note::new(WarningId::AioFlushWaits, text));
        }
        report
    }
}

impl QueuedBackend for Aio {
    fn submit(&mut self, slot: usize, request: Request) {
        let vectored = request.vectors > 1;
        let (mut address, mut length) = (self.buffers.address(slot) as u64, request.length as u64);
        if vectored {
            let pieces = self.pieces.cut(slot, self.buffers.address(slot), request.length, request.vectors);
            (address, length) = (pieces.as_ptr() as u64, pieces.len() as u64);
        }
        let opcode = match request.kind {
            RequestKind::Read if vectored => PREADV,
            RequestKind::Read => PREAD,
            RequestKind::Write if vectored => PWRITEV,
            RequestKind::Write => PWRITE,
            RequestKind::Fsync => FSYNC,
            RequestKind::Fdatasync => FDSYNC,
        };
        if matches!(request.kind, RequestKind::Fsync | RequestKind::Fdatasync) {
            self.flushes += 1;
            // The kernel refuses a flush that carries anything else.
            (address, length) = (0, 0);
        }
        self.blocks[slot] = Iocb {
            data: slot as u64,
            rw_flags: request.rw_flags,
            opcode,
            fd: request.file.0 as u32,
            buffer: address,
            bytes: length,
            offset: request.offset as i64,
            ..Iocb::default()
        };
        self.queued.push(&raw mut self.blocks[slot]);
    }

    fn hand_over(&mut self) -> io::Result<()> {
        self.push();
        Ok(())
    }

    fn complete(&mut self, done: &mut Vec<Completion>, wait: Wait) -> io::Result<()> {
        self.push();
        let refused = self.refused.len().min(wait.at_most);
        done.extend(self.refused.drain(..refused));
        if self.in_flight == 0 || refused == wait.at_most {
            return Ok(());
        }
        let at_least = wait.at_least.saturating_sub(refused).min(self.in_flight);
        self.reap(done, Wait { at_least, at_most: wait.at_most - refused, ..wait })
    }

    fn look(&mut self, done: &mut Vec<Completion>, at_most: usize) -> io::Result<()> {
        let refused = self.refused.len().min(at_most);
        done.extend(self.refused.drain(..refused));
        if self.in_flight == 0 || refused == at_most {
            return Ok(());
        }
        self.reap(done, Wait { at_least: 0, at_most: at_most - refused, within: Some(Duration::ZERO) })
    }
}

impl Drop for Aio {
    fn drop(&mut self) {
        destroy(self.context);
    }
}

/// End a context; returns when the last request in flight is done.
fn destroy(context: libc::c_ulong) {
    // SAFETY: a context made by io_setup and destroyed once.
    unsafe { libc::syscall(libc::SYS_io_destroy, context) };
}

fn setup_refused(error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(libc::EAGAIN) => io::Error::other(
            "all of the machine's AIO requests are taken (fs.aio-nr has reached fs.aio-max-nr); as root: sysctl \
             fs.aio-max-nr=1048576, or use fewer workers or a smaller queue_depth",
        ),
        Some(libc::ENOSYS) => io::Error::other("this kernel was built without AIO; use the backend io_uring"),
        _ => error,
    }
}
