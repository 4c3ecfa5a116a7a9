//! Explicit lists of operations.

use crate::harness::{Place, job, on_set, on_slot, seconds, set};
use assay_engine::plan::{Body, Job, Op, OpKind, Stop};

fn script(place: &Place, lines: &str, ops: Vec<Op>, workers: u32) -> Job {
    let path = place.directory.path().join("script.ndjson");
    std::fs::write(&path, lines).unwrap();
    let mut job = job("job", Vec::new(), Stop::default());
    job.body = Body::Script { ops, groups: Vec::new(), path: path.to_str().unwrap().to_owned() };
    job.workers = workers;
    job
}

#[test]
fn a_script_does_what_its_lines_say_in_their_order() {
    let place = Place::new();
    let ops = vec![
        on_set(OpKind::Create, "create", 0.0, Some(0)),
        on_slot(OpKind::Write, "write", 1.0),
        on_slot(OpKind::Close, "close", 0.0),
        on_set(OpKind::Unlink, "unlink", 0.0, None),
        on_set(OpKind::Rename, "rename", 0.0, None),
    ];
    let lines = "[0,17,0,0,0]\n[1,0,1000,24,0]\n[2,0,0,0,0]\n\n[0,3,0,0,0]\n[2,0,0,0,0]\n[3,3,0,0,0]\n[4,17,9,0,0]\n";

    let outcome = place.run(set(20, 0.0, 0.0), vec![script(&place, lines, ops, 1)]);

    outcome.check_clean();
    assert_eq!((outcome.ops("create"), outcome.ops("close"), outcome.stopped_by()), (2, 2, "exhausted"));
    assert_eq!(place.names(), [9]);
    assert_eq!(place.path(9).metadata().unwrap().len(), 1024);
}

#[test]
fn the_lines_of_a_script_are_shared_out_and_each_is_done_once() {
    let place = Place::new();
    let lines: String = (0..40).map(|index| format!("[0,{index},0,0,0]\n")).collect();

    let outcome = place
        .run(set(40, 0.0, 0.0), vec![script(&place, &lines, vec![on_set(OpKind::Create, "create", 0.0, None)], 3)]);

    outcome.check_clean();
    let done: Vec<_> = outcome.workers().iter().map(|worker| worker["completed"].as_u64().unwrap()).collect();
    assert_eq!((done, place.names().len()), (vec![14, 13, 13], 40));
}

#[test]
fn lines_with_a_time_are_begun_then_and_their_response_counts_from_it() {
    let place = Place::new();
    let lines: String = (0..20).map(|k| format!("[0,0,{},4096,{}]\n", k * 4096, (k + 1) * 10_000_000)).collect();

    let outcome = place
        .run(set(1, 1.0, 81_920.0), vec![script(&place, &lines, vec![on_set(OpKind::Read, "read", 4096.0, None)], 1)]);

    outcome.check_clean();
    assert_eq!((outcome.ops("read"), outcome.sum("read", "bytes")), (20, 81_920));
    assert!((0.18..0.6).contains(&seconds(&outcome)), "{}", seconds(&outcome));
    let operations = outcome.all("interval").flat_map(|event| event["operations"].as_array().unwrap());
    let (mut responses, mut response_ns) = (0, 0);
    for one in operations {
        responses += one["response"]["count"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).sum::<u64>();
        response_ns += one["response"]["sum_ns"].as_u64().unwrap();
    }
    assert_eq!(responses, 20);
    assert!(response_ns >= outcome.latency_ns("read"));
}

#[test]
fn scripts_that_cannot_be_followed_are_refused_with_the_line() {
    for (lines, workers, part) in [
        ("[0,0,0,512,0]\n[0,0]\n", 1, "line 2: "),
        ("[1,0,0,512,0]\n", 1, "line 1: operation 1 does not exist; the job has 1"),
        ("[0,0,0,0,0]\n", 1, "line 1: size is 0"),
        ("", 1, "holds no operation"),
        ("[0,0,0,512,0]\n", 2, "use 1 worker"),
    ] {
        let place = Place::new();
        let ops = vec![on_set(OpKind::Read, "read", 512.0, Some(0))];

        place.run(set(1, 1.0, 4096.0), vec![script(&place, lines, ops, workers)]).check_refused(part);
    }
    let place = Place::new();
    let mut gone = script(&place, "[0,0,0,512,0]\n", vec![on_set(OpKind::Read, "read", 512.0, None)], 1);
    gone.body = Body::Script {
        ops: vec![on_set(OpKind::Read, "read", 512.0, None)],
        groups: Vec::new(),
        path: "/no/such/script".to_owned(),
    };
    assert!(place.run(set(1, 1.0, 4096.0), vec![gone]).error().unwrap().contains("/no/such/script"));
}
