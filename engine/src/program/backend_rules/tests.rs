use crate::exact::plans;
use crate::exact::plans::{act, on_set, phase, set};
use crate::plan::{Action, Backend, Body, Fallback, OpFlags, OpKind, Stop};
use crate::program::backend_rules::*;
use crate::program::compile::compile;

fn write(size: f64) -> Op {
    on_set(OpKind::Write, "write", size, None)
}

fn job(backend: Backend, op: Op) -> Job {
    Job { backend, ..plans::job("load", vec![act(op)], Stop::default()) }
}

fn compiled(job: &Job) -> Result<Program> {
    compile(job, &phase(Vec::new(), Vec::new()), &[set(1, 1.0, 1e6)])
}

#[test]
fn a_job_works_on_the_one_store_that_its_targets_name() {
    let job = job(Backend::Psync {}, write(4096.0));
    let store = |uris: [&str; 2]| {
        let [one, other] = uris.map(|uri| serde_json::json!({"name": uri, "uri": uri}));
        let set = set(1, 1.0, 1e6);
        let sets = uris.map(|uri| FileSet { target: uri.to_owned(), ..set.clone() });
        let plan = serde_json::json!({
            "schema": crate::plan::SCHEMA, "name": "stores", "seed": 1, "sample_interval_s": 1.0, "reserve_bytes": 0,
            "origin": {"front_end": "native", "source": "", "sha256": ""}, "untranslated": [], "phases": [],
            "targets": [one, other], "file_sets": sets,
        });
        let plan = serde_json::from_value(plan).unwrap();
        store_of(&job, &[0, 1], &plan).map_err(|error| error.to_string())
    };

    assert_eq!(store(["file:///a", "file:///b"]), Ok(Scheme::File));
    assert_eq!(store(["null:///a", "null:///b"]), Ok(Scheme::Null));
    assert!(store(["file:///a", "null:///b"]).unwrap_err().contains("'load': its file sets lie in different stores"));
    assert!(store(["file:///a", "s3://bucket"]).unwrap_err().contains("'s3://bucket' is none: this engine takes"));
}

fn refusal(job: &Job) -> String {
    compiled(job).unwrap_err().to_string()
}

#[test]
fn a_queue_is_refused_where_there_is_none() {
    for (backend, has_queue) in [
        (Backend::Psync {}, false),
        (Backend::Mmap {}, false),
        (Backend::Stdio { per_character: true }, false),
        (Backend::Aio {}, true),
        (Backend::IoUring { sqpoll: false, sqpoll_cpu: None, iopoll: false, fallback: Fallback::Refuse }, true),
    ] {
        let mut deep = job(backend, write(4096.0));
        deep.queue_depth = 8;

        assert_eq!(compiled(&deep).is_ok(), has_queue, "{:?}", deep.backend);
    }
}

#[test]
fn a_polled_ring_has_room_for_half_of_what_others_take() {
    let refused = |sqpoll: bool, depth: u32| {
        let mut deep = job(
            Backend::IoUring { sqpoll, sqpoll_cpu: None, iopoll: false, fallback: Fallback::Refuse },
            write(4096.0),
        );
        deep.queue_depth = depth;
        compiled(&deep).is_err()
    };

    assert_eq!((refused(true, 16_384), refused(true, 16_385), refused(false, 32_768)), (false, true, false));
}

#[test]
fn a_cpu_of_the_polling_thread_needs_that_thread() {
    let ring = |sqpoll, sqpoll_cpu| {
        job(Backend::IoUring { sqpoll, sqpoll_cpu, iopoll: false, fallback: Fallback::Refuse }, write(4096.0))
    };

    assert!(compiled(&ring(true, Some(0))).is_ok());
    assert!(refusal(&ring(false, Some(0))).contains("set sqpoll, or leave sqpoll_cpu out"));
}

#[test]
fn flags_of_an_operation_become_those_of_the_kernel() {
    let mut op = write(4096.0);
    op.flags = OpFlags { dsync: true, nowait: true, high_priority: true, ..OpFlags::default() };
    op.access = Access::Append {};
    let job = job(Backend::Psync {}, op.clone());

    let flags = rw_flags(&job, &op, &[]).unwrap();

    assert_eq!(flags, libc::RWF_DSYNC | libc::RWF_NOWAIT | libc::RWF_HIPRI | libc::RWF_APPEND);
}

#[test]
fn the_page_cache_is_asked_first_by_plain_buffered_reads_of_psync_alone() {
    let asking = |kind, flags: OpFlags| {
        let mut op = on_set(kind, "load", 4096.0, None);
        op.flags = OpFlags { cached_first: true, ..flags };
        op
    };
    let read = asking(OpKind::Read, OpFlags::default());
    let mut direct = job(Backend::Psync {}, read.clone());
    direct.open.direct = Direct::On;

    assert_eq!(rw_flags(&job(Backend::Psync {}, read.clone()), &read, &[]).unwrap(), CACHED_FIRST);
    assert!(refusal(&direct).contains("which direct I/O passes by"));
    assert!(refusal(&job(Backend::Aio {}, read)).contains("reads of the backend psync"));
    let write = asking(OpKind::Write, OpFlags::default());
    assert!(refusal(&job(Backend::Psync {}, write)).contains("reads of the backend psync"));
    let impatient = asking(OpKind::Read, OpFlags { nowait: true, ..OpFlags::default() });
    assert!(refusal(&job(Backend::Psync {}, impatient)).contains("plain reads"));
}

#[test]
fn vectors_must_be_equal_and_not_too_many() {
    let with = |vectors, size| {
        let mut op = write(size);
        op.flags.vectors = vectors;
        job(Backend::Psync {}, op)
    };

    assert_eq!(compiled(&with(16, 65536.0)).unwrap().most_vectors, 16);
    assert!(refusal(&with(3, 4096.0)).contains("does not divide into 3 equal vectors"));
    assert!(refusal(&with(1025, 1025.0 * 512.0)).contains("at most 1024"));
}

#[test]
fn what_a_mapping_and_a_stream_cannot_do_is_refused_in_words() {
    for backend in [Backend::Mmap {}, Backend::Stdio { per_character: false }] {
        let mut flagged = write(4096.0);
        flagged.flags.dsync = true;
        assert!(refusal(&job(backend.clone(), flagged)).contains("use psync"));

        let mut direct = job(backend.clone(), write(4096.0));
        direct.open.direct = Direct::On;
        assert!(refusal(&direct).contains("goes through the page cache"));

        let mut append = write(4096.0);
        append.access = Access::Append {};
        assert!(compiled(&job(backend, append)).is_err());
    }
    let mut synced = job(Backend::Mmap {}, write(4096.0));
    synced.open.dsync = true;
    assert!(refusal(&synced).contains("put an fdatasync into the loop"));
}

#[test]
fn unknown_advice_is_refused_with_the_names_that_there_are() {
    let mut advised = job(Backend::Psync {}, write(4096.0));
    advised.open.advice = "soon".to_owned();

    assert!(refusal(&advised).contains("normal, sequential, random"));
}

#[test]
fn polling_needs_direct_and_takes_no_flushes() {
    let polled = Backend::IoUring { sqpoll: false, sqpoll_cpu: None, iopoll: true, fallback: Fallback::Refuse };
    let mut job = job(polled, write(4096.0));
    assert!(refusal(&job).contains("needs direct 'on'"));

    job.open.direct = Direct::On;
    assert!(compiled(&job).is_ok());
    let mut flush = write(4096.0);
    flush.op = OpKind::Fdatasync;
    job.body = Body::Loop { actions: vec![Action::Op { op: flush }] };
    assert!(refusal(&job).contains("takes no flushes"));
}

#[test]
fn successive_calls_are_for_plain_transfers_of_backends_that_make_them() {
    let in_pieces = |backend| {
        let mut op = write(4096.0);
        op.flags.chunk_bytes = 512;
        job(backend, op)
    };
    for backend in [Backend::Psync {}, Backend::ReadWrite {}, Backend::Stdio { per_character: true }] {
        assert!(compiled(&in_pieces(backend)).is_ok());
    }
    for backend in [Backend::Mmap {}, Backend::Aio {}] {
        assert!(refusal(&in_pieces(backend)).contains("psync, read_write and stdio"));
    }
    for (access, expected) in [
        (Access::Append {}, "an append moves in one call"),
        (Access::Whole { chunk_bytes: 0, to_end: false }, "has a chunk_bytes of its own"),
    ] {
        let mut job = in_pieces(Backend::Psync {});
        let Body::Loop { actions } = &mut job.body else { unreachable!("a loop") };
        let Action::Op { op } = &mut actions[0] else { unreachable!("an operation") };
        op.access = access;
        assert!(refusal(&job).contains(expected));
    }
    let mut flush = write(4096.0);
    (flush.op, flush.flags.chunk_bytes) = (OpKind::Fsync, 1);
    assert!(refusal(&job(Backend::Psync {}, flush)).contains("are for reads and writes"));
}
