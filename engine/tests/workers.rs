//! Workers as a user meets them: the engine as a program, a Plan on its input, events on its output.

use assay_engine::backend::uri::uri_of;
use assay_engine::events::{Event, Outcome, PhaseFinished, StoppedBy, WorkerWindow};
use assay_engine::plan::Plan;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant, SystemTime};
use tempfile::TempDir;

/// An engine at work; it is killed when a test fails half-way.
struct Engine {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    directory: TempDir,
}

impl Engine {
    /// Carry out one phase on a file of 4 MiB.
    fn start(jobs: Vec<Value>, phase_stop: Value) -> Self {
        let mut engine = Self::without_a_plan();
        let plan = plan(&uri_of(engine.directory.path()), jobs, phase_stop);
        let _: Plan = serde_json::from_value(plan.clone()).expect("the test's Plan is one");
        engine.tell(plan);
        engine
    }

    fn without_a_plan() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_assay-engine"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, input, output, directory: TempDir::new().unwrap() }
    }

    fn next(&mut self) -> Option<Event> {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        (!line.is_empty()).then(|| serde_json::from_str(&line).unwrap())
    }

    fn tell(&mut self, control: Value) {
        writeln!(self.input, "{control}").unwrap();
    }

    /// Read on until the phase has started.
    fn until_started(&mut self) {
        while let Some(event) = self.next() {
            match event {
                Event::Ready { .. } => {
                    self.tell(json!({"control": "start", "phase_index": 0, "at_monotonic_ns": 0}));
                }
                Event::Started { .. } => return,
                Event::Error { text, .. } => panic!("{text}"),
                _ => {}
            }
        }
        panic!("the engine ended before the phase began");
    }

    /// Read on until the workers have done something.
    fn until_busy(&mut self) {
        let has_ops =
            |event: &Event| matches!(event, Event::Interval(i) if i.workers.iter().all(|worker| worker.ops > 0));
        while !has_ops(&self.next().expect("the workers do something before the engine ends")) {}
    }

    /// Its outcome, if it ends before the patience of a test does.
    fn outcome(self) -> Option<Outcome> {
        let pid = self.child.id() as i32;
        let (ended, has_ended) = mpsc::channel::<()>();
        let watchdog = std::thread::spawn(move || {
            if has_ended.recv_timeout(Duration::from_secs(60)) == Err(RecvTimeoutError::Timeout) {
                // SAFETY: a child that nobody has waited for yet.
                unsafe { libc::kill(pid, libc::SIGKILL) };
            }
        });
        let (mut engine, mut outcome) = (self, None);
        while let Some(event) = engine.next() {
            if let Event::Finished { outcome: how, .. } = event {
                outcome = Some(how);
            }
        }
        drop(ended);
        watchdog.join().unwrap();
        outcome
    }

    /// The rest of the events.
    fn rest(mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.next()).collect()
    }

    /// Processes of its workers.
    fn workers(&self) -> Vec<i32> {
        let engine = self.child.id();
        let children = std::fs::read_to_string(format!("/proc/{engine}/task/{engine}/children")).unwrap();
        children.split_ascii_whitespace().map(|pid| pid.parse().unwrap()).collect()
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn plan(uri: &str, jobs: Vec<Value>, phase_stop: Value) -> Value {
    json!({
        "schema": "assay.plan/1", "name": "workers", "seed": 1, "sample_interval_s": 0.1, "reserve_bytes": 0,
        "origin": {"front_end": "native", "source": "", "sha256": ""}, "untranslated": [],
        "targets": [{"name": "here", "uri": uri}],
        "file_sets": [{
            "name": "data", "target": "here", "path": "data", "files": 1, "size": {"kind": "fixed", "value": 4_194_304.0},
            "layout": {"kind": "flat"}, "file_name": "f{index}", "existing_share": 1.0, "reuse": "never",
            "content": {"compress_ratio": 1.0, "dedupe_ratio": 1.0, "stamped": false}, "allocate": "write",
            "create_workers": 1, "keep": false,
        }],
        "phases": [{
            "name": "phase", "title": "phase", "repeat": 0, "cache": "as_is", "ramp_s": 0.0, "after": [],
            "before": [{"kind": "prepare", "set": "data"}], "jobs": jobs, "stop": phase_stop,
        }],
    })
}

fn stop(seconds: Option<f64>, ops: Option<u64>, of: &str) -> Value {
    json!({"seconds": seconds, "ops": ops, "bytes": null, "passes": null, "of": of})
}

fn job(name: &str, stop: Value) -> Value {
    json!({
        "name": name, "workers": 2, "as": "thread", "arrival": {"kind": "closed"}, "backend": {"kind": "psync"},
        "queue_depth": 1, "affinity": {"cpus": [], "numa_node": null}, "timed": [], "stop": stop,
        "limit": {"ops_per_s": null, "bytes_per_s": null},
        "open": {"direct": "off", "sync": false, "dsync": false, "append": false, "no_access_time": false, "advice": ""},
        "body": {"kind": "loop", "actions": [{"kind": "op", "op": {
            "op": "read", "name": "read", "size": {"kind": "fixed", "value": 4096.0},
            "file": {"kind": "set", "set": "data", "pick": {"kind": "own"}, "slot": null},
            "access": {"kind": "random", "region": {"kind": "whole"}, "coverage": "with_repeats", "align_bytes": 0,
                       "distribution": {"kind": "uniform", "min": 0.0, "max": 1.0}},
            "flags": {"dsync": false, "nowait": false, "cached_first": false, "high_priority": false, "vectors": 0, "advice": "", "keeps_buffer": false, "cold_buffer": false,
                      "chunk_bytes": 0, "argv": []},
        }}]},
    })
}

fn with(mut job: Value, key: &str, value: Value) -> Value {
    job[key] = value;
    job
}

fn finished(events: &[Event]) -> &PhaseFinished {
    let found = events.iter().find_map(|event| match event {
        Event::PhaseFinished(finished) => Some(finished),
        _ => None,
    });
    found.unwrap_or_else(|| panic!("no phase has finished: {events:?}"))
}

fn error(events: &[Event]) -> &str {
    let found = events.iter().find_map(|event| match event {
        Event::Error { text, .. } => Some(text),
        _ => None,
    });
    found.unwrap_or_else(|| panic!("no error came: {events:?}"))
}

fn of_job<'a>(phase: &'a PhaseFinished, job: &str) -> Vec<&'a WorkerWindow> {
    phase.workers.iter().filter(|worker| worker.job == job).collect()
}

#[test]
fn processes_count_together_what_a_rule_for_all_of_them_allows() {
    let job = with(job("readers", stop(None, Some(5000), "all")), "as", json!("process"));
    let mut engine = Engine::start(vec![with(job, "workers", json!(3))], stop(None, None, "each"));
    engine.until_started();

    let events = engine.rest();

    let phase = finished(&events);
    assert_eq!(phase.workers.iter().map(|worker| worker.completed).sum::<u64>(), 5000);
    assert_eq!(phase.workers.len(), 3);
    let recorded: u64 = events
        .iter()
        .filter_map(|event| match event {
            Event::Interval(interval) => Some(interval.operations.iter().map(|o| o.latency.count.iter().sum::<u64>())),
            _ => None,
        })
        .flatten()
        .sum();
    assert_eq!(recorded, 5000);
}

#[test]
fn a_worker_process_that_is_killed_ends_the_phase_with_an_error_that_names_it() {
    let job = with(job("readers", stop(Some(60.0), None, "each")), "as", json!("process"));
    let mut engine = Engine::start(vec![job], stop(None, None, "each"));
    engine.until_started();
    let workers = engine.workers();
    assert_eq!(workers.len(), 2);
    engine.until_busy();

    // SAFETY: a child of the engine that this test has started, alive until now.
    assert_eq!(unsafe { libc::kill(workers[1], libc::SIGKILL) }, 0);
    let events = engine.rest();

    let text = error(&events);
    assert!(text.contains("job 'readers': worker 1 is gone"), "{text}");
    assert!(text.contains(&format!("process {} was ended by signal 9 (SIGKILL", workers[1])), "{text}");
    let phase = finished(&events);
    assert_eq!(phase.stopped_by, StoppedBy::Error);
    assert!(phase.workers[0].completed > 0);
    assert!(workers.iter().all(|pid| !std::path::Path::new(&format!("/proc/{pid}")).exists()));
}

#[test]
fn worker_processes_die_with_the_engine() {
    let job = with(job("readers", stop(Some(60.0), None, "each")), "as", json!("process"));
    let mut engine = Engine::start(vec![job], stop(None, None, "each"));
    engine.until_started();
    let workers = engine.workers();

    engine.child.kill().unwrap();
    engine.child.wait().unwrap();

    let gone = |pid: &i32| {
        // Whoever adopts an orphan may take its time to reap it.
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.is_empty() || stat.contains(") Z ") || stat.contains(") X ")
    };
    let deadline = Instant::now() + Duration::from_secs(60);
    while !workers.iter().all(gone) {
        assert!(Instant::now() < deadline, "workers outlive their engine");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn the_first_worker_that_is_done_ends_its_own_job_and_no_other() {
    let jobs = vec![
        with(job("walled", stop(None, Some(3000), "first")), "workers", json!(3)),
        job("other", stop(None, Some(9000), "each")),
    ];
    let mut engine = Engine::start(jobs, stop(None, None, "each"));
    engine.until_started();

    let events = engine.rest();

    let phase = finished(&events);
    let walled = of_job(phase, "walled");
    assert!(walled.iter().any(|worker| worker.stopped_by == StoppedBy::Ops && worker.completed == 3000));
    for worker in &walled {
        assert!(matches!(worker.stopped_by, StoppedBy::Ops | StoppedBy::Stonewall), "{worker:?}");
        assert_eq!(worker.completed == 3000, worker.stopped_by == StoppedBy::Ops, "{worker:?}");
    }
    assert!(of_job(phase, "other").iter().all(|worker| worker.completed == 9000));
}

#[test]
fn a_phase_goes_on_to_its_longest_time_or_until_it_is_told_that_its_rate_is_steady() {
    for (kind, of) in [("thread", "each"), ("process", "each"), ("thread", "first")] {
        let jobs = || vec![with(job("readers", stop(None, None, "each")), "as", json!(kind))];
        let mut engine = Engine::without_a_plan();
        let mut plan = plan(&uri_of(engine.directory.path()), jobs(), stop(Some(0.1), None, of));
        let mut second = with(plan["phases"][0].clone(), "name", json!("second"));
        plan["phases"][0]["extend_to_s"] = json!(3600.0);
        second["extend_to_s"] = json!(0.4);
        plan["phases"].as_array_mut().unwrap().push(second);
        engine.tell(plan);
        engine.until_started();
        engine.until_busy();

        engine.tell(json!({"control": "end_phase", "phase_index": 0}));
        let mut phases = Vec::new();
        while let Some(event) = engine.next() {
            match event {
                Event::Ready { phase_index, .. } => {
                    engine.tell(json!({"control": "start", "phase_index": phase_index, "at_monotonic_ns": 0}));
                }
                // It comes late.
                Event::Started { .. } => engine.tell(json!({"control": "end_phase", "phase_index": 0})),
                Event::Warning { text, .. } => panic!("{text}"),
                Event::PhaseFinished(finished) => phases.push(finished),
                _ => {}
            }
        }

        let [first, second] = &phases[..] else { panic!("{phases:?}") };
        assert_eq!(first.stopped_by, StoppedBy::Steady);
        assert!(first.workers.iter().all(|worker| worker.stopped_by == StoppedBy::Steady && worker.abandoned == 0));
        let lasts = second.workers.iter().filter(|worker| worker.stopped_by == StoppedBy::Time);
        let last_ns = lasts.map(|worker| worker.last_op_ns.unwrap()).max().unwrap();
        assert!(last_ns - second.start_ns >= 400_000_000, "{second:?}");
    }
}

#[test]
fn the_host_is_looked_at_first_and_last_and_every_tenth_of_a_second_in_between() {
    let mut engine = Engine::without_a_plan();
    let jobs = vec![job("readers", stop(None, None, "each"))];
    let mut plan = plan(&uri_of(engine.directory.path()), jobs, stop(Some(0.7), None, "each"));
    plan["sample_interval_s"] = json!(0.01);
    engine.tell(plan);
    engine.tell(json!({"control": "start_when_ready"}));

    let events = engine.rest();

    let intervals: Vec<_> =
        events.iter().filter_map(|e| if let Event::Interval(i) = e { Some(i) } else { None }).collect();
    let looks: Vec<usize> = (0..intervals.len()).filter(|&at| !intervals[at].host.is_empty()).collect();
    assert_eq!((looks[0], *looks.last().unwrap()), (0, intervals.len() - 1));
    assert!(intervals.iter().all(|interval| interval.workers.len() == 2));
    for pair in looks.windows(2) {
        let (from, to) = (intervals[pair[0]], intervals[pair[1]]);
        let before = intervals[pair[1] - 1];
        // Not yet at the tick before, and, but for the last, due at this one.
        let is_due = |at: &assay_engine::events::Interval| at.t_ns + at.dt_ns / 2 >= from.t_ns + 100_000_000;
        assert!(pair[1] - 1 == pair[0] || !is_due(before), "{pair:?}");
        assert!(is_due(to) || pair[1] == intervals.len() - 1, "{pair:?}");
    }
}

#[test]
fn a_longest_time_that_extends_nothing_is_refused() {
    for (seconds, said) in [(None, "this phase has none"), (Some(2.0), "it must be above stop.seconds, 2")] {
        let mut engine = Engine::without_a_plan();
        let jobs = vec![job("readers", stop(None, None, "each"))];
        let mut plan = plan(&uri_of(engine.directory.path()), jobs, stop(seconds, None, "each"));
        plan["phases"][0]["extend_to_s"] = json!(2.0);

        engine.tell(plan);

        let events = engine.rest();
        assert!(error(&events).contains(said), "{}", error(&events));
    }
}

#[test]
fn a_stonewall_of_the_phase_ends_the_jobs_that_have_no_rule() {
    let jobs = vec![job("short", stop(None, Some(100), "each")), job("endless", stop(None, None, "each"))];
    let mut engine = Engine::start(jobs, stop(None, None, "first"));
    engine.until_started();

    let events = engine.rest();

    let phase = finished(&events);
    assert!(of_job(phase, "short").iter().any(|worker| worker.completed == 100));
    assert!(of_job(phase, "endless").iter().all(|worker| worker.stopped_by == StoppedBy::Stonewall));
}

#[test]
fn a_stop_reaches_a_worker_that_waits_for_a_far_arrival() {
    let arrival = json!({"kind": "open", "rate_per_s": 0.01, "spacing": "uniform"});
    let job = with(job("rare", stop(None, None, "each")), "arrival", arrival);
    let mut engine = Engine::start(vec![job], stop(None, None, "each"));
    engine.until_started();

    engine.tell(json!({"control": "stop"}));
    let events = engine.rest();

    assert_eq!(finished(&events).stopped_by, StoppedBy::Control);
}

#[test]
fn a_stop_is_heard_while_a_far_start_is_waited_for() {
    for kind in ["thread", "process"] {
        let job = with(job("readers", stop(None, None, "each")), "as", json!(kind));
        let mut engine = Engine::start(vec![job], stop(None, None, "each"));
        while !matches!(engine.next().unwrap(), Event::Ready { .. }) {}
        let in_an_hour = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap() + Duration::from_secs(3600);

        let at = in_an_hour.as_nanos() as u64;
        engine.tell(json!({"control": "start", "phase_index": 0, "at_monotonic_ns": at}));
        engine.tell(json!({"control": "stop"}));

        assert_eq!(engine.outcome(), Some(Outcome::Stopped), "{kind}");
    }
}

#[test]
fn a_pause_that_begins_before_the_agreed_start_is_part_of_the_phase() {
    let job = job("readers", stop(Some(0.1), None, "each"));
    let mut engine = Engine::start(vec![job], stop(Some(0.1), None, "each"));
    while !matches!(engine.next().unwrap(), Event::Ready { .. }) {}
    let pid = engine.child.id() as i32;
    // A pause between two sleeps is not seen (`observe/pauses.rs`): it has to be asleep.
    let is_asleep = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap().contains(") S ");
    while !is_asleep() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time is written to a place of this function.
    assert_eq!(unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) }, 0);
    let at = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64 + 300_000_000;

    // SAFETY: a child of this test, alive while it waits for its start.
    assert_eq!(unsafe { libc::kill(pid, libc::SIGSTOP) }, 0);
    engine.tell(json!({"control": "start", "phase_index": 0, "at_monotonic_ns": at}));
    std::thread::sleep(Duration::from_millis(1500));
    // SAFETY: as above.
    assert_eq!(unsafe { libc::kill(pid, libc::SIGCONT) }, 0);
    let events = engine.rest();

    let late_ns = events.iter().find_map(|event| match event {
        Event::Started { late_ns, .. } => *late_ns,
        _ => None,
    });
    let paused = events.iter().filter(|event| matches!(event, Event::Paused { phase_index: 0, .. })).count();
    assert!(late_ns.is_some_and(|late_ns| late_ns >= 1_000_000_000), "{late_ns:?}");
    assert_eq!(paused, 1);
}

#[test]
fn a_signal_is_heard_before_a_plan_has_come() {
    let mut engine = Engine::without_a_plan();
    assert!(matches!(engine.next(), Some(Event::Hello { .. })));

    // SAFETY: a child of this test, alive until it is told to end.
    assert_eq!(unsafe { libc::kill(engine.child.id() as i32, libc::SIGTERM) }, 0);

    assert_eq!(engine.outcome(), Some(Outcome::Stopped));
}

#[test]
fn phases_start_as_soon_as_they_are_ready_when_that_was_said_once() {
    let once = stop(None, Some(100), "each");
    let mut plan = plan("file:///", vec![job("readers", once.clone())], stop(None, None, "each"));
    let mut engine = Engine::without_a_plan();
    plan["targets"][0]["uri"] = json!(uri_of(engine.directory.path()));
    let mut second = plan["phases"][0].clone();
    second["before"] = json!([]);
    plan["phases"].as_array_mut().unwrap().push(second);

    engine.tell(plan);
    engine.tell(json!({"control": "start_when_ready"}));
    let events = engine.rest();

    let phases: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::PhaseFinished(phase) => Some(phase),
            _ => None,
        })
        .collect();
    assert_eq!(phases.len(), 2, "{events:?}");
    for (index, phase) in (0..).zip(phases) {
        assert_eq!((phase.phase_index, phase.workers.len()), (index, 2));
        assert!(phase.workers.iter().all(|worker| worker.completed == 100));
        // The counters at the start are from before the first operation of any worker.
        let first = events.iter().find_map(|event| match event {
            Event::Interval(interval) if interval.phase_index == index => Some(interval),
            _ => None,
        });
        let first = first.unwrap();
        assert!(first.operations.is_empty() && first.workers.iter().all(|worker| worker.ops == 0));
        assert!(first.t_ns <= phase.start_ns);
        assert!(phase.workers.iter().all(|worker| worker.first_op_ns.unwrap() >= phase.start_ns));
    }
}

#[test]
fn a_schedule_that_cannot_be_kept_counts_what_was_not_issued() {
    let arrival = json!({"kind": "open", "rate_per_s": 1e9, "spacing": "uniform"});
    let job = with(job("flood", stop(Some(0.2), None, "each")), "arrival", arrival);
    let mut engine = Engine::start(vec![job], stop(None, None, "each"));
    engine.until_started();

    let events = engine.rest();

    let phase = finished(&events);
    let arrivals = phase.jobs[0].arrivals.as_ref().unwrap();
    let issued: u64 = phase.workers.iter().map(|worker| worker.started).sum();
    assert_eq!(arrivals.scheduled, 200_000_000);
    assert_eq!(arrivals.scheduled - arrivals.unissued, issued);
    assert!(arrivals.missed <= issued);
}

#[test]
fn a_cpu_or_node_that_is_not_there_is_named() {
    // The first that this process, and so the engine, may not run on.
    // SAFETY: a zeroed set is the empty set; the call looks at the first 1024 bits, which it has.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set);
        set
    };
    // SAFETY: as above.
    let cpu = (0..libc::CPU_SETSIZE as usize).find(|&cpu| !unsafe { libc::CPU_ISSET(cpu, &set) }).unwrap();
    for (affinity, said) in [
        (
            json!({"cpus": [cpu], "numa_node": null}),
            &*format!("job 'bound': CPU {cpu} is not one that the engine may run on"),
        ),
        (json!({"cpus": [], "numa_node": 1000}), "NUMA node"),
    ] {
        let job = with(job("bound", stop(Some(1.0), None, "each")), "affinity", affinity);

        let events = Engine::start(vec![job], stop(None, None, "each")).rest();

        assert!(error(&events).contains(said), "{}", error(&events));
    }
    let ring = json!({"kind": "io_uring", "sqpoll": true, "sqpoll_cpu": cpu, "iopoll": false, "fallback": "refuse"});
    let job = with(job("polled", stop(Some(1.0), None, "each")), "backend", ring);

    let events = Engine::start(vec![job], stop(None, None, "each")).rest();

    let said = format!("job 'polled': sqpoll_cpu {cpu} is not a CPU that the engine may run on");
    assert!(error(&events).contains(&said), "{}", error(&events));
}

#[test]
fn a_start_is_when_it_was_agreed_or_told_as_late() {
    for ahead_ns in [60_000_000_i64, -2_000_000_000] {
        let mut engine = Engine::start(vec![job("readers", stop(None, Some(9), "each"))], stop(None, None, "each"));
        let Some(Event::Hello { clock, .. }) = engine.next() else { panic!("no hello") };
        while !matches!(engine.next().unwrap(), Event::Ready { .. }) {}
        let now_ns = assay_engine::clock::read_ns(libc::CLOCK_MONOTONIC);
        let at = (now_ns as i64 + ahead_ns) as u64;

        engine.tell(json!({"control": "start", "phase_index": 0, "at_monotonic_ns": at}));
        let (start_ns, late_ns) = loop {
            if let Event::Started { start_ns, late_ns, .. } = engine.next().unwrap() {
                break (start_ns, late_ns.unwrap());
            }
        };
        let first_ns = finished(&engine.rest()).workers.iter().map(|worker| worker.first_op_ns.unwrap()).min().unwrap();

        assert_eq!(clock.monotonic_at_zero_ns + start_ns - late_ns, at);
        // A busy machine may be late by some milliseconds for the other, too.
        assert_eq!(late_ns >= 2_000_000_000, ahead_ns < 0);
        assert!(first_ns >= start_ns);
    }
}
