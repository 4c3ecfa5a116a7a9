//! Every backend against what std::fs sees in the file.

mod rings;

use super::aio::Aio;
use super::mmap::Mmap;
use super::nothing::Nothing;
use super::psync::Psync;
use super::read_write::ReadWrite;
use super::stdio::Stdio;
use super::store::Handle;
use super::uring::{Uring, UringOptions};
use super::{Backend, CACHED_FIRST, Completion, QueuedBackend, Request, RequestKind, Wait};
use crate::buffer::BufferSize;
use crate::events::CachedFirst;
use std::fs::{self, File, OpenOptions};
use std::os::fd::IntoRawFd;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tempfile::TempDir;

const BLOCK: usize = 8192;
const LONG: Duration = Duration::from_secs(600);

/// A file of a known content.
struct Scratch {
    _folder: TempDir,
    path: PathBuf,
    content: Vec<u8>,
}

impl Scratch {
    fn new(bytes: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let mut rng = fastrand::Rng::with_seed(7);
        let content: Vec<u8> = (0..bytes).map(|_| rng.u8(..)).collect();
        fs::write(&path, &content).unwrap();
        Self { _folder: folder, path, content }
    }

    fn open(&self) -> Handle {
        handle(OpenOptions::new().read(true).write(true).open(&self.path).unwrap())
    }
}

fn handle(file: File) -> Handle {
    Handle(file.into_raw_fd())
}

fn request(file: Handle, kind: RequestKind, offset: usize, length: usize) -> Request {
    Request { file, kind, offset: offset as u64, length, rw_flags: 0, vectors: 0 }
}

fn uring(depth: u32) -> Uring {
    Uring::new(UringOptions {
        depth,
        buffer_size: BufferSize::plain(BLOCK),
        most_pieces: 8,
        sqpoll: false,
        sqpoll_cpu: None,
        iopoll: false,
    })
    .unwrap()
}

/// What any backend must do, one operation at a time.
fn reads_and_writes_what_the_file_holds(mut backend: impl Backend) {
    let mut file = Scratch::new(3 * BLOCK + 100);
    let fd = file.open();
    backend.hold(&[fd]).unwrap();

    for offset in [BLOCK, 0, 2 * BLOCK, 17] {
        assert_eq!(backend.execute(request(fd, RequestKind::Read, offset, BLOCK)), BLOCK as i64);
        assert_eq!(backend.buffer(0, BLOCK), &file.content[offset..offset + BLOCK]);

        backend.buffer(0, 1000).fill(offset as u8 | 1);
        assert_eq!(backend.execute(request(fd, RequestKind::Write, offset + 3, 1000)), 1000);
        file.content[offset + 3..offset + 1003].fill(offset as u8 | 1);
    }
    for flush in [RequestKind::Fdatasync, RequestKind::Fsync] {
        assert_eq!(backend.execute(request(fd, flush, 0, 0)), 0);
        assert_eq!(fs::read(&file.path).unwrap(), file.content);
    }
    assert_eq!(backend.close_file(fd), 0);
}

/// The end of a file is met with what there is, then with nothing, and neither is an error.
fn is_short_at_the_end_of_the_file(mut backend: impl Backend) {
    let file = Scratch::new(BLOCK + 100);
    let fd = file.open();
    backend.hold(&[fd]).unwrap();

    let last = backend.execute(request(fd, RequestKind::Read, BLOCK, BLOCK));
    let content = backend.buffer(0, 100).to_vec();
    let beyond = backend.execute(request(fd, RequestKind::Read, 5 * BLOCK, BLOCK));
    let again = backend.execute(request(fd, RequestKind::Read, 0, BLOCK));

    assert_eq!((last, beyond, again), (100, 0, BLOCK as i64));
    assert_eq!(content, file.content[BLOCK..]);
    backend.close_file(fd);
}

#[test]
fn a_read_that_asks_the_page_cache_first_gives_the_same_bytes_and_counts_where_they_were() {
    let file = Scratch::new(3 * BLOCK + 100);
    let fd = file.open();
    let mut backend = Psync::new(BufferSize::plain(BLOCK), 1).unwrap();
    backend.hold(&[fd]).unwrap();
    let first = |offset| Request { rw_flags: CACHED_FIRST, ..request(fd, RequestKind::Read, offset, BLOCK) };

    // All of it was written a moment before: it is there, but for what lies beyond the end.
    for (offset, length) in [(0, BLOCK), (17, BLOCK), (3 * BLOCK, 100), (9 * BLOCK, 0)] {
        assert_eq!(backend.execute(first(offset)), length as i64);
        assert_eq!(backend.buffer(0, length), file.content.get(offset..offset + length).unwrap_or_default());
    }
    assert_eq!(backend.execute(request(fd, RequestKind::Read, 0, BLOCK)), BLOCK as i64);

    let report = backend.report();
    let asked_bytes = 2 * BLOCK as u64 + 100;
    match report.cached_first {
        Some(found) => assert_eq!(found, CachedFirst { hit_bytes: asked_bytes, missed_bytes: 0 }),
        None => assert_eq!(report.notes.len(), 1, "a file system without such reads is named"),
    }
    let closed = Request { file: Handle(-1), ..first(0) };
    assert_eq!(backend.execute(closed), -i64::from(libc::EBADF));
    backend.close_file(fd);
}

/// A queue brings every request back once, each on its own slot.
fn keeps_a_queue_full(mut backend: impl QueuedBackend, depth: usize) {
    let mut file = Scratch::new(64 * BLOCK);
    let fd = file.open();
    backend.hold(&[fd]).unwrap();
    let mut free: Vec<usize> = (0..depth).collect();
    let mut block_of = vec![0; depth];
    let (mut next, mut finished, mut turn) = (0, 0, 0);
    let mut done: Vec<Completion> = Vec::new();

    while finished < 64 {
        while let (Some(&slot), true) = (free.last(), next < 64) {
            free.pop();
            block_of[slot] = next;
            let kind = if next % 2 == 0 { RequestKind::Read } else { RequestKind::Write };
            if kind == RequestKind::Write {
                backend.buffer(slot, BLOCK).fill(next as u8);
            }
            backend.submit(slot, request(fd, kind, next * BLOCK, BLOCK));
            next += 1;
        }
        // Each way to wait in turn: for as long as it takes, for a time, and by looking again and again.
        match turn % 3 {
            0 => backend.complete(&mut done, Wait::FOR_ONE).unwrap(),
            1 => backend.complete(&mut done, Wait { within: Some(LONG), ..Wait::FOR_ONE }).unwrap(),
            _ => {
                backend.hand_over().unwrap();
                while done.is_empty() {
                    backend.look(&mut done, 1).unwrap();
                }
            }
        }
        turn += 1;
        assert!(!done.is_empty());
        for completion in done.drain(..) {
            let block = block_of[completion.slot];
            assert_eq!(completion.result, BLOCK as i64);
            let expected = &mut file.content[block * BLOCK..][..BLOCK];
            if block % 2 == 1 {
                expected.fill(block as u8);
            }
            assert_eq!(backend.buffer(completion.slot, BLOCK), expected);
            free.push(completion.slot);
            finished += 1;
        }
    }

    assert_eq!(free.len(), depth);
    assert_eq!(fs::read(&file.path).unwrap(), file.content);
    backend.close_file(fd);
}

/// Pieces and flags of one operation.
fn carries_out_pieces_and_flags(mut backend: impl Backend) {
    let file = Scratch::new(2 * BLOCK);
    let fd = file.open();
    backend.hold(&[fd]).unwrap();

    let read = backend.execute(Request { vectors: 8, ..request(fd, RequestKind::Read, 100, BLOCK) });
    let content = backend.buffer(0, BLOCK).to_vec();
    let appended = backend.execute(Request {
        vectors: 3,
        rw_flags: libc::RWF_APPEND | libc::RWF_DSYNC,
        ..request(fd, RequestKind::Write, 0, 1000)
    });

    assert_eq!((read, appended), (BLOCK as i64, 1000));
    assert_eq!(content, file.content[100..][..BLOCK]);
    assert_eq!(fs::read(&file.path).unwrap(), [&file.content[..], &content[..1000]].concat());
    backend.close_file(fd);
}

/// Successive calls put the same bytes into the file as one, and stop where the file ends.
fn moves_in_pieces(mut backend: impl Backend) {
    let file = Scratch::new(BLOCK);
    let fd = file.open();
    backend.hold(&[fd]).unwrap();

    let new: Vec<u8> = (0..100).collect();
    backend.buffer(0, 100).copy_from_slice(&new);
    let go_on = AtomicBool::new(false);
    let written = backend.execute_in_pieces(request(fd, RequestKind::Write, 50, 100), 7, &go_on);
    let after = backend.execute(request(fd, RequestKind::Read, 150, 10));
    let content = backend.buffer(0, 10).to_vec();
    let read = backend.execute_in_pieces(request(fd, RequestKind::Read, BLOCK - 20, 100), 8, &go_on);
    let stopped = AtomicBool::new(true);
    let cut = backend.execute_in_pieces(request(fd, RequestKind::Read, 0, BLOCK), 8, &stopped);
    let closed = backend.close_file(fd);

    assert_eq!((written, after, read, closed), (100, 10, 20, 0));
    // A stop is heard between two calls, or after some that take no time to speak of.
    assert!((8..=8 * 1024).contains(&cut), "{cut}");
    assert_eq!(content, file.content[150..160]);
    assert_eq!(fs::read(&file.path).unwrap(), [&file.content[..50], &new, &file.content[150..]].concat());
}

/// Refusals come back as the kernel's own number, and what comes after is carried out.
fn survives_a_refusal(mut backend: impl Backend) {
    let file = Scratch::new(BLOCK);
    let fd = handle(File::open(&file.path).unwrap());
    backend.hold(&[fd]).unwrap();

    let read_only = backend.execute(request(fd, RequestKind::Write, 0, 100));
    let unknown_flag = backend.execute(Request { rw_flags: 1 << 30, ..request(fd, RequestKind::Read, 0, 100) });
    let fine = backend.execute(request(fd, RequestKind::Read, 0, BLOCK));

    assert_eq!((read_only, unknown_flag), (-i64::from(libc::EBADF), -i64::from(libc::EOPNOTSUPP)));
    assert_eq!(fine, BLOCK as i64);
    assert_eq!(backend.buffer(0, BLOCK), file.content);
    backend.close_file(fd);
}

macro_rules! every_backend {
    ($check:ident) => {
        $check(Psync::new(BufferSize::plain(BLOCK), 1).unwrap());
        $check(ReadWrite::new(BufferSize::plain(BLOCK)).unwrap());
        $check(uring(1));
        $check(Aio::new(1, BufferSize::plain(BLOCK), 1).unwrap());
        $check(Mmap::new(BufferSize::plain(BLOCK), None).unwrap());
        $check(Stdio::new(BufferSize::plain(BLOCK), false).unwrap());
        $check(Stdio::new(BufferSize::plain(BLOCK), true).unwrap());
    };
}

#[test]
fn every_backend_reads_and_writes_what_the_file_holds() {
    every_backend!(reads_and_writes_what_the_file_holds);
}

#[test]
fn no_storage_takes_requests_in_order_and_leaves_the_file_alone() {
    let (mut nothing, file) = (Nothing::new(4, BufferSize::plain(BLOCK)).unwrap(), Scratch::new(BLOCK));
    let (fd, mut done) = (file.open(), Vec::new());

    for slot in 0..3 {
        nothing.submit(slot, request(fd, RequestKind::Write, slot, 100 + slot));
    }
    nothing.hand_over().unwrap();
    nothing.complete(&mut done, Wait { at_least: 1, at_most: 2, within: None }).unwrap();
    nothing.complete(&mut done, Wait::FOR_ONE).unwrap();

    assert_eq!(done.iter().map(|one| (one.slot, one.result)).collect::<Vec<_>>(), [(0, 100), (1, 101), (2, 102)]);
    assert_eq!(nothing.execute(request(fd, RequestKind::Read, BLOCK, BLOCK)), BLOCK as i64);
    assert_eq!(nothing.execute(request(fd, RequestKind::Fsync, 0, 0)), 0);
    assert_eq!(fs::read(&file.path).unwrap(), file.content);
}

#[test]
fn every_backend_is_short_at_the_end_of_the_file() {
    every_backend!(is_short_at_the_end_of_the_file);
}

#[test]
fn queues_bring_every_request_back_once() {
    for depth in [1, 3, 32] {
        keeps_a_queue_full(uring(depth), depth as usize);
        keeps_a_queue_full(Aio::new(depth, BufferSize::plain(BLOCK), 1).unwrap(), depth as usize);
    }
}

#[test]
fn pieces_and_flags_are_carried_out_by_those_that_have_them() {
    carries_out_pieces_and_flags(Psync::new(BufferSize::plain(BLOCK), 8).unwrap());
    carries_out_pieces_and_flags(uring(1));
    carries_out_pieces_and_flags(Aio::new(1, BufferSize::plain(BLOCK), 8).unwrap());
}

#[test]
fn successive_calls_move_what_one_call_would() {
    moves_in_pieces(Psync::new(BufferSize::plain(BLOCK), 1).unwrap());
    moves_in_pieces(ReadWrite::new(BufferSize::plain(BLOCK)).unwrap());
    moves_in_pieces(Stdio::new(BufferSize::plain(BLOCK), false).unwrap());
    moves_in_pieces(Stdio::new(BufferSize::plain(BLOCK), true).unwrap());
}

#[test]
fn refusals_come_back_with_their_number() {
    survives_a_refusal(Psync::new(BufferSize::plain(BLOCK), 8).unwrap());
    survives_a_refusal(uring(1));
    survives_a_refusal(Aio::new(1, BufferSize::plain(BLOCK), 8).unwrap());
}

#[test]
fn a_mapping_outlives_its_file_being_cut_short() {
    let file = Scratch::new(16 * BLOCK);
    let fd = file.open();
    let mut backend = Mmap::new(BufferSize::plain(BLOCK), None).unwrap();
    backend.hold(&[fd]).unwrap();
    let shorter = OpenOptions::new().write(true).open(&file.path).unwrap();
    shorter.set_len(BLOCK as u64).unwrap();

    let lost: Vec<i64> =
        (1..16).map(|block| backend.execute(request(fd, RequestKind::Read, block * BLOCK, BLOCK))).collect();
    let lost_again = backend.execute(request(fd, RequestKind::Write, 9 * BLOCK, BLOCK));
    let kept = backend.execute(request(fd, RequestKind::Read, 0, BLOCK));

    assert_eq!(lost, [-i64::from(libc::EIO); 15]);
    assert_eq!(lost_again, -i64::from(libc::EIO));
    assert_eq!(kept, BLOCK as i64);
    assert_eq!(backend.buffer(0, BLOCK), &file.content[..BLOCK]);
    assert_eq!(fs::metadata(&file.path).unwrap().len(), BLOCK as u64);

    shorter.set_len(16 * BLOCK as u64).unwrap();
    assert_eq!(backend.execute(request(fd, RequestKind::Read, 9 * BLOCK, BLOCK)), BLOCK as i64);
    assert_eq!(backend.buffer(0, BLOCK), [0; BLOCK]);
    backend.close_file(fd);
}

#[test]
fn writes_to_pages_that_cannot_be_mapped_again_fail() {
    let file = Scratch::new(4 * BLOCK);
    let fd = file.open();
    let mut backend = Mmap::new(BufferSize::plain(BLOCK), None).unwrap();
    backend.hold(&[fd]).unwrap();
    fs::write(&file.path, []).unwrap();
    let null = File::open("/dev/null").unwrap().into_raw_fd();
    // What takes the file's place cannot be mapped.
    // SAFETY: open descriptors of this test's own; no memory is passed.
    unsafe { libc::dup2(null, fd.0) };

    let writes: Vec<i64> = (0..3).map(|_| backend.execute(request(fd, RequestKind::Write, BLOCK, BLOCK))).collect();
    let flush = backend.execute(request(fd, RequestKind::Fsync, 0, 0));

    assert_eq!(writes, [-i64::from(libc::EIO); 3]);
    assert_eq!(flush, -i64::from(libc::EIO));
    for descriptor in [fd.0, null] {
        // SAFETY: as above.
        unsafe { libc::close(descriptor) };
    }
}

#[test]
fn streams_hold_small_writes_back_until_they_are_flushed_or_closed() {
    for per_character in [false, true] {
        let file = Scratch::new(100);
        let fd = file.open();
        let mut backend = Stdio::new(BufferSize::plain(BLOCK), per_character).unwrap();
        backend.hold(&[fd]).unwrap();
        backend.buffer(0, 10).copy_from_slice(b"0123456789");

        assert_eq!(backend.execute(request(fd, RequestKind::Write, 0, 10)), 10);
        assert_eq!(fs::read(&file.path).unwrap(), file.content);
        assert_eq!(backend.report().notes, []);
        assert_eq!(&fs::read(&file.path).unwrap()[..10], b"0123456789");
        assert_eq!(backend.execute(request(fd, RequestKind::Write, 10, 10)), 10);
        assert_eq!(backend.close_file(fd), 0);
        assert_eq!(&fs::read(&file.path).unwrap()[..20], b"01234567890123456789");
    }
}

#[test]
fn a_stream_on_a_full_device_says_so() {
    let full = handle(OpenOptions::new().write(true).open("/dev/full").unwrap());
    let mut backend = Stdio::new(BufferSize::plain(BLOCK), false).unwrap();
    backend.hold(&[full]).unwrap();

    let whole_block = backend.execute(request(full, RequestKind::Write, 0, BLOCK));
    let flush = backend.execute(request(full, RequestKind::Fsync, 0, 0));

    assert!(whole_block == -i64::from(libc::ENOSPC) || flush == -i64::from(libc::ENOSPC), "{whole_block} {flush}");
    backend.close_file(full);
}

#[test]
fn a_closed_stream_leaves_no_descriptor_behind() {
    let file = Scratch::new(BLOCK);
    let held = || {
        let fds = fs::read_dir("/proc/self/fd").unwrap();
        fds.filter(|fd| fs::read_link(fd.as_ref().unwrap().path()).is_ok_and(|path| path == file.path)).count()
    };
    let fd = file.open();
    let mut backend = Stdio::new(BufferSize::plain(BLOCK), false).unwrap();
    backend.hold(&[fd]).unwrap();

    assert_eq!(held(), 1);
    assert_eq!(backend.close_file(fd), 0);
    assert_eq!(held(), 0);
}

#[test]
fn a_file_position_is_moved_only_where_the_next_transfer_is_elsewhere() {
    let file = Scratch::new(4 * BLOCK);
    let fd = file.open();
    let mut backend = ReadWrite::new(BufferSize::plain(BLOCK)).unwrap();
    backend.hold(&[fd]).unwrap();
    // SAFETY: no memory is passed.
    let position = || unsafe { libc::lseek(fd.0, 0, libc::SEEK_CUR) };

    let first = backend.execute(request(fd, RequestKind::Read, 0, BLOCK));
    // Moved behind the backend's back: a transfer that follows the one before goes on from here.
    // SAFETY: no memory is passed.
    unsafe { libc::lseek(fd.0, 3 * BLOCK as libc::off_t, libc::SEEK_SET) };
    backend.execute(request(fd, RequestKind::Read, BLOCK, 100));
    let after_following = position();
    backend.execute(request(fd, RequestKind::Read, BLOCK, 100));
    let after_jumping = position();

    assert_eq!(first, BLOCK as i64);
    assert_eq!((after_following, after_jumping), (3 * BLOCK as i64 + 100, BLOCK as i64 + 100));
    backend.close_file(fd);
}
