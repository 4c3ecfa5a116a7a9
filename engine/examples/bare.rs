//! The least that a load can cost: the same system calls in the simplest loop, with two clock reads and a histogram.
//!
//! `make bench` runs it beside the engine; what the engine costs more is the price of its generality.
//! Prints `ops seconds`.
//!
//!     bare read FILE BYTES OPS            4 KiB pread at random offsets
//!     bare uring FILE BYTES OPS           4 KiB O_DIRECT reads, 32 in flight
//!     bare uring_write FILE BYTES OPS     4 KiB O_DIRECT writes, 32 in flight
//!     bare stat DIRECTORY FILES OPS       stat of DIRECTORY/d00000000/f00000000 ..., 1000 a directory
//!     bare create DIRECTORY OPS           open(O_CREAT|O_EXCL), pwrite of 4 KiB, close
//!     bare delete DIRECTORY OPS           unlink of what `create` made

use assay_engine::histogram::Recorder;
use assay_engine::sys::shared::SharedBox;
use io_uring::{IoUring, opcode, types};
use std::ffi::CString;
use std::time::Instant;

const BLOCK: usize = 4096;
const DEPTH: usize = 32;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |at: usize| arguments[at].parse::<u64>().expect("a whole number");
    let begun = Instant::now();
    let ops = match arguments[1].as_str() {
        "read" => read(&arguments[2], number(3), number(4)),
        "uring" => uring(&arguments[2], number(3), number(4), false),
        "uring_write" => uring(&arguments[2], number(3), number(4), true),
        "stat" => stat(&arguments[2], number(3), number(4)),
        "create" => create(&arguments[2], number(3)),
        "delete" => delete(&arguments[2], number(3)),
        other => panic!("{other}: read, uring, uring_write, stat, create or delete"),
    };
    println!("{ops} {:.6}", begun.elapsed().as_secs_f64());
}

fn now_ns() -> u64 {
    assay_engine::clock::read_ns(libc::CLOCK_MONOTONIC)
}

fn open(path: &str, flags: i32) -> i32 {
    let name = CString::new(path).expect("a path without NUL");
    // SAFETY: the name is NUL-terminated and lives across the call.
    let fd = unsafe { libc::open(name.as_ptr(), flags, 0o644) };
    assert!(fd >= 0, "{path}: {}", std::io::Error::last_os_error());
    fd
}

fn timed(latency: &Recorder, call: impl FnOnce() -> i64) {
    let issued = now_ns();
    let result = call();
    latency.record(now_ns() - issued);
    assert!(result >= 0, "{}", std::io::Error::last_os_error());
}

fn read(path: &str, bytes: u64, ops: u64) -> u64 {
    let (fd, latency) = (open(path, libc::O_RDONLY), SharedBox::<Recorder>::zeroed().unwrap());
    let mut rng = fastrand::Rng::with_seed(1);
    let mut buffer = vec![0_u8; BLOCK];
    for _ in 0..ops {
        let offset = rng.u64(..bytes / BLOCK as u64) * BLOCK as u64;
        // SAFETY: the buffer holds a block.
        timed(&latency, || unsafe { libc::pread(fd, buffer.as_mut_ptr().cast(), BLOCK, offset as i64) } as i64);
    }
    ops
}

fn uring(path: &str, bytes: u64, ops: u64, writes: bool) -> u64 {
    let fd = open(path, libc::O_DIRECT | if writes { libc::O_WRONLY } else { libc::O_RDONLY });
    let mut ring: IoUring = IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .build(DEPTH as u32)
        .expect("a ring of this depth");
    let mut memory = vec![0_u8; (DEPTH + 1) * BLOCK];
    let base = memory.as_mut_ptr().wrapping_add(memory.as_ptr().align_offset(BLOCK));
    let pieces: Vec<libc::iovec> = (0..DEPTH)
        .map(|slot| libc::iovec { iov_base: base.wrapping_add(slot * BLOCK).cast(), iov_len: BLOCK })
        .collect();
    ring.submitter().register_files(&[fd]).expect("a registered file");
    // SAFETY: `memory` outlives the ring's last completion: the loop below waits for each.
    unsafe { ring.submitter().register_buffers(&pieces) }.expect("registered buffers");
    let (mut rng, latency, mut issued) =
        (fastrand::Rng::with_seed(1), SharedBox::<Recorder>::zeroed().unwrap(), [0_u64; DEPTH]);
    let (mut begun, mut done, mut free) = (0, 0, (0..DEPTH).collect::<Vec<_>>());
    while done < ops {
        let now = now_ns();
        while begun < ops {
            let Some(slot) = free.pop() else { break };
            let offset = rng.u64(..bytes / BLOCK as u64) * BLOCK as u64;
            let (file, block, number) = (types::Fixed(0), base.wrapping_add(slot * BLOCK), slot as u16);
            let entry = if writes {
                opcode::WriteFixed::new(file, block, BLOCK as u32, number).offset(offset).build()
            } else {
                opcode::ReadFixed::new(file, block, BLOCK as u32, number).offset(offset).build()
            };
            let entry = entry.user_data(slot as u64);
            issued[slot] = now;
            // SAFETY: as for the registration.
            unsafe { ring.submission().push(&entry) }.expect("an entry for every slot");
            begun += 1;
        }
        ring.submit_and_wait(1).expect("submission");
        let now = now_ns();
        for entry in ring.completion() {
            assert_eq!(entry.result(), BLOCK as i32);
            let slot = entry.user_data() as usize;
            latency.record(now - issued[slot]);
            free.push(slot);
            done += 1;
        }
    }
    ops
}

/// Paths `d00000000/f00000000` from the working directory, in one buffer whose digits are written over.
struct Paths([u8; 20]);

impl Paths {
    /// Work in the directory, as Assay's workers do.
    fn in_directory(directory: &str) -> Self {
        std::env::set_current_dir(directory).expect("the directory");
        Self(*b"d00000000/f00000000\0")
    }

    fn of(&mut self, index: u64) -> *const libc::c_char {
        write_digits(&mut self.0[1..9], index / 1000);
        write_digits(&mut self.0[11..19], index);
        self.0.as_ptr().cast()
    }
}

fn write_digits(digits: &mut [u8], mut number: u64) {
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

fn stat(directory: &str, files: u64, ops: u64) -> u64 {
    let (mut rng, latency, mut paths) =
        (fastrand::Rng::with_seed(1), SharedBox::<Recorder>::zeroed().unwrap(), Paths::in_directory(directory));
    let mut attributes = std::mem::MaybeUninit::<libc::stat>::uninit();
    for _ in 0..ops {
        let path = paths.of(rng.u64(..files));
        // SAFETY: the path is NUL-terminated; `attributes` has room for the answer.
        timed(&latency, || i64::from(unsafe { libc::stat(path, attributes.as_mut_ptr()) }));
    }
    ops
}

fn create(directory: &str, ops: u64) -> u64 {
    std::fs::create_dir_all(directory).expect("the directory");
    let (latency, mut paths, block) =
        (SharedBox::<Recorder>::zeroed().unwrap(), Paths::in_directory(directory), vec![7_u8; BLOCK]);
    for index in 0..ops {
        if index % 1000 == 0 {
            std::fs::create_dir_all(format!("d{:08}", index / 1000)).expect("a directory");
        }
        let path = paths.of(index);
        timed(&latency, || {
            // SAFETY: the path is NUL-terminated, the block is a block, and the descriptor is this loop's own.
            unsafe {
                let fd = libc::open(path, libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY, 0o644);
                let written = libc::pwrite(fd, block.as_ptr().cast(), BLOCK, 0);
                libc::close(fd);
                written as i64
            }
        });
    }
    ops
}

fn delete(directory: &str, ops: u64) -> u64 {
    let (latency, mut paths) = (SharedBox::<Recorder>::zeroed().unwrap(), Paths::in_directory(directory));
    for index in 0..ops {
        let path = paths.of(index);
        // SAFETY: the path is NUL-terminated.
        timed(&latency, || i64::from(unsafe { libc::unlink(path) }));
    }
    ops
}
