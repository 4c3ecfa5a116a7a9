//! Programs: started, waited for, and gone with the engine.
//!
//! A child is made as posix_spawn(3) makes it: `clone` with CLONE_VM and CLONE_VFORK, so nothing of the engine is copied and
//! its size does not count. What posix_spawn cannot do is done between clone and exec: the kernel is asked to kill the child
//! when the worker that waits for it dies (PR_SET_PDEATHSIG), and the child leads a process group of its own, so that what
//! it starts itself can be stopped with it. Its input and output are /dev/null; its standard error is a file in memory, for
//! the words of one that fails. It runs with every signal as usual and with the worker's CPUs and environment.

use crate::program::command::Command;
use crate::sys::exit_status::result_of;
use crate::sys::{posix, process};
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, RawFd};
use std::os::unix::fs::FileExt;

/// Time between two looks at a program that runs.
const LOOK_MS: c_int = 100;
/// Room for the child between clone and exec: a few calls deep.
const STACK_BYTES: usize = 64 << 10;
/// Most that standard error may take up in memory; then it begins anew.
const MOST_OUTPUT_BYTES: u64 = 1 << 20;
/// Longest first line that is reported.
const LINE_BYTES: usize = 300;

/// A program that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ran {
    /// 0, or negative: an error number where it could not be run, else its status (see [`exit_status`](crate::sys::exit_status::exit_status)).
    pub result: i64,
    /// User and system time of it and of what it waited for.
    pub cpu_ns: u64,
    /// Whether it was ended because nobody wanted to wait any longer.
    pub was_stopped: bool,
}

/// Runs one program at a time, for one worker.
pub struct Spawner {
    stack: Vec<u8>,
    null: File,
    output: File,
    text: Vec<u8>,
    begins: Vec<usize>,
    arguments: Vec<*const c_char>,
    /// By operation: the first line that the first program that failed printed.
    first_words: BTreeMap<String, String>,
}

/// What the child needs, in the memory that it shares with its parent until exec.
struct Order {
    program: *const c_char,
    arguments: *const *const c_char,
    environment: *const *const c_char,
    null: RawFd,
    output: RawFd,
    parent: u32,
    error: i32,
}

impl Spawner {
    /// Nothing has run yet.
    ///
    /// # Errors
    ///
    /// /dev/null or memory cannot be had.
    pub fn new() -> io::Result<Self> {
        let output = posix::memory_file(c"assay-stderr")?;
        // Programs append, wherever the file was cut.
        posix::append_always(output.as_fd())?;
        Ok(Self {
            stack: vec![0; STACK_BYTES],
            null: OpenOptions::new().read(true).write(true).open("/dev/null")?,
            output,
            text: Vec::with_capacity(1024),
            begins: Vec::new(),
            arguments: Vec::new(),
            first_words: BTreeMap::new(),
        })
    }

    /// Get ready to run a command on a file: its arguments in place, no output yet.
    pub fn prepare(&mut self, command: &Command, path: &CStr) {
        command.arguments_for(path, &mut self.text, &mut self.begins);
        self.arguments.clear();
        self.arguments.extend(self.begins.iter().map(|&begin| self.text[begin..].as_ptr().cast::<c_char>()));
        self.arguments.push(std::ptr::null());
        // A file in memory can be cut; what it holds from before would only be taken for the next one's words.
        let _ = self.output.set_len(0);
    }

    /// Run what was prepared and wait for its end. `go_on` is asked now and then, with the number of the process, whether
    /// to go on waiting; otherwise the program is killed with all that it started.
    pub fn run(&mut self, program: &CStr, go_on: impl FnMut(i32) -> bool) -> Ran {
        let mut order = Order {
            program: program.as_ptr(),
            arguments: self.arguments.as_ptr(),
            // SAFETY: nothing in the engine changes the environment.
            environment: unsafe { libc::environ }.cast::<*const c_char>().cast_const(),
            null: self.null.as_raw_fd(),
            output: self.output.as_raw_fd(),
            parent: std::process::id(),
            error: 0,
        };
        let (pid, pidfd) = match self.clone_into(&mut order) {
            Ok(child) => child,
            Err(errno) => return Ran { result: -i64::from(errno), cpu_ns: 0, was_stopped: false },
        };
        let was_stopped = pidfd.as_ref().is_some_and(|pidfd| !self.wait(pidfd, pid, go_on));
        if was_stopped {
            process::kill(-pid);
        }
        let (status, usage) = process::reap(pid);
        let result = if order.error == 0 { result_of(status) } else { -i64::from(order.error) };
        Ran { result, cpu_ns: usage.cpu_ns(), was_stopped }
    }

    /// Make the child; back when it has become the program, or has failed to. A process, and what reports its end.
    fn clone_into(&mut self, order: &mut Order) -> Result<(i32, Option<File>), i32> {
        let mut pidfd: RawFd = -1;
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD | libc::SIGCHLD;
        let end = self.stack.as_mut_ptr_range().end;
        let top = end.wrapping_sub(end.addr() % 16);
        // SAFETY: the child runs `become_program` on a stack of its own inside `self.stack`, which nobody else uses; this
        // thread sleeps until it has called exec or has ended (CLONE_VFORK), so `order` and the stack outlive its use of
        // them. All signals are blocked meanwhile, so no handler of the engine's runs in it.
        unsafe {
            let (mut all, mut before) = (std::mem::zeroed::<libc::sigset_t>(), std::mem::zeroed::<libc::sigset_t>());
            libc::sigfillset(&raw mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
            let argument = std::ptr::from_mut(order).cast::<c_void>();
            let pid = libc::clone(become_program, top.cast::<c_void>(), flags, argument, &raw mut pidfd);
            let errno = *libc::__errno_location();
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
            if pid < 0 {
                return Err(errno);
            }
            Ok((pid, (pidfd >= 0).then(|| File::from_raw_fd(pidfd))))
        }
    }

    /// Wait for the end of a process; false: `go_on` would not.
    fn wait(&self, pidfd: &File, pid: i32, mut go_on: impl FnMut(i32) -> bool) -> bool {
        loop {
            let mut end = [libc::pollfd { fd: pidfd.as_raw_fd(), events: libc::POLLIN, revents: 0 }];
            match posix::poll(&mut end, LOOK_MS) {
                0 if !go_on(pid) => return false,
                0 if self.output.metadata().is_ok_and(|facts| facts.len() > MOST_OUTPUT_BYTES) => {
                    let _ = self.output.set_len(LINE_BYTES as u64);
                }
                1 => return true,
                _ => {} // it runs on, or a signal came
            }
        }
    }

    /// Keep the first line that a program that failed printed, if it is the operation's first such program.
    pub fn keep_words(&mut self, operation: &str) {
        if !self.first_words.contains_key(operation) {
            let mut line = [0; LINE_BYTES];
            let length = self.output.read_at(&mut line, 0).unwrap_or(0);
            let text = String::from_utf8_lossy(&line[..length]);
            let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
            self.first_words.insert(operation.to_owned(), first.to_owned());
        }
    }

    /// The first line that the operation's first program that failed printed; None: there is none.
    pub fn words_of(&self, operation: &str) -> Option<&str> {
        self.first_words.get(operation).map(String::as_str).filter(|words| !words.is_empty())
    }

    /// The operations whose programs failed with output, with its first line.
    pub fn words(&self) -> impl Iterator<Item = (&str, &str)> {
        self.first_words.keys().filter_map(|operation| Some((operation.as_str(), self.words_of(operation)?)))
    }
}

/// The child's life until it is the program. It shares its parent's memory: it makes system calls and nothing else.
extern "C" fn become_program(order: *mut c_void) -> c_int {
    // SAFETY: the parent gives an `Order` and sleeps while it is used; every pointer in it is live. The actions are those
    // of the kernel's own type, which is no longer than this on any architecture, and zeroes mean SIG_DFL.
    unsafe {
        let order = &mut *order.cast::<Order>();
        let as_usual = [0_u64; 8];
        for signal in (1..32).filter(|signal| ![libc::SIGKILL, libc::SIGSTOP].contains(signal)) {
            libc::syscall(libc::SYS_rt_sigaction, signal, as_usual.as_ptr(), 0, 8);
        }
        if !process::die_with(order.parent) {
            libc::_exit(1);
        }
        libc::setpgid(0, 0);
        libc::dup2(order.null, 0);
        libc::dup2(order.null, 1);
        libc::dup2(order.output, 2);
        libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, as_usual.as_ptr(), 0, 8);
        libc::execve(order.program, order.arguments, order.environment);
        order.error = *libc::__errno_location();
        libc::_exit(127);
    }
}

#[cfg(test)]
mod tests;
