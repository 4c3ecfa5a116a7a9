//! Lists of operations.

use super::plans::{job, on_set, on_slot};
use super::{MS, NullModel, Outcome, START_NS, Trial, buckets};
use crate::events::StoppedBy;
use crate::plan::{Body, Op, OpKind, ScriptGroup, Stop};

fn script(lines: &str, ops: Vec<Op>, groups: Vec<ScriptGroup>, model: NullModel) -> Outcome {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("script.ndjson");
    std::fs::write(&path, lines).unwrap();
    let mut job = job("job", Vec::new(), Stop::default());
    job.body = Body::Script { ops, groups, path: path.to_str().unwrap().to_owned() };
    Trial::new(job, model).run()
}

fn model() -> NullModel {
    NullModel { request_ns: vec![MS, 2 * MS], call_ns: MS / 4, ..NullModel::default() }
}

#[test]
fn lines_follow_each_other_and_each_takes_what_its_call_takes() {
    let lines: String = (0..100).map(|k| format!("[0,{},{},4096,0]\n", k % 4, k * 512)).collect();

    let outcome = script(&lines, vec![on_set(OpKind::Read, "read", 4096.0, None)], Vec::new(), model());

    outcome.check_against_storage("read");
    assert_eq!(outcome.latency("read"), buckets([MS, 2 * MS].repeat(50)));
    assert_eq!((outcome.ended.stopped_by, outcome.end_ns), (StoppedBy::Exhausted, START_NS + 150 * MS));
}

#[test]
fn lines_with_a_time_begin_then_and_respond_from_it() {
    // Due every 10 ms, and the storage takes 1 and 24 ms in turn.
    let lines: String = (0..10).map(|k| format!("[0,0,0,4096,{}]\n", (k + 1) * 10 * MS)).collect();
    let model = NullModel { request_ns: vec![MS, 24 * MS], ..NullModel::default() };

    let outcome = script(&lines, vec![on_set(OpKind::Read, "read", 4096.0, None)], Vec::new(), model);

    outcome.check_against_storage("read");
    let (mut free_ns, mut responses) = (0, Vec::new());
    for k in 0..10 {
        let due_ns = (k + 1) * 10 * MS;
        free_ns = due_ns.max(free_ns) + if k % 2 == 0 { MS } else { 24 * MS };
        responses.push(free_ns - due_ns);
    }
    assert_eq!(outcome.response("read"), buckets(responses));
    // It reads for 5 x 25 ms, and the rest of the time until the last line is done waits for the next to be due.
    assert_eq!(outcome.idle_ns(), outcome.end_ns - START_NS - 5 * 25 * MS);
}

#[test]
fn a_group_whose_members_are_timed_together_takes_what_they_take() {
    let ops = [
        on_set(OpKind::Open, "open", 0.0, Some(0)),
        on_slot(OpKind::Read, "read", 1.0),
        on_slot(OpKind::Close, "close", 0.0),
    ];
    for names in [["open", "read", "close"], ["", "", ""]] {
        let named = ops.iter().zip(names).map(|(op, name)| Op { name: name.to_owned(), ..op.clone() });
        let group = ScriptGroup { name: "group".to_owned(), ops: named.collect(), chunk_bytes: 1000, pooled: false };
        let lines: String = (0..40).map(|k| format!("[0,{},0,10000,0]\n", k % 4)).collect();

        let outcome = script(&lines, Vec::new(), vec![group], model());

        // Opened and closed in half a millisecond, and ten pieces that take 1 and 2 ms in turn.
        outcome.check_conserved();
        assert_eq!(outcome.latency("group"), buckets(vec![MS / 2 + 15 * MS; 40]));
        assert_eq!((outcome.stats.ops.get(), outcome.stats.bytes.get()), (40, 400_000));
        assert_eq!((outcome.stats.completed.get(), outcome.stats.submissions.get()), (120, 400));
        assert_eq!(outcome.end_ns - START_NS, 40 * (MS / 2 + 15 * MS));
    }
}
