//! Several engines at once on one data folder: files of each, or the same files for all.

use super::plans::*;
use assay_engine::plan::{
    Access, Allocate, Among, Coverage, Distribution, FileRef, FileSet, Job, Layout, OpKind, Pick, Plan, Region, Reuse,
    Stop,
};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use tempfile::TempDir;

/// An engine that is told when to start.
struct Engine {
    process: Child,
    input: ChildStdin,
    lines: std::io::Lines<BufReader<ChildStdout>>,
    events: Vec<Value>,
}

impl Engine {
    fn begin(plan: &Plan) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_assay-engine"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = process.stdin.take().unwrap();
        writeln!(input, "{}", serde_json::to_string(plan).unwrap()).unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        Self { process, input, lines, events: Vec::new() }
    }

    /// Read on until an event of that kind; false where the engine ends without.
    fn comes_to(&mut self, kind: &str) -> bool {
        for line in self.lines.by_ref() {
            let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
            let is_it = event["event"] == kind;
            self.events.push(event);
            if is_it {
                return true;
            }
        }
        false
    }

    #[track_caller]
    fn ready(mut self) -> Self {
        assert!(self.comes_to("ready"), "{:?}", self.all("error"));
        self
    }

    fn start(&mut self) {
        writeln!(self.input, "{}", json!({"control": "start", "phase_index": 0, "at_monotonic_ns": 0})).unwrap();
    }

    fn all(&self, kind: &str) -> Vec<&Value> {
        self.events.iter().filter(|event| event["event"] == kind).collect()
    }

    /// To the end, which was a good one; what was done of an operation.
    #[track_caller]
    fn end(mut self, operation: &str) -> (u64, Vec<String>) {
        self.comes_to("finished");
        assert!(self.process.wait().unwrap().success());
        assert_eq!(self.events.last().unwrap()["outcome"], "complete", "{:?}", self.all("error"));
        let of_intervals = self.events.iter().filter(|event| event["event"] == "interval");
        let operations = of_intervals.flat_map(|event| event["operations"].as_array().unwrap());
        let ops = operations.filter(|one| one["operation"] == operation).map(|one| one["ops"].as_u64().unwrap()).sum();
        (ops, self.all("warning").iter().map(|warning| warning["id"].as_str().unwrap().to_owned()).collect())
    }

    fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

fn in_parts(directory: &Path, set: FileSet, jobs: Vec<Job>, part: u32, parts: u32) -> Plan {
    let among = Some(Among { run: "run-1".to_owned(), part, parts, owner: String::new() });
    Plan { among, ..plan(format!("file://{}", directory.display()), set, jobs) }
}

fn of_owner(directory: &Path, set: FileSet, jobs: Vec<Job>, owner: &str) -> Plan {
    let among = Some(Among { run: "run-1".to_owned(), part: 0, parts: 1, owner: owner.to_owned() });
    Plan { among, ..plan(format!("file://{}", directory.display()), set, jobs) }
}

/// Names of files in a directory and those below it, but for Assay's own.
fn names(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap()) {
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_dir() {
            found.extend(names(&entry.path()));
        } else if !name.starts_with('.') {
            found.push(name);
        }
    }
    found.sort();
    found
}

fn churn() -> Vec<Job> {
    let ops = [on_set(OpKind::Create, "create", 4096.0, None), on_set(OpKind::Unlink, "unlink", 0.0, None)];
    vec![job("churn", ops.into_iter().map(act).collect(), passes(50))]
}

fn joint_set() -> FileSet {
    FileSet { keep: false, ..set(40, 0.5, 4096.0) }
}

#[test]
fn clients_together_have_files_of_their_own_in_one_folder_and_leave_nothing() {
    let place = TempDir::new().unwrap();
    let engine = |owner: &str| Engine::begin(&of_owner(place.path(), joint_set(), churn(), owner)).ready();

    let (mut one, mut other) = (engine("one"), engine("other"));

    let folder = place.path().join("assay-data/data");
    let expected: Vec<_> =
        ["one", "other"].iter().flat_map(|owner| (0..20).map(move |file| format!("{owner}.f{file:08}"))).collect();
    assert_eq!(names(&folder), expected);
    one.start();
    assert_eq!(one.end("create"), (50, vec![]));
    assert_eq!(names(&folder), expected[20..], "the files of the other are there as they were");
    assert_eq!(fs::read_dir(&folder).unwrap().filter(|entry| entry.as_ref().unwrap().path().is_dir()).count(), 4);
    other.start();
    assert_eq!(other.end("create"), (50, vec![]));
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
}

#[test]
fn what_a_killed_client_leaves_goes_with_its_next_run_and_no_file_of_others_does() {
    let place = TempDir::new().unwrap();
    let engine = |owner: &str| Engine::begin(&of_owner(place.path(), joint_set(), churn(), owner)).ready();
    let (killed, mut other) = (engine("killed"), engine("other"));
    let folder = place.path().join("assay-data/data");

    killed.kill();
    fs::write(folder.join("theirs"), "mine").unwrap();
    other.start();
    let (_, warnings) = other.end("create");

    assert_eq!(warnings, ["data-left-behind"]);
    assert_eq!(names(&folder).len(), 21);
    let mut again = engine("killed");
    again.start();
    assert_eq!(again.end("create"), (50, vec!["data-left-behind".to_owned()]));
    assert_eq!(names(&folder), ["theirs"]);
    fs::remove_file(folder.join("theirs")).unwrap();
    let mut last = engine("another");
    last.start();
    assert_eq!(last.end("create"), (50, vec![]));
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
}

#[test]
fn a_run_that_is_alone_clears_away_what_clients_left() {
    let place = TempDir::new().unwrap();
    Engine::begin(&of_owner(place.path(), joint_set(), churn(), "killed")).ready().kill();
    let alone = plan(format!("file://{}", place.path().display()), joint_set(), churn());

    let mut engine = Engine::begin(&alone).ready();

    let expected: Vec<_> = (0..20).map(|file| format!("f{file:08}")).collect();
    assert_eq!(names(&place.path().join("assay-data/data")), expected);
    engine.start();
    assert_eq!(engine.end("create"), (50, vec![]));
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
}

/// Two workers that go through their slices of one file, once.
fn slices(blocks: u64) -> (FileSet, Vec<Job>) {
    let one_file = FileSet::plain("data", "here", 1, blocks as f64 * 4096.0, Layout::Flat {});
    let own = FileRef::Set { set: "data".to_owned(), pick: Pick::Own {}, slot: None };
    let mut read = op_on(OpKind::Read, "read", own, 4096.0);
    read.access = Access::Sequential { region: Region::Slice {}, wrap: false };
    let job = Job { workers: 2, ..job("readers", vec![act(read)], Stop::default()) };
    (one_file, vec![job])
}

#[test]
fn one_set_is_laid_out_by_the_first_and_read_in_parts_and_goes_with_the_last() {
    let place = TempDir::new().unwrap();
    let (set, jobs) = slices(23);
    let engine = |part| Engine::begin(&in_parts(place.path(), set.clone(), jobs.clone(), part, 3));

    // The others come first, and wait.
    let (last, middle) = (engine(2), engine(1));
    let mut first = engine(0).ready();
    let (mut last, mut middle) = (last.ready(), middle.ready());

    assert_eq!(first.all("prepared")[0]["reused"], false);
    assert_eq!(last.all("prepared")[0]["reused"], true);
    first.start();
    let of_first = first.end("read");
    let file = place.path().join("assay-data/data/f00000000");
    assert_eq!(fs::metadata(&file).unwrap().len(), 23 * 4096, "others work on it");
    last.start();
    middle.start();
    let done = [last.end("read"), middle.end("read"), of_first];
    assert_eq!(done.iter().map(|(ops, _)| ops).sum::<u64>(), 23, "each block once: {done:?}");
    assert!(done.iter().all(|(ops, warnings)| (6..=9).contains(ops) && warnings.is_empty()), "{done:?}");
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
}

#[test]
fn what_a_killed_first_client_laid_out_goes_with_the_last_of_its_run() {
    let place = TempDir::new().unwrap();
    let (set, jobs) = slices(8);
    let engine = |part| Engine::begin(&in_parts(place.path(), set.clone(), jobs.clone(), part, 2)).ready();
    let (first, mut other) = (engine(0), engine(1));

    first.kill();
    other.start();
    assert_eq!(other.end("read"), (4, vec![]));

    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
}

#[test]
fn a_set_that_is_kept_or_was_there_stays_when_all_have_left() {
    let place = TempDir::new().unwrap();
    let (set, jobs) = slices(8);
    let kept = FileSet { keep: true, ..set.clone() };
    let found = FileSet { reuse: Reuse::IfMatches, ..set };
    for (set, reused) in [(&kept, false), (&found, true)] {
        let engine = |part| Engine::begin(&in_parts(place.path(), set.clone(), jobs.clone(), part, 2)).ready();
        let (mut first, mut other) = (engine(0), engine(1));
        assert_eq!(first.all("prepared")[0]["reused"], reused);
        other.start();
        assert_eq!(other.end("read"), (4, vec![]));
        first.start();
        assert_eq!(first.end("read"), (4, vec![]));

        assert_eq!(names(&place.path().join("assay-data/data")), ["f00000000"]);
    }
}

#[test]
fn an_engine_that_waits_for_a_set_is_stopped_by_a_word() {
    let place = TempDir::new().unwrap();
    let (set, jobs) = slices(8);
    let mut engine = Engine::begin(&in_parts(place.path(), set, jobs, 1, 2));
    assert!(engine.comes_to("progress"));

    writeln!(engine.input, "{}", json!({"control": "stop"})).unwrap();

    assert!(engine.comes_to("finished"));
    assert_eq!(engine.events.last().unwrap()["outcome"], "stopped");
    engine.process.wait().unwrap();
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
}

#[test]
fn who_is_of_another_run_or_alone_is_kept_out() {
    let place = TempDir::new().unwrap();
    let (set, jobs) = slices(8);
    let ours = in_parts(place.path(), set, jobs, 0, 1);
    let mut first = Engine::begin(&ours).ready();
    let others = Some(Among { run: "run-2".to_owned(), ..ours.among.clone().unwrap() });

    for plan in [Plan { among: others, ..ours.clone() }, Plan { among: None, ..ours.clone() }] {
        let mut refused = Engine::begin(&plan);
        assert!(!refused.comes_to("ready"));
        let text = refused.all("error")[0]["text"].as_str().unwrap().to_owned();
        assert!(text.contains("another Assay run (process "), "{text}");
        refused.process.wait().unwrap();
    }

    first.start();
    assert_eq!(first.end("read"), (8, vec![]));
}

#[test]
fn a_client_is_kept_out_where_a_run_is_alone() {
    let place = TempDir::new().unwrap();
    let (set, jobs) = slices(8);
    let ours = in_parts(place.path(), set, jobs, 0, 1);
    let mut alone = Engine::begin(&Plan { among: None, ..ours.clone() }).ready();

    let mut refused = Engine::begin(&ours);

    assert!(!refused.comes_to("ready"));
    assert!(refused.all("error")[0]["text"].as_str().unwrap().contains("another Assay run (process "));
    refused.process.wait().unwrap();
    alone.start();
    assert_eq!(alone.end("read"), (8, vec![]));
}

#[test]
fn random_choices_of_clients_on_one_set_are_not_in_step() {
    let choices = |part| {
        let place = TempDir::new().unwrap();
        let (set, _) = slices(64);
        let own = FileRef::Set { set: "data".to_owned(), pick: Pick::Own {}, slot: None };
        let mut write = op_on(OpKind::Write, "write", own, 4096.0);
        write.access = Access::Random {
            region: Region::Whole {},
            distribution: Distribution::Uniform { min: 0.0, max: 1.0 },
            coverage: Coverage::WithRepeats,
            align_bytes: 0,
        };
        let jobs = vec![job("writers", vec![act(write)], Stop { ops: Some(16), ..Stop::default() })];
        let set = FileSet { keep: true, allocate: Allocate::Sparse, ..set };
        let mut engine = match part {
            // The set of the first is there, which is how the other comes by one.
            0 => Engine::begin(&in_parts(place.path(), set, jobs, 0, 2)).ready(),
            _ => {
                let first = Engine::begin(&in_parts(place.path(), set.clone(), jobs.clone(), 0, 2)).ready();
                let other = Engine::begin(&in_parts(place.path(), set, jobs, 1, 2)).ready();
                first.kill();
                other
            }
        };
        engine.start();
        assert_eq!(engine.end("write").0, 16);
        let bytes = fs::read(place.path().join("assay-data/data/f00000000")).unwrap();
        let blocks = bytes.chunks(4096).map(|block| block.iter().any(|&byte| byte != 0));
        blocks.collect::<Vec<_>>()
    };

    assert_eq!(choices(0), choices(0));
    assert_ne!(choices(0), choices(1));
}
