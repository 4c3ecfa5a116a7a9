//! Plans made in short.

use assay_engine::plan::{
    Access, Action, Affinity, Arrival, Backend, Batch, Body, CacheCondition, Direct, Distribution, Ends, FileRef,
    FileSet, Job, Layout, Op, OpFlags, OpKind, OpenFlags, Origin, Phase, Pick, Plan, RateLimit, Region, SCHEMA, Step,
    Stop, StopOf, Target, WorkerKind,
};
use assay_engine::program::op_rules::Names;
use std::collections::BTreeMap;

/// One phase of jobs, on a set that is laid out before it.
pub(crate) fn plan(uri: String, set: FileSet, jobs: Vec<Job>) -> Plan {
    let test = || "test".to_owned();
    Plan {
        schema: SCHEMA.to_owned(),
        name: test(),
        answers: String::new(),
        void_if: String::new(),
        origin: Origin {
            front_end: test(),
            source: test(),
            sha256: String::new(),
            counts: BTreeMap::new(),
            changed: Vec::new(),
            files: BTreeMap::new(),
        },
        seed: 4,
        sample_interval_s: 0.1,
        rounds: None,
        accept: Vec::new(),
        reserve_bytes: 0,
        targets: vec![Target { name: "here".to_owned(), uri, destroy_data: false, device: String::new() }],
        phases: vec![phase(jobs, vec![Step::Prepare { set: set.name.clone() }])],
        file_sets: vec![set],
        user: None,
        among: None,
        untranslated: Vec::new(),
    }
}

pub(crate) fn set(files: u64, existing_share: f64, size_bytes: f64) -> FileSet {
    let layout = Layout::PerDirectory { files: 10 };
    let plain = FileSet::plain("data", "here", files, size_bytes, layout);
    FileSet { existing_share, create_workers: 1, keep: true, ..plain }
}

pub(crate) fn fixed(value: f64) -> Distribution {
    Distribution::Fixed { value }
}

pub(crate) fn usual_pick(kind: OpKind) -> Pick {
    match kind.rules().names {
        Names::Make => Pick::New {},
        Names::Take | Names::Move => Pick::Existing {},
        Names::Stay | Names::MayMake | Names::Add => Pick::Next {},
    }
}

pub(crate) fn op_on(kind: OpKind, name: &str, file: FileRef, size_bytes: f64) -> Op {
    let access = Access::Sequential { region: Region::Whole {}, wrap: true };
    Op { op: kind, name: name.to_owned(), file, access, size: fixed(size_bytes), flags: OpFlags::default() }
}

/// An operation on a file of the set, which a slot may keep.
pub(crate) fn on_set(kind: OpKind, name: &str, size_bytes: f64, slot: Option<u32>) -> Op {
    op_on(kind, name, FileRef::Set { set: "data".to_owned(), pick: usual_pick(kind), slot }, size_bytes)
}

pub(crate) fn on_slot(kind: OpKind, name: &str, size_bytes: f64) -> Op {
    op_on(kind, name, FileRef::Slot { slot: 0 }, size_bytes)
}

pub(crate) fn act(op: Op) -> Action {
    Action::Op { op }
}

pub(crate) fn passes(passes: u64) -> Stop {
    Stop { passes: Some(passes), ..Stop::default() }
}

pub(crate) fn job(name: &str, actions: Vec<Action>, stop: Stop) -> Job {
    Job {
        name: name.to_owned(),
        workers: 1,
        kind: WorkerKind::Thread,
        body: Body::Loop { actions },
        arrival: Arrival::Closed {},
        backend: Backend::Psync {},
        queue_depth: 1,
        batch: Batch::default(),
        delay_s: 0.0,
        ends: Ends::Nothing,
        team: String::new(),
        open: OpenFlags {
            direct: Direct::Off,
            sync: false,
            dsync: false,
            append: false,
            no_access_time: false,
            advice: String::new(),
        },
        affinity: Affinity::default(),
        huge_pages: false,
        limit: RateLimit::default(),
        stop,
        timed: Vec::new(),
    }
}

pub(crate) fn phase(jobs: Vec<Job>, before: Vec<Step>) -> Phase {
    Phase {
        name: "phase".to_owned(),
        title: "phase".to_owned(),
        stands_for: String::new(),
        cell: None,
        repeat: 0,
        cache: CacheCondition::AsIs,
        before,
        gate: None,
        jobs,
        // For one that hangs: a disk that others use was once more than ten times as slow as usual.
        stop: Stop { seconds: Some(600.0), of: StopOf::Each, ..Stop::default() },
        extend_to_s: None,
        steady: None,
        ramp_s: 0.0,
        after: Vec::new(),
    }
}

/// A job that sleeps and then looks at a file. What is to take about so long, on a machine of any speed, is held against
/// one that sleeps a few times longer and has to share the CPUs with it.
pub(crate) fn sleeper(seconds: f64) -> Job {
    let sleep = Action::Think { seconds: fixed(seconds), burn: false };
    job("sleeper", vec![sleep, act(on_set(OpKind::Stat, "wake", 0.0, None))], passes(1))
}
