//! Whatever comes in through standard input is taken or refused in words: 500 changed Plans and control lines each, more with
//! `ASSAY_FUZZ`.

use assay_engine::check::{check_events, check_plan};
use assay_engine::control::{self, Stopper};
use assay_engine::plan::{Action, Arrival, Backend, Body, Fallback, Job, OpKind, Plan, Spacing, Stop};
use assay_engine::run;
use plans::{act, job, on_set, on_slot, passes, set, sleeper};
use serde_json::{Value, json};
use std::env;
use std::panic::catch_unwind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

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
    env::var("ASSAY_FUZZ").ok().and_then(|text| text.parse().ok()).unwrap_or(500)
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
        Action::Every { times: 2, actions: vec![act(on_slot(OpKind::Fsync, "fsync", 0.0))] },
        act(on_slot(OpKind::Close, "close", 0.0)),
    ];
    let queued = Job {
        backend: Backend::IoUring { sqpoll: false, sqpoll_cpu: None, iopoll: false, fallback: Fallback::Threads },
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
    let plan = |jobs| plans::plan("file:///somewhere/else".to_owned(), set(20, 0.5, 65_536.0), jobs);
    phases.map(|jobs| serde_json::to_string(&plan(jobs)).unwrap()).collect()
}

/// A sample with a few places changed, or a few of its values.
fn changed(samples: &[String], chance: &mut fastrand::Rng) -> String {
    if chance.bool() {
        let lines: Vec<_> = samples[chance.usize(..samples.len())].lines().map(|line| revalued(line, chance)).collect();
        return lines.join("\n");
    }
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

/// A document with one to three values left out, moved, nested or replaced.
fn revalued(line: &str, chance: &mut fastrand::Rng) -> String {
    let Ok(mut document) = serde_json::from_str::<Value>(line) else { return line.to_owned() };
    for _ in 0..[1, 1, 2, 3][chance.usize(..4)] {
        let mut places = Vec::new();
        collect(&document, &mut String::new(), &mut places);
        let Some(place) = chance.choice(&places) else { break };
        let value = document.pointer(place).cloned().unwrap_or_default();
        let other = chance.choice(&places).and_then(|place| document.pointer(place)).cloned().unwrap_or_default();
        let (parent, key) = place.rsplit_once('/').expect("a pointer begins with a slash");
        match (chance.u8(..6), document.pointer_mut(parent)) {
            (0, Some(Value::Object(fields))) => drop(fields.remove(key)),
            (1, Some(Value::Array(items))) => items.extend(std::iter::repeat_n(value, chance.usize(..300))),
            (1, Some(Value::Object(fields))) => drop(fields.insert(key.to_uppercase(), value)),
            _ => {
                let put = match chance.u8(..4) {
                    0 => other,
                    1 => (0..[1, 3, 60, 120][chance.usize(..4)]).fold(value, |inner, _| json!([inner])),
                    _ => odd(chance),
                };
                if let Some(there) = document.pointer_mut(place) {
                    *there = put;
                }
            }
        }
    }
    document.to_string()
}

/// Every value of a document, by its pointer (RFC 6901).
fn collect(value: &Value, at: &mut String, places: &mut Vec<String>) {
    let length = at.len();
    let mut each = |key: &str, inner: &Value| {
        *at += &format!("/{}", key.replace('~', "~0").replace('/', "~1"));
        places.push(at.clone());
        collect(inner, at, places);
        at.truncate(length);
    };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, inner)| each(key, inner)),
        Value::Array(items) => items.iter().enumerate().for_each(|(index, inner)| each(&index.to_string(), inner)),
        _ => {}
    }
}

/// Values at the borders of what holds them.
fn odd(chance: &mut fastrand::Rng) -> Value {
    let values = [
        json!(null),
        json!(true),
        json!(0),
        json!(1),
        json!(-1),
        json!(-0.0),
        json!(0.5),
        json!(1_u64 << 31),
        json!(u32::MAX),
        json!(1_u64 << 32),
        json!((1_u64 << 53) + 1),
        json!(i64::MAX),
        json!(i64::MIN),
        json!(u64::MAX),
        json!(f64::MAX),
        json!(f64::MIN_POSITIVE),
        json!(5e-324),
        json!(9e18),
        json!(1e300),
        json!(""),
        json!("\0"),
        json!(".."),
        json!("/dev/zero"),
        json!("file:///"),
        json!("\u{202e}\u{1b}[2J"),
        json!("x".repeat(300)),
        json!("x".repeat(70_000)),
        json!([]),
        json!({}),
        json!([[]]),
        json!([null]),
        json!({"kind": "op"}),
        json!({"kind": "repeat", "times": u64::MAX, "actions": []}),
        json!({"kind": "fixed", "value": 1e300}),
    ];
    values[chance.usize(..values.len())].clone()
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

const LONGEST_CASE: Duration = Duration::from_secs(10);
const MOST_MEMORY_BYTES: u64 = 1 << 30;

/// Have each case looked at; one that panics, takes the machine's memory or does not end is shown.
fn fuzz(samples: &[String], look: impl Fn(&str) + std::panic::RefUnwindSafe) {
    let at = Arc::new(AtomicU64::new(0));
    watch(Arc::downgrade(&at));
    let before_bytes = peak_bytes();
    for case in 0..cases() {
        at.store(case, Ordering::Relaxed);
        let mut chance = fastrand::Rng::with_seed(seed() << 32 | case);
        let text = changed(samples, &mut chance);
        if catch_unwind(|| look(&text)).is_err() {
            panic!("case {case} of seed {}: {text}", seed());
        }
        let grown_bytes = peak_bytes() - before_bytes;
        assert!(grown_bytes < MOST_MEMORY_BYTES, "case {case} of seed {} took {grown_bytes} bytes: {text}", seed());
    }
    // `make prove` reads it.
    println!("{}: {} tried", std::thread::current().name().unwrap_or_default(), cases());
}

/// End the program when a case does not.
fn watch(at: std::sync::Weak<AtomicU64>) {
    std::thread::spawn(move || {
        let (mut last, mut since) = (u64::MAX, Instant::now());
        while let Some(now) = at.upgrade().map(|at| at.load(Ordering::Relaxed)) {
            if now != last {
                (last, since) = (now, Instant::now());
            } else if since.elapsed() > LONGEST_CASE {
                eprintln!("case {now} of seed {} does not end", seed());
                std::process::abort();
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    });
}

/// Most memory that this process had so far.
fn peak_bytes() -> u64 {
    // SAFETY: a struct of numbers may be all zeros, and getrusage writes nothing but it.
    let usage = unsafe {
        let mut usage = std::mem::zeroed::<libc::rusage>();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    usage.ru_maxrss as u64 * 1024
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
        assert!(stopper.flag().load(Ordering::Relaxed));
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
