//! Block-I/O delay accounting, held on while engines run, and off again when the last of them has ended.
//!
//! The kernel gives a task its delay counters when it is created, and only while the switch is on (`delayacct_tsk_init` at
//! fork); it adds to them only while the switch is on. So turn it on before the workers are created and hold it until
//! they have ended: a thread from before counts 0 for good (seen on Linux 6.18: 800 direct reads gave 0 there, 60 ms in
//! a thread created after).
//!
//! The switch is one for the machine, and several engines may run on it. Each holds a shared `flock` on one file in
//! `/run`. Whoever finds the switch off writes into that file that it was, then turns it on. Whoever ends asks for the lock
//! alone, and only the one who gets it, the last, turns the switch off again and removes the file. An engine that is
//! killed loses its lock with its life and leaves the file: the next one that may do so puts the switch back at its end.
//! What the file says counts for one boot of the machine, as the switch does.
//!
//! `/run` belongs to root, so nobody else can put a link or a file of his own there. Who may not turn the switch may still
//! hold the lock, so that it is not turned off under him; if he is the last, the switch stays on until the next engine of
//! root's has run. Where there is no such place, it is turned on and left on, with a warning. Engines that do not see the
//! same `/run` (containers that may turn the switch) do not know of each other. Left on, it costs next to nothing.

use super::facts::boot_id;
use crate::sys::posix;
use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

const SWITCH: &str = "/proc/sys/kernel/task_delayacct";
const FOLDER: &str = "/run";
const NAME: &str = "assay-task-delayacct";
/// How often, and how far apart, the lock is asked for: the last one to go holds it alone for as long as it takes to write
/// to the switch.
const TRIES: u32 = 100;
const WAIT: Duration = Duration::from_millis(10);
/// Permission bits by which others than the owner may write.
const OTHERS_MAY_WRITE: u32 = 0o022;

/// Whether it is on now; None: the kernel has no such switch.
pub fn is_on() -> Option<bool> {
    Switch(PathBuf::from(SWITCH)).is_on()
}

/// Block-I/O delay accounting, held on as far as this user may.
#[derive(Debug)]
pub struct DelayAccounting {
    switch: Switch,
    register: Option<Register>,
    warning: Option<String>,
}

impl DelayAccounting {
    /// Turn it on if it is off and we may.
    pub fn enable() -> Self {
        Self::enable_at(Switch(PathBuf::from(SWITCH)), Path::new(FOLDER))
    }

    fn enable_at(switch: Switch, folder: &Path) -> Self {
        let may_turn = switch.may_turn();
        let register = match switch.is_on() {
            Some(_) => Register::join(folder, may_turn),
            None => Err(io::ErrorKind::NotFound.into()),
        };
        let mut warning = None;
        if may_turn && switch.is_on() == Some(false) {
            let noted = register
                .as_ref()
                .map_err(io::Error::to_string)
                .and_then(|register| register.note_was_off().map_err(|error| error.to_string()));
            if let (Ok(()), Err(error)) = (switch.turn(true), noted) {
                warning = Some(format!(
                    "kernel.task_delayacct was turned on for the run and stays on, because {} cannot keep that it was \
                     off: {error}. 'sysctl kernel.task_delayacct=0' turns it off",
                    folder.join(NAME).display()
                ));
            }
        }
        Self { switch, register: register.ok(), warning }
    }

    /// Whether it is on now: another program may have turned it off meanwhile, so ask again at the end of a run.
    pub fn is_on(&self) -> bool {
        self.switch.is_on() == Some(true)
    }

    /// What the user should know about the switch.
    pub fn warning(&self) -> Option<&str> {
        self.warning.as_deref()
    }
}

impl Drop for DelayAccounting {
    fn drop(&mut self) {
        let Some(register) = self.register.take() else { return };
        if !self.switch.may_turn() || !register.is_mine_alone() {
            return;
        }
        // Nothing more can be done about a failure here: what was noted stays for the next engine.
        if !register.was_off() || self.switch.turn(false).is_ok() {
            register.remove();
        }
    }
}

/// The kernel's switch.
#[derive(Debug)]
struct Switch(PathBuf);

impl Switch {
    fn is_on(&self) -> Option<bool> {
        fs::read_to_string(&self.0).ok().map(|text| text.trim() == "1")
    }

    /// Opening for writing asks for everything that writing would.
    fn may_turn(&self) -> bool {
        File::options().write(true).open(&self.0).is_ok()
    }

    fn turn(&self, on: bool) -> io::Result<()> {
        // Not fs::write: there is nothing to create or truncate here.
        File::options().write(true).open(&self.0)?.write_all(if on { b"1" } else { b"0" })
    }
}

/// The file that all engines of the machine lock while they need the switch on. It holds the boot in which one of them
/// found the switch off, or nothing.
#[derive(Debug)]
struct Register {
    file: File,
    path: PathBuf,
}

impl Register {
    /// Lock it together with all others, and make it if `may_make`.
    fn join(folder: &Path, may_make: bool) -> io::Result<Self> {
        check_folder(folder)?;
        let path = folder.join(NAME);
        for _ in 0..TRIES {
            let register = Self { file: open(&path, may_make)?, path: path.clone() };
            match posix::try_lock_shared(register.file.as_fd()) {
                // The last one to go may have removed the file before it was locked here.
                Ok(()) if register.is_in_place() => return Ok(register),
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::sleep(WAIT),
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other("another program holds its lock"))
    }

    fn is_in_place(&self) -> bool {
        let (Ok(own), Ok(named)) = (self.file.metadata(), fs::symlink_metadata(&self.path)) else { return false };
        (own.dev(), own.ino()) == (named.dev(), named.ino())
    }

    /// Several may note the same at the same time.
    fn note_was_off(&self) -> io::Result<()> {
        let boot = boot_id();
        self.file.write_all_at(boot.as_bytes(), 0)?;
        self.file.set_len(boot.len() as u64)
    }

    fn was_off(&self) -> bool {
        let mut boot = String::new();
        (&self.file).read_to_string(&mut boot).is_ok() && !boot.is_empty() && boot == boot_id()
    }

    /// Whether no other engine holds it any more, nor can until this one lets go. If not, it is let go at once.
    fn is_mine_alone(&self) -> bool {
        posix::try_lock_exclusive(self.file.as_fd()).is_ok() && self.is_in_place()
    }

    /// Only while it is held alone.
    fn remove(self) {
        // Left there, it is found by the next engine.
        let _ = fs::remove_file(&self.path);
    }
}

/// Refuse a folder in which others could put something in the file's place.
fn check_folder(folder: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(folder)?;
    let is_owned = [0, posix::user()].contains(&found.uid());
    if found.is_dir() && is_owned && found.mode() & OTHERS_MAY_WRITE == 0 {
        return Ok(());
    }
    Err(io::Error::other("it is in a folder that others may write to"))
}

fn open(path: &Path, may_make: bool) -> io::Result<File> {
    // Without O_NONBLOCK a FIFO would keep us waiting.
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file =
        File::options().read(true).write(may_make).create(may_make).mode(0o644).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    if may_make {
        // Whatever the umask: who may not turn the switch locks it as well.
        let _ = file.set_permissions(Permissions::from_mode(0o644));
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    /// A machine with a switch of its own.
    struct Machine(TempDir);

    impl Machine {
        fn with_switch(value: &str) -> Self {
            let machine = Self(tempfile::tempdir().unwrap());
            fs::write(machine.switch(), format!("{value}\n")).unwrap();
            machine
        }

        fn switch(&self) -> PathBuf {
            self.0.path().join("task_delayacct")
        }

        fn register(&self) -> PathBuf {
            self.0.path().join(NAME)
        }

        fn is_on(&self) -> bool {
            Switch(self.switch()).is_on().unwrap()
        }

        /// As another process would: flock goes by open files, not by processes.
        fn engine(&self) -> DelayAccounting {
            DelayAccounting::enable_at(Switch(self.switch()), self.0.path())
        }

        /// An engine that turns it on and is killed.
        fn killed_engine(&self) {
            // SAFETY: the child runs this function's code alone until it is killed, and never returns from it.
            let child = unsafe { libc::fork() };
            if child == 0 {
                let _held = self.engine();
                loop {
                    std::thread::sleep(Duration::from_secs(1));
                }
            }
            // SAFETY: a child of this test's that nobody else waits for; the status may be null.
            let wait = |flags| unsafe { libc::waitpid(child, std::ptr::null_mut(), flags) };
            while !self.is_on() {
                assert_eq!(wait(libc::WNOHANG), 0, "the child has ended by itself");
                std::thread::sleep(Duration::from_millis(1));
            }
            // SAFETY: a child that has not been waited for, so its number is its own.
            unsafe { libc::kill(child, libc::SIGKILL) };
            wait(0);
        }
    }

    #[test]
    fn it_is_on_for_an_engine_and_off_again_after_it() {
        let machine = Machine::with_switch("0");

        let engine = machine.engine();
        assert!(engine.is_on());
        assert_eq!(engine.warning(), None);
        drop(engine);

        assert!(!machine.is_on());
        assert!(!machine.register().exists());
    }

    #[test]
    fn what_was_on_stays_on() {
        let machine = Machine::with_switch("1");

        drop(machine.engine());

        assert!(machine.is_on());
        assert!(!machine.register().exists());
    }

    #[test]
    fn the_first_to_end_of_two_leaves_it_on_for_the_second() {
        let machine = Machine::with_switch("0");
        let (first, second) = (machine.engine(), machine.engine());

        drop(first);
        assert!(second.is_on());
        drop(second);

        assert!(!machine.is_on());
        assert!(!machine.register().exists());
    }

    #[test]
    fn engines_that_come_and_go_at_the_same_time_always_have_it_on() {
        let machine = Machine::with_switch("0");

        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let engine = machine.engine();
                        std::thread::yield_now();
                        assert!(engine.is_on());
                    }
                });
            }
        });

        assert!(!machine.is_on());
        assert!(!machine.register().exists());
    }

    #[test]
    fn the_run_after_a_killed_one_turns_it_off() {
        let machine = Machine::with_switch("0");
        machine.killed_engine();
        assert!(machine.is_on());

        let engine = machine.engine();
        assert!(engine.is_on());
        drop(engine);

        assert!(!machine.is_on());
        assert!(!machine.register().exists());
    }

    #[test]
    fn an_engine_that_outlives_a_killed_one_turns_it_off() {
        let machine = Machine::with_switch("0");
        machine.killed_engine();

        let (first, second) = (machine.engine(), machine.engine());
        drop(second);
        assert!(machine.is_on());
        drop(first);

        assert!(!machine.is_on());
    }

    #[test]
    fn what_was_noted_before_the_machine_was_booted_does_not_count() {
        let machine = Machine::with_switch("1");
        fs::write(machine.register(), "6fdd5a63-8b0a-4c6f-9f1d-0c2c8f3f9a11").unwrap();

        drop(machine.engine());

        assert!(machine.is_on());
        assert!(!machine.register().exists());
    }

    #[test]
    fn a_link_in_the_files_place_is_not_followed_and_the_user_hears_that_it_stays_on() {
        let machine = Machine::with_switch("0");
        let loved = machine.0.path().join("loved");
        fs::write(&loved, "data").unwrap();
        std::os::unix::fs::symlink(&loved, machine.register()).unwrap();

        let engine = machine.engine();
        assert!(engine.is_on());
        assert!(engine.warning().unwrap().contains("sysctl kernel.task_delayacct=0"));
        drop(engine);

        assert!(machine.is_on());
        assert_eq!(fs::read_to_string(loved).unwrap(), "data");
    }

    #[test]
    fn a_folder_that_others_may_write_to_is_not_used() {
        let machine = Machine::with_switch("0");
        fs::set_permissions(machine.0.path(), Permissions::from_mode(0o777)).unwrap();

        let engine = machine.engine();

        assert!(engine.warning().unwrap().contains("others may write"));
        assert!(!machine.register().exists());
    }
}
