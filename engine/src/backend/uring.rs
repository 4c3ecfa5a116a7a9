//! io_uring: a queue of requests a worker, submitted and reaped in batches.
//!
//! The ring belongs to the thread that makes it (SINGLE_ISSUER), and completions are worked off when that thread asks for
//! them (DEFER_TASKRUN), which spares interrupts of the worker. Kernels before 6.1 have neither; there the ring is made
//! without.

use super::{Backend, Completion, Request, RequestKind};
use crate::buffer::Buffers;
use io_uring::{IoUring, opcode, types};
use std::io;

/// One ring and the buffers that its requests work on.
pub struct Uring {
    ring: IoUring,
    buffers: Buffers,
    in_flight: usize,
}

impl Uring {
    /// A ring for `depth` requests of at most `buffer_bytes` each, of the calling thread.
    pub fn new(depth: u32, buffer_bytes: usize, sqpoll: bool, iopoll: bool) -> io::Result<Self> {
        let entries = depth.next_power_of_two();
        let mut builder = IoUring::builder();
        if iopoll {
            builder.setup_iopoll();
        }
        let ring = if sqpoll {
            builder.setup_sqpoll(50).build(entries)
        } else {
            builder
                .clone()
                .setup_single_issuer()
                .setup_defer_taskrun()
                .build(entries)
                .or_else(|_| builder.build(entries))
        }?;
        Ok(Self { ring, buffers: Buffers::new(depth as usize, buffer_bytes)?, in_flight: 0 })
    }

    /// Take completions that are there.
    fn reap(&mut self, done: &mut Vec<Completion>) {
        for entry in self.ring.completion() {
            self.in_flight -= 1;
            done.push(Completion { slot: entry.user_data() as usize, result: i64::from(entry.result()) });
        }
    }
}

impl Backend for Uring {
    const NAME: &'static str = "io_uring";

    fn buffer(&mut self, slot: usize, length: usize) -> &mut [u8] {
        self.buffers.slot(slot, length)
    }

    fn submit(&mut self, slot: usize, request: Request) {
        let fd = types::Fd(request.fd);
        let (address, length) = (self.buffers.address(slot), request.length as u32);
        let entry = match request.kind {
            RequestKind::Read => opcode::Read::new(fd, address, length).offset(request.offset).build(),
            RequestKind::Write => opcode::Write::new(fd, address, length)
                .offset(request.offset)
                .rw_flags(if request.dsync { libc::RWF_DSYNC } else { 0 })
                .build(),
            RequestKind::Fsync => opcode::Fsync::new(fd).build(),
            RequestKind::Fdatasync => opcode::Fsync::new(fd).flags(types::FsyncFlags::DATASYNC).build(),
        }
        .user_data(slot as u64);
        // SAFETY: the entry points into `self.buffers`, which `Drop` frees only after every request in flight has come
        // back; slots are taken one request at a time.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.expect("the ring has an entry for every slot");
        self.in_flight += 1;
    }

    fn complete(&mut self, done: &mut Vec<Completion>) -> io::Result<()> {
        loop {
            match self.ring.submit_and_wait(1) {
                Ok(_) => {}
                Err(error) if matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::EBUSY)) => {}
                Err(error) => return Err(error),
            }
            let before = done.len();
            self.reap(done);
            if done.len() > before {
                return Ok(());
            }
        }
    }

    fn execute(&mut self, request: Request) -> i64 {
        self.submit(0, request);
        let mut done = Vec::with_capacity(1);
        match self.complete(&mut done) {
            Ok(()) => done[0].result,
            Err(error) => -i64::from(error.raw_os_error().unwrap_or(libc::EIO)),
        }
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        let mut done = Vec::new();
        while self.in_flight > 0 {
            if self.complete(&mut done).is_err() {
                // The kernel may still write into the buffers: leaking them is the only safe way out.
                let unreachable = Buffers::new(1, 1).expect("a page of memory");
                std::mem::forget(std::mem::replace(&mut self.buffers, unreachable));
                return;
            }
        }
    }
}
