//! What io_uring does besides what every backend does.

use super::*;

#[test]
fn a_ring_whose_submissions_are_polled_for_works_as_well() {
    for depth in [1, 3, 8, 8, 8, 8, 8, 8, 8, 32] {
        let options = UringOptions {
            depth,
            buffer_size: BufferSize::plain(BLOCK),
            most_pieces: 1,
            sqpoll: true,
            sqpoll_cpu: None,
            iopoll: false,
        };

        keeps_a_queue_full(Uring::new(options).unwrap(), depth as usize);
    }
}

#[test]
fn calls_go_by_the_registered_ring_and_not_by_its_descriptor() {
    let file = Scratch::new(BLOCK);
    let fd = file.open();
    let mut backend = uring(1);
    backend.hold(&[fd]).unwrap();
    if !backend.report().features.iter().any(|feature| feature == "registered ring") {
        return eprintln!("skipped: this kernel registers no rings (Linux 5.18 does)");
    }
    let null = File::open("/dev/null").unwrap().into_raw_fd();
    // SAFETY: open descriptors; no memory is passed.
    let ring = unsafe { libc::dup(backend.descriptor()) };

    // SAFETY: as above.
    unsafe { libc::dup2(null, backend.descriptor()) };
    let read = backend.execute(request(fd, RequestKind::Read, 0, BLOCK));
    // SAFETY: as above.
    unsafe { libc::dup2(ring, backend.descriptor()) };

    assert_eq!(read, BLOCK as i64);
    for descriptor in [fd.0, null, ring] {
        // SAFETY: this test's own.
        unsafe { libc::close(descriptor) };
    }
}

#[test]
fn a_ring_without_registered_files_and_buffers_works_as_well() {
    let mut plain = uring(4);
    plain.forget_registered_buffers();
    plain.forget_registered_ring();
    let file = Scratch::new(BLOCK);
    let fd = file.open();

    assert_eq!(plain.execute(request(fd, RequestKind::Read, 0, BLOCK)), BLOCK as i64);
    assert_eq!(plain.buffer(0, BLOCK), file.content);
    plain.buffer(0, 4).copy_from_slice(b"abcd");
    assert_eq!(plain.execute(request(fd, RequestKind::Write, 0, 4)), 4);
    assert_eq!(&fs::read(&file.path).unwrap()[..4], b"abcd");
    plain.close_file(fd);
}

#[test]
fn a_kernel_that_cannot_wait_for_a_time_works_as_well() {
    for depth in [1, 3, 8] {
        let mut older = uring(depth);
        older.forget_timed_waits();
        keeps_a_queue_full(older, depth as usize);
    }
    for is_older in [false, true] {
        let mut ring = uring(2);
        if is_older {
            ring.forget_timed_waits();
        }
        let mut done = Vec::new();
        ring.complete(&mut done, Wait { within: Some(Duration::from_millis(1)), ..Wait::FOR_ONE }).unwrap();
        assert!(done.is_empty());
    }
}

#[test]
fn a_queue_with_requests_in_flight_can_be_dropped() {
    for _ in 0..50 {
        let file = Scratch::new(32 * BLOCK);
        let fd = file.open();
        let mut backend = uring(32);
        for slot in 0..32 {
            backend.submit(slot, request(fd, RequestKind::Write, slot * BLOCK, BLOCK));
        }
        let mut done = Vec::new();
        backend.complete(&mut done, Wait::FOR_ONE).unwrap();
        drop(backend);
        Psync::new(BufferSize::plain(1), 1).unwrap().close_file(fd);
    }
}

#[test]
fn a_request_that_failed_to_reach_the_kernel_is_not_answered_later_as_another() {
    let file = Scratch::new(2 * BLOCK);
    let fd = file.open();
    let mut backend = uring(2);
    backend.forget_registered_ring();
    backend.hold(&[fd]).unwrap();
    let null = File::open("/dev/null").unwrap().into_raw_fd();
    // SAFETY: open descriptors; no memory is passed.
    let ring = unsafe { libc::dup(backend.descriptor()) };
    // SAFETY: as above.
    let enter = |descriptor: i32, of: i32| unsafe { libc::dup2(of, descriptor) };

    enter(backend.descriptor(), null);
    let failed = backend.execute(request(fd, RequestKind::Read, 0, 100));
    enter(backend.descriptor(), ring);
    let next: Vec<i64> = (0..4).map(|_| backend.execute(request(fd, RequestKind::Read, BLOCK, BLOCK))).collect();
    let queued = backend.complete(&mut Vec::new(), Wait::FOR_ONE);

    assert!(failed < 0, "{failed}");
    assert_eq!(next, [failed; 4]);
    assert_eq!(queued.unwrap_err().raw_os_error(), Some(-failed as i32));
    for descriptor in [fd.0, null, ring] {
        // SAFETY: this test's own.
        unsafe { libc::close(descriptor) };
    }
}

#[test]
fn flushes_of_io_uring_go_to_threads_of_the_kernel_and_reads_of_cached_pages_do_not() {
    let file = Scratch::new(BLOCK);
    let fd = file.open();
    let mut backend = uring(1);
    backend.hold(&[fd]).unwrap();

    for _ in 0..20 {
        backend.execute(request(fd, RequestKind::Read, 0, BLOCK));
    }
    let after_reads = backend.report().punted;
    for _ in 0..7 {
        backend.execute(request(fd, RequestKind::Fsync, 0, 0));
    }

    // Where the tracepoint cannot be counted, the backend must not claim to know.
    assert!(after_reads.is_none_or(|count| count == 0), "{after_reads:?}");
    assert!(backend.report().punted.is_none_or(|count| count == 7));
    assert!(!crate::backend::punts::has_no_io_wq());
    backend.close_file(fd);
    drop(file);
}
