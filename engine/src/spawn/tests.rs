use super::*;
use crate::plan::{Access, FileRef, Op, OpFlags, OpKind};
use crate::plan::{Distribution, Pick};
use crate::sys::exit_status::exit_status;
use std::fs;

fn command(argv: &[&str]) -> Command {
    let argv = argv.iter().map(|&argument| argument.to_owned()).collect();
    let op = Op {
        op: OpKind::Spawn,
        name: "run".to_owned(),
        file: FileRef::Set { set: "files".to_owned(), pick: Pick::New {}, slot: None },
        access: Access::Append {},
        size: Distribution::Fixed { value: 0.0 },
        flags: OpFlags { argv, ..OpFlags::default() },
    };
    Command::of("job", &op).unwrap().unwrap()
}

fn run_on(spawner: &mut Spawner, path: &CStr, argv: &[&str]) -> Ran {
    let command = command(argv);
    spawner.prepare(&command, path);
    spawner.run(command.program(), |_| true)
}

fn shell(spawner: &mut Spawner, script: &str) -> i64 {
    run_on(spawner, c"", &["sh", "-c", script]).result
}

#[test]
fn a_program_gets_the_path_and_the_engine_its_status() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made by it");
    let c_path = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
    let mut spawner = Spawner::new().unwrap();

    let ran = run_on(&mut spawner, &c_path, &["dd", "if=/dev/zero", "of={path}", "bs=1000", "count=3"]);

    assert_eq!(ran.result, 0);
    assert_eq!(fs::read(&path).unwrap(), vec![0; 3000]);
    assert_eq!(shell(&mut spawner, "exit 3"), -65_539);
    assert_eq!(shell(&mut spawner, "kill -9 $$"), -(65_536 + 128 + 9));
    assert_eq!(exit_status(65_539).unwrap(), "exit status 3");
    assert_eq!(exit_status(65_673).unwrap(), "exit status 137 (as a shell says it for signal 9)");
    assert_eq!(exit_status(libc::ENOENT), None);
}

#[test]
fn the_first_line_of_the_first_failure_is_kept_and_no_other() {
    let mut spawner = Spawner::new().unwrap();
    shell(&mut spawner, "echo not this >&2");

    shell(&mut spawner, "echo >&2; echo '  no room ' >&2; echo more >&2; exit 1");
    spawner.keep_words("run");
    shell(&mut spawner, "echo later >&2; exit 1");
    spawner.keep_words("run");
    shell(&mut spawner, "exit 1");
    spawner.keep_words("silent");

    assert_eq!(spawner.words().collect::<Vec<_>>(), [("run", "no room")]);
    assert_eq!(spawner.words_of("silent"), None);
}

#[test]
fn a_program_has_its_own_input_output_signals_and_group() {
    let mut spawner = Spawner::new().unwrap();
    // Rust ignores SIGPIPE; this thread blocks TERM, as the engine's do. Signals from 32 on are the C library's.
    // SAFETY: the set is initialised before it is used.
    unsafe {
        let mut set = std::mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGTERM);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
    }

    let looks = "read line && exit 10
        for kind in SigBlk SigIgn; do grep -q \"^$kind:.*[08]0000000$\" /proc/self/status || exit 11; done
        [ \"$(readlink /proc/self/fd/0)\" = /dev/null ] || exit 12
        [ \"$(readlink /proc/$$/fd/1)\" = /dev/null ] || exit 13
        set -- $(sed 's/.*) //' /proc/$$/stat); [ $3 = $$ ] || exit 14";
    let result = shell(&mut spawner, looks);

    assert_eq!(result, 0, "{result}");
}

/// A shell that is at work until the kernel says that it has had 10 ticks of CPU time itself, however fast the machine is.
const BURN: &str = "while read line < /proc/self/stat; set -- ${line##*) }; [ $((${12} + ${13})) -lt 10 ]; do :; done";

/// Fields of /proc/self/stat are in ticks of this length.
fn tick_ns() -> u64 {
    // SAFETY: takes and gives numbers.
    1_000_000_000 / unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as u64
}

#[test]
fn cpu_time_of_a_program_is_its_own_and_of_what_it_waited_for() {
    let mut spawner = Spawner::new().unwrap();
    let mut run = |argv: &[&str]| {
        let begun = std::time::Instant::now();
        (run_on(&mut spawner, c"", argv), begun.elapsed().as_nanos() as u64)
    };

    let (busy, busy_wall_ns) = run(&["sh", "-c", &format!("{BURN}; ({BURN}) & wait")]);
    let (idle, idle_wall_ns) = run(&["true"]);

    assert_eq!((busy.result, idle.result), (0, 0));
    // Only one of the two is at work at a time, so neither they nor one that runs afterwards can have had more CPU time
    // than went by.
    assert!((20 * tick_ns()..=busy_wall_ns).contains(&busy.cpu_ns), "{busy:?} in {busy_wall_ns} ns");
    assert!(idle.cpu_ns > 0 && idle.cpu_ns <= idle_wall_ns, "{idle:?} in {idle_wall_ns} ns");
}

#[test]
fn a_program_that_nobody_waits_for_is_ended_with_what_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let note = folder.path().join("pids");
    let path = std::ffi::CString::new(note.to_str().unwrap()).unwrap();
    let mut spawner = Spawner::new().unwrap();
    let command = command(&["sh", "-c", "sleep 1000 & echo $$ $! > {path}; wait"]);
    spawner.prepare(&command, &path);
    let mut looks = 0;

    let ran = spawner.run(command.program(), |_| {
        looks += 1;
        !fs::read_to_string(&note).is_ok_and(|text| text.ends_with('\n'))
    });

    assert!(ran.was_stopped && looks >= 1);
    for pid in fs::read_to_string(&note).unwrap().split_whitespace() {
        // A signal takes a moment to end a process that is not waited for; whoever inherited it may never reap it.
        let is_alive = || {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.rsplit_once(") ").is_some_and(|(_, rest)| !["Z", "X"].contains(&&rest[..1]))
        };
        let asked = std::time::Instant::now();
        while is_alive() {
            assert!(asked.elapsed().as_secs() < 600, "{pid} is still there");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
}

#[test]
fn a_program_that_cannot_be_run_is_an_error_number() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tool");
    fs::write(&path, "no program").unwrap();
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let command = command(&[path.to_str().unwrap()]);
    let mut spawner = Spawner::new().unwrap();
    spawner.prepare(&command, c"");

    let unreadable = spawner.run(command.program(), |_| true).result;
    fs::remove_file(&path).unwrap();
    let gone = spawner.run(command.program(), |_| true).result;

    assert_eq!((unreadable, gone), (-i64::from(libc::ENOEXEC), -i64::from(libc::ENOENT)));
}
