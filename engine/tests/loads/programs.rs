//! Programs that operations run: what they leave, what is said of those that fail, and what they cost.

use crate::harness::{Place, act, job, on_set, on_slot, passes, set};
use assay_engine::plan::{FileRef, Op, OpKind, Pick, Stop, WorkerKind};
use serde_json::{Value, json};
use std::fs;
use std::thread::available_parallelism;
use std::time::Instant;

fn program(mut op: Op, argv: &[&str]) -> Op {
    op.flags.argv = argv.iter().map(|&word| word.to_owned()).collect();
    op
}

/// Run on the next free name.
fn on_new(name: &str, size_bytes: f64, argv: &[&str]) -> Op {
    let mut op = program(on_set(OpKind::Spawn, name, size_bytes, None), argv);
    op.file = FileRef::Set { set: "data".to_owned(), pick: Pick::New {}, slot: None };
    op
}

const DD: [&str; 5] = ["dd", "if=/dev/zero", "of={path}", "bs=512", "count=3"];

#[test]
fn programs_make_the_files_that_they_are_given_and_later_operations_find_them() {
    let place = Place::new();
    let mut made = on_new("dd", 1536.0, &DD);
    made.file = FileRef::Set { set: "data".to_owned(), pick: Pick::New {}, slot: Some(0) };
    let copy = program(on_slot(OpKind::Spawn, "copy", 0.0), &["cp", "{path}", "{path}.copy"]);
    let actions = vec![act(made), act(copy), act(on_slot(OpKind::Stat, "stat", 0.0))];

    let outcome = place.one(set(30, 0.0, 1536.0), actions, Stop::default());

    outcome.check_clean();
    assert_eq!((outcome.ops("dd"), outcome.ops("copy"), outcome.ops("stat")), (30, 30, 30));
    assert_eq!((outcome.sum("dd", "bytes"), outcome.sum("copy", "bytes")), (30 * 1536, 0), "as the Plan says it");
    for index in 0..30 {
        let path = place.path(index);
        assert_eq!(fs::read(&path).unwrap(), vec![0; 1536]);
        assert_eq!(fs::read(path.with_extension("copy")).unwrap(), vec![0; 1536]);
    }
}

#[test]
fn what_a_worker_process_was_at_when_it_died_was_begun_and_given_up() {
    let died = on_new("died", 0.0, &["sh", "-c", "kill -9 $PPID; sleep 1"]);
    let mut job = job("job", vec![act(on_set(OpKind::Stat, "stat", 0.0, None)), act(died)], Stop::default());
    job.kind = WorkerKind::Process;

    let outcome = Place::new().run(set(30, 0.5, 512.0), vec![job]);

    let worker = &outcome.workers()[0];
    assert_eq!((&worker["started"], &worker["completed"], &worker["abandoned"]), (&json!(2), &json!(1), &json!(1)));
}

#[test]
fn a_program_finds_none_of_the_engines_files_open() {
    let place = Place::new();
    let actions = vec![
        act(on_set(OpKind::Write, "write", 512.0, None)),
        act(on_set(OpKind::Open, "open", 0.0, Some(0))),
        act(program(on_slot(OpKind::Spawn, "look", 0.0), &["sh", "-c", "ls -l /proc/self/fd > {path}"])),
    ];

    place.one(set(1, 1.0, 512.0), actions, passes(1)).check_clean();

    // Its output, which the shell opened, and its errors: none of the files that the engine has open.
    let seen = fs::read_to_string(place.path(0)).unwrap();
    let of_engine = |line: &&str| ["assay", "anon_inode"].iter().any(|word| line.contains(word));
    let found: Vec<_> = seen.lines().filter(of_engine).collect();
    assert!(found.len() == 2 && found[0].contains(" 1 -> ") && found[1].contains(" 2 -> /memfd:"), "{seen}");
}

#[test]
fn a_program_that_fails_is_counted_with_its_status_and_its_first_words() {
    let place = Place::new();
    let odd = "case {path} in *[13579]) echo 'odd: no' >&2; exit 7;; esac";

    let outcome = place.one(
        set(10, 1.0, 512.0),
        vec![act(program(on_set(OpKind::Spawn, "pick", 100.0, None), &["sh", "-c", odd]))],
        passes(10),
    );

    assert_eq!(outcome.error(), None);
    assert_eq!(outcome.finished()["errors"], json!([{"job": "job", "operation": "pick", "errno": 65_543, "count": 5}]));
    assert_eq!((outcome.ops("pick"), outcome.sum("pick", "bytes")), (5, 500));
    let said: Vec<&Value> = outcome.all("warning").collect();
    let text = |id: &str| said.iter().find(|warning| warning["id"] == id).unwrap()["text"].as_str().unwrap();
    assert_eq!(text("operation-refused"), "job: pick failed 5 times: its program ended with exit status 7");
    assert_eq!(text("program-failed"), "job: the first program of pick that failed printed: odd: no");
}

#[test]
fn programs_that_fail_again_and_again_end_the_run_with_their_words() {
    let place = Place::new();
    let nothing = act(program(on_set(OpKind::Spawn, "cat", 0.0, None), &["cat", "{path}/none"]));

    let outcome = place.one(set(1, 1.0, 512.0), vec![nothing], Stop::default());

    let text = outcome.error().unwrap();
    assert!(
        text.starts_with("cat (cat: ")
            && text.ends_with("failed again and again: its program ended with exit status 1"),
        "{text}"
    );
}

#[test]
fn cpu_time_of_programs_is_told_beside_that_of_their_worker_thread_or_process() {
    // At work until the kernel says that it has had 5 ticks of CPU time, however fast the machine is.
    let burn = "while read line < /proc/self/stat; set -- ${line##*) }; [ $((${12} + ${13})) -lt 5 ]; do :; done";
    // SAFETY: takes and gives numbers.
    let burnt_ns = 5 * 5 * 1_000_000_000 / unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as u64;
    for kind in [WorkerKind::Thread, WorkerKind::Process] {
        let place = Place::new();
        let burn = act(program(on_set(OpKind::Spawn, "burn", 0.0, None), &["sh", "-c", burn]));
        let mut one = job("job", vec![burn], passes(5));
        one.kind = kind;
        let begun = Instant::now();

        let outcome = place.run(set(1, 1.0, 512.0), vec![one]);

        let wall_ns = begun.elapsed().as_nanos() as u64;
        outcome.check_clean();
        let last = outcome.all("interval").last().unwrap();
        let ns = |value: &Value, field: &str| value[field].as_u64().unwrap();
        let worker = &last["workers"][0];
        let (programs_ns, worker_ns) = (ns(worker, "children_cpu_ns"), ns(worker, "on_cpu_ns"));
        assert!(programs_ns >= burnt_ns, "{kind:?}: {programs_ns}");
        // A worker waits while its program runs: what both had in one sum is no more than the time that went by.
        assert!(programs_ns + worker_ns <= wall_ns, "{kind:?}: {programs_ns} + {worker_ns} in {wall_ns}");
        let process_ns = ns(last, "process_cpu_ns");
        assert!(process_ns >= programs_ns + worker_ns, "{kind:?}: {process_ns} {programs_ns} {worker_ns}");
        let whole = outcome.all("finished").next().unwrap();
        let whole_ns = ns(whole, "user_cpu_ns") + ns(whole, "system_cpu_ns");
        // Nothing is counted twice: at the end the kernel, which tells four times in whole microseconds, knows of no less.
        assert!(process_ns <= whole_ns + 4_000, "{kind:?}: {process_ns} {whole_ns}");
        let cores = available_parallelism().unwrap().get() as u64;
        assert!(whole_ns <= cores * wall_ns, "{kind:?}: {whole_ns} on {cores} cores in {wall_ns}");
    }
}

#[test]
fn programs_that_cannot_be_run_are_refused_in_words() {
    let spawn = |argv: &[&str]| program(on_set(OpKind::Spawn, "run", 0.0, None), argv);
    let stat = program(on_set(OpKind::Stat, "stat", 0.0, None), &["true"]);
    for (op, part) in [
        (spawn(&[]), "name it and its arguments in argv"),
        (spawn(&["no-such-program-here"]), "there is no program 'no-such-program-here' that can be run in PATH"),
        (spawn(&["/dev/null", "x"]), "there is no program '/dev/null' that can be run;"),
        (spawn(&["{path}"]), "there is no program '{path}'"),
        (spawn(&["true", "a\0b"]), "NUL"),
        (stat, "argv is for spawn"),
    ] {
        Place::new().one(set(2, 0.5, 512.0), vec![act(op)], passes(1)).check_refused(part);
    }
    let mut stamped = set(2, 0.5, 4096.0);
    stamped.content.stamped = true;
    Place::new().one(stamped, vec![act(spawn(&["true"]))], passes(1)).check_refused("writes no stamps");
}
