//! Whatever comes in through standard input is taken or refused in words: 10,000 changed Plans and control lines, more with
//! `ASSAY_FUZZ`.

use assay_engine::check::{check_events, check_plan};
use assay_engine::control::{self, Stopper};
use assay_engine::plan::{
    Action, Arrival, Backend, Body, Fallback, Job, OpKind, Origin, Plan, Spacing, Step, Stop, Target,
};
use assay_engine::run;
use plans::{act, job, on_set, on_slot, passes, phase, set, sleeper};
use std::collections::BTreeMap;
use std::env;
use std::panic::catch_unwind;
use std::sync::mpsc;

#[path = "loads/plans.rs"]
mod plans;

const WORDS: [&str; 26] = [
    "0",
    "-1",
    "1",
    "4294967295",
    "4294967296",
    "18446744073709551615",
    "9e18",
    "1e999",
    "-0.0",
    "1e-400",
    "NaN",
    "null",
    "true",
    "\"\"",
    "{}",
    "[]",
    "[[[[[[[[[[[[[[[[",
    "{\"a\":{\"a\":{\"a\":",
    "\0",
    "\u{1b}[2J",
    "..",
    "/dev/zero",
    "\\u0000",
    "\\ud800",
    "\n",
    "99999999999999999999999999999999999999999999999999",
];

const CONTROL: [&str; 3] = [
    "{\"control\":\"stop\"}",
    "{\"control\":\"mark\",\"label\":\"here\",\"source\":\"user\"}",
    "{\"control\":\"start\",\"start_ns\":5}",
];

fn cases() -> u64 {
    env::var("ASSAY_FUZZ").ok().and_then(|text| text.parse().ok()).unwrap_or(10_000)
}

fn seed() -> u64 {
    env::var("ASSAY_FUZZ_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// Whole Plans, with an operation of every kind and whatever else is on the way to them.
fn plans() -> Vec<String> {
    let kinds = [
        OpKind::Read,
        OpKind::Write,
        OpKind::Fsync,
        OpKind::Create,
        OpKind::Open,
        OpKind::Close,
        OpKind::Stat,
        OpKind::Unlink,
        OpKind::Rename,
        OpKind::Link,
        OpKind::Truncate,
        OpKind::Mkdir,
        OpKind::Rmdir,
        OpKind::Readdir,
        OpKind::Copy,
    ];
    let each = kinds.map(|kind| job("each", vec![act(on_set(kind, "each", 4096.0, None))], passes(1)));
    let slots = vec![
        act(on_set(OpKind::Open, "open", 0.0, Some(0))),
        act(on_slot(OpKind::Read, "read", 4096.0)),
        Action::Repeat { times: 3, actions: vec![act(on_slot(OpKind::Write, "write", 512.0))] },
        act(on_slot(OpKind::Close, "close", 0.0)),
    ];
    let queued = Job {
        backend: Backend::IoUring { sqpoll: false, iopoll: false, fallback: Fallback::Threads },
        queue_depth: 32,
        workers: 4,
        arrival: Arrival::Open { rate_per_s: 500.0, spacing: Spacing::Poisson },
        ..job(
            "queued",
            vec![act(on_set(OpKind::Read, "read", 4096.0, None))],
            Stop { seconds: Some(2.0), ..Stop::default() },
        )
    };
    let phases =
        [vec![sleeper(0.5)], vec![job("slots", slots, passes(2)), queued]].into_iter().chain(each.map(|job| vec![job]));
    let plan = |jobs| Plan {
        schema: assay_engine::plan::SCHEMA.to_owned(),
        name: "fuzz".to_owned(),
        origin: Origin {
            front_end: "test".to_owned(),
            source: "test".to_owned(),
            sha256: String::new(),
            counts: BTreeMap::new(),
        },
        seed: 4,
        sample_interval_s: 0.1,
        reserve_bytes: 0,
        targets: vec![Target { name: "here".to_owned(), uri: "file:///somewhere/else".to_owned() }],
        phases: vec![phase(jobs, vec![Step::Prepare { set: "data".to_owned() }])],
        file_sets: vec![set(20, 0.5, 65_536.0)],
        user: None,
        untranslated: Vec::new(),
    };
    phases.map(|jobs| serde_json::to_string(&plan(jobs)).unwrap()).collect()
}

/// A sample with a few places changed.
fn changed(samples: &[String], chance: &mut fastrand::Rng) -> String {
    let mut data = samples[chance.usize(..samples.len())].clone().into_bytes();
    for _ in 0..[1, 1, 1, 2, 4][chance.usize(..5)] {
        let at = chance.usize(..=data.len());
        let end = (at + [1, 1, 2, 8, 60][chance.usize(..5)]).min(data.len());
        match chance.u8(..6) {
            0 => drop(data.drain(at..end)),
            1 => data[at..end].iter_mut().for_each(|byte| *byte = chance.u8(..)),
            2 => data.truncate(at),
            3 => {
                let again = data[at..end].to_vec();
                data.splice(at..at, again);
            }
            _ => {
                let (from, to) = number_at(&data, at).unwrap_or((at, end));
                data.splice(from..to, WORDS[chance.usize(..WORDS.len())].bytes());
            }
        }
    }
    String::from_utf8_lossy(&data).into_owned()
}

/// The next number from a place on.
fn number_at(data: &[u8], at: usize) -> Option<(usize, usize)> {
    let from = at + data[at..].iter().position(u8::is_ascii_digit)?;
    let length = data[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    Some((from, from + length))
}

fn is_without_scripts(plan: &Plan) -> bool {
    plan.phases.iter().flat_map(|phase| &phase.jobs).all(|job| !matches!(job.body, Body::Script { .. }))
}

/// Have each case looked at; one that panics is shown.
fn fuzz(samples: &[String], look: impl Fn(&str) + std::panic::RefUnwindSafe) {
    for case in 0..cases() {
        let mut chance = fastrand::Rng::with_seed(seed() << 32 | case);
        let text = changed(samples, &mut chance);
        if catch_unwind(|| look(&text)).is_err() {
            panic!("case {case} of seed {}: {text}", seed());
        }
    }
}

#[test]
fn a_changed_plan_is_taken_or_refused() {
    let samples = plans();
    assert!(samples.iter().all(|text| check_plan(text).is_ok()), "what is changed is taken as it is");

    fuzz(&samples, |text| {
        if check_plan(text).is_ok() {
            let plan: Plan = serde_json::from_str(text).unwrap();
            // Its files may be any now.
            if is_without_scripts(&plan) {
                let _ = run::check(&plan);
            }
        }
    });
}

#[test]
fn changed_lines_after_a_plan_are_heard_or_told_to_be_unreadable() {
    let samples: Vec<_> =
        plans().iter().map(|plan| format!("{}\n{}\n", plan.replace('\n', ""), CONTROL.join("\n"))).collect();

    fuzz(&samples, |text| {
        let (sender, messages) = mpsc::channel();
        let stopper = Stopper::new(sender.clone());
        control::listen(text.as_bytes(), &sender, &stopper);
        // The end of the input is a stop, whatever came before.
        assert!(stopper.flag().load(std::sync::atomic::Ordering::Relaxed));
        drop((sender, stopper));
        assert!(messages.iter().count() >= 2);
    });
}

#[test]
fn changed_events_are_read_or_refused() {
    let samples: Vec<_> = CONTROL
        .iter()
        .map(|line| (*line).to_owned())
        .chain(["{\"event\":\"ready\",\"t_ns\":18446744073709551615,\"phase_index\":0,\"workers\":4}".to_owned()])
        .collect();

    fuzz(&samples, |text| drop(check_events(text)));
}
