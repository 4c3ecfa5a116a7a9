use crate::backend::uri::uri_of;
use crate::clock::Clock;
use crate::control::{Inbox, Message, Stopper};
use crate::emit::Emitter;
use crate::events::{Control, ErrorClass, Event, Outcome, PhaseFinished, StoppedBy};
use crate::job::JobShared;
use crate::observe::capabilities;
use crate::plan::Plan;
use serde_json::json;
use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

/// File set whose second worker panics after the start.
const PANICS: &str = "panics";

pub(super) fn panic_if_asked(job: &JobShared, worker: u32) {
    let is_asked = worker == 1 && job.sets.iter().any(|set| set.set().name == PANICS);
    assert!(!is_asked, "as the test asked it to");
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn plan(uri: &str, kind: &str) -> Plan {
    let never = json!({"seconds": null, "ops": null, "bytes": null, "passes": null, "of": "each"});
    let read = json!({
        "op": "read", "name": "read", "size": {"kind": "fixed", "value": 4096.0},
        "file": {"kind": "set", "set": PANICS, "pick": {"kind": "own"}, "slot": null},
        "access": {"kind": "random", "region": {"kind": "whole"}, "coverage": "with_repeats", "align_bytes": 0,
                   "distribution": {"kind": "uniform", "min": 0.0, "max": 1.0}},
        "flags": {"dsync": false, "nowait": false, "cached_first": false, "high_priority": false, "vectors": 0, "advice": "",
                  "keeps_buffer": false, "cold_buffer": false, "chunk_bytes": 0, "argv": []},
    });
    let job = json!({
        "name": "readers", "workers": 3, "as": kind, "arrival": {"kind": "closed"}, "backend": {"kind": "psync"},
        "queue_depth": 1, "affinity": {"cpus": [], "numa_node": null}, "timed": [], "stop": never,
        "limit": {"ops_per_s": null, "bytes_per_s": null},
        "open": {"direct": "off", "sync": false, "dsync": false, "append": false, "no_access_time": false, "advice": ""},
        "body": {"kind": "loop", "actions": [{"kind": "op", "op": read}]},
    });
    let plan = json!({
        "schema": "assay.plan/1", "name": "workers", "seed": 1, "sample_interval_s": 0.1, "reserve_bytes": 0,
        "origin": {"front_end": "native", "source": "", "sha256": ""}, "untranslated": [],
        "targets": [{"name": "here", "uri": uri}],
        "file_sets": [{
            "name": PANICS, "target": "here", "path": "data", "files": 1, "size": {"kind": "fixed", "value": 65536.0},
            "layout": {"kind": "flat"}, "file_name": "f{index}", "existing_share": 1.0, "reuse": "never",
            "content": {"compress_ratio": 1.0, "dedupe_ratio": 1.0, "stamped": false}, "allocate": "write",
            "create_workers": 1, "keep": false,
        }],
        "phases": [{
            "name": "phase", "title": "phase", "repeat": 0, "cache": "as_is", "ramp_s": 0.0, "after": [],
            "before": [{"kind": "prepare", "set": PANICS}], "jobs": [job], "stop": never,
        }],
    });
    serde_json::from_value(plan).unwrap()
}

/// Carry the Plan out; how it ended and its messages.
fn run(plan: &Plan) -> (Outcome, Vec<Event>) {
    let lines = Lines::default();
    let emitter = Emitter::new(Clock::start(), lines.clone());
    let (sender, messages) = mpsc::channel();
    let stopper = Stopper::new(sender.clone());
    sender.send(Message::Control(Control::StartWhenReady {})).unwrap();
    let (inbox, capabilities) = (Inbox::new(messages), capabilities::probe());
    let outcome = crate::run::run(plan, &emitter, &inbox, &sender, &stopper, &capabilities);
    let text = lines.0.lock().unwrap();
    let events = text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    (outcome, events.map(|line| serde_json::from_slice(line).unwrap()).collect())
}

fn finished(events: &[Event]) -> &PhaseFinished {
    let phase = events.iter().find_map(|event| match event {
        Event::PhaseFinished(finished) => Some(finished),
        _ => None,
    });
    phase.expect("the phase has ended")
}

#[test]
fn a_worker_that_panics_ends_the_phase_and_the_others_and_leaves_no_data() {
    for kind in ["thread", "process"] {
        let folder = tempfile::tempdir().unwrap();

        let (outcome, events) = run(&plan(&uri_of(folder.path()), kind));

        assert_eq!(outcome, Outcome::Failed);
        let (text, class) = events
            .iter()
            .find_map(|event| match event {
                Event::Error { text, class, .. } => Some((text, *class)),
                _ => None,
            })
            .unwrap();
        assert!(text.contains("job 'readers': worker 1 is gone"), "{text}");
        assert!(text.contains(kind) && text.contains("panicked: as the test asked it to"), "{text}");
        assert_eq!(class, ErrorClass::Environment);
        let phase = finished(&events);
        assert_eq!(phase.workers.iter().map(|worker| worker.stopped_by).collect::<Vec<_>>(), [StoppedBy::Error; 3]);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

/// Takes longer for an interval than that lasts, as many workers on a busy machine do, and stops the run at the third.
struct Slow {
    stopper: Stopper,
    intervals: Arc<AtomicUsize>,
}

/// So many more than three are not to come.
const MANY: usize = 50;

impl Write for Slow {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.starts_with(br#"{"event":"interval""#) {
            let seen = self.intervals.fetch_add(1, Relaxed) + 1;
            if seen == 3 {
                self.stopper.stop();
            }
            // An engine that does not hear the stop is to hear it in the end, and the test to fail.
            if seen < MANY {
                std::thread::sleep(Duration::from_millis(30));
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_stop_is_heard_although_every_tick_takes_longer_than_an_interval() {
    let folder = tempfile::tempdir().unwrap();
    let mut plan = plan(&uri_of(folder.path()), "thread");
    plan.sample_interval_s = 0.01;
    plan.phases[0].jobs[0].workers = 1;
    let (sender, messages) = mpsc::channel();
    let (stopper, intervals) = (Stopper::new(sender.clone()), Arc::<AtomicUsize>::default());
    let slow = Slow { stopper: stopper.clone(), intervals: Arc::clone(&intervals) };
    sender.send(Message::Control(Control::StartWhenReady {})).unwrap();
    let (inbox, capabilities) = (Inbox::new(messages), capabilities::probe());
    let emitter = Emitter::new(Clock::start(), slow);

    let outcome = crate::run::run(&plan, &emitter, &inbox, &sender, &stopper, &capabilities);

    assert_eq!(outcome, Outcome::Stopped);
    assert!(intervals.load(Relaxed) < MANY, "{intervals:?}");
}
