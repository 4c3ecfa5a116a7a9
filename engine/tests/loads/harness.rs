//! The engine's program run on Plans.

pub(crate) use super::plans::*;
use assay_engine::plan::{Action, FileSet, Job, Plan, Stop};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A directory to work in, and what the engine said about it.
pub(crate) struct Place {
    pub(crate) directory: TempDir,
}

/// What one phase came to.
pub(crate) struct Outcome {
    events: Vec<Value>,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { directory: TempDir::new().unwrap() }
    }

    pub(crate) fn run(&self, set: FileSet, jobs: Vec<Job>) -> Outcome {
        let plan = plan(format!("file://{}", self.directory.path().display()), set, jobs);
        Outcome { events: carry_out(&plan) }
    }

    pub(crate) fn one(&self, set: FileSet, actions: Vec<Action>, stop: Stop) -> Outcome {
        self.run(set, vec![job("job", actions, stop)])
    }

    pub(crate) fn path(&self, index: u64) -> PathBuf {
        self.directory.path().join(format!("assay-data/data/d{:08}/f{index:08}", index / 10))
    }

    /// Indices that have a name.
    pub(crate) fn names(&self) -> Vec<u64> {
        (0..100).filter(|&index| self.path(index).symlink_metadata().is_ok()).collect()
    }
}

/// Run a Plan with few descriptors to spend, so that a leak of them is seen.
pub(crate) fn carry_out(plan: &Plan) -> Vec<Value> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay-engine"));
    let few_files = || {
        let limit = libc::rlimit { rlim_cur: 64, rlim_max: 64 };
        // SAFETY: `limit` is valid for the call, which changes this process, the future engine, alone.
        unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) };
        Ok(())
    };
    // SAFETY: between fork and exec only setrlimit is called, which is safe there.
    unsafe { command.pre_exec(few_files) };
    let mut engine = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = engine.stdin.take().unwrap();
    writeln!(input, "{}", serde_json::to_string(plan).unwrap()).unwrap();
    let mut events = Vec::new();
    for line in BufReader::new(engine.stdout.take().unwrap()).lines() {
        let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
        if event["event"] == "ready" {
            let start = json!({"control": "start", "phase_index": event["phase_index"], "at_monotonic_ns": 0});
            writeln!(input, "{start}").unwrap();
        }
        events.push(event);
    }
    assert!(engine.wait().unwrap().success());
    events
}

impl Outcome {
    pub(crate) fn all(&self, kind: &str) -> impl Iterator<Item = &Value> {
        self.events.iter().filter(move |event| event["event"] == kind)
    }

    pub(crate) fn finished(&self) -> &Value {
        self.all("phase_finished").next().unwrap_or_else(|| panic!("no phase finished: {:?}", self.error()))
    }

    pub(crate) fn error(&self) -> Option<&str> {
        self.all("error").next().and_then(|event| event["text"].as_str())
    }

    /// A number of one operation, summed over all intervals.
    pub(crate) fn sum(&self, operation: &str, field: &str) -> u64 {
        let operations = self.all("interval").flat_map(|event| event["operations"].as_array().unwrap());
        operations.filter(|one| one["operation"] == operation).map(|one| one[field].as_u64().unwrap()).sum()
    }

    pub(crate) fn ops(&self, operation: &str) -> u64 {
        self.sum(operation, "ops")
    }

    pub(crate) fn latency_ns(&self, operation: &str) -> u64 {
        let operations = self.all("interval").flat_map(|event| event["operations"].as_array().unwrap());
        let of_it = operations.filter(|one| one["operation"] == operation);
        of_it.map(|one| one["latency"]["sum_ns"].as_u64().unwrap()).sum()
    }

    pub(crate) fn workers(&self) -> &[Value] {
        self.finished()["workers"].as_array().unwrap()
    }

    /// From the start until all workers of a job had done their last operation.
    pub(crate) fn seconds_of(&self, job: &str) -> f64 {
        let of_job = self.workers().iter().filter(|worker| worker["job"] == job);
        let last_ns = of_job.map(|worker| worker["last_op_ns"].as_u64().unwrap()).max().unwrap();
        (last_ns - self.finished()["start_ns"].as_u64().unwrap()) as f64 / 1e9
    }

    pub(crate) fn stopped_by(&self) -> &str {
        self.finished()["stopped_by"].as_str().unwrap()
    }

    /// No operation failed, and whatever was started was completed.
    #[track_caller]
    pub(crate) fn check_clean(&self) -> &Self {
        assert_eq!(self.error(), None);
        assert_eq!(self.finished()["errors"], json!([]));
        for worker in self.workers() {
            assert_eq!(worker["started"], worker["completed"]);
        }
        self
    }

    #[track_caller]
    pub(crate) fn check_refused(&self, part: &str) {
        let text = self.error().expect("the Plan is refused");
        assert!(text.contains(part), "{text}");
        assert_eq!(self.all("prepared").count(), 0, "nothing is laid out");
    }
}
