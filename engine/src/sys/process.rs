//! Processes and threads: who this one is, and the end and the cost of its children.

use std::io;
use std::mem::MaybeUninit;

/// What processes have cost.
#[derive(Debug, Clone, Copy)]
pub struct Usage {
    /// In user mode.
    pub user_cpu_ns: u64,
    /// In the kernel.
    pub system_cpu_ns: u64,
    /// Most memory that one of them held at a time, or that the one held which started it.
    pub peak_rss_bytes: u64,
}

impl Usage {
    /// Of this process, all its threads.
    pub fn own() -> Self {
        Self::of(libc::RUSAGE_SELF)
    }

    /// Of the children that were waited for.
    pub fn children() -> Self {
        Self::of(libc::RUSAGE_CHILDREN)
    }

    fn of(whose: libc::c_int) -> Self {
        let mut usage = MaybeUninit::zeroed();
        // SAFETY: `usage` has room for the answer, and zeroed memory is a valid rusage should the call fail.
        Self::from(unsafe {
            libc::getrusage(whose, usage.as_mut_ptr());
            usage.assume_init()
        })
    }

    /// All CPU time.
    pub fn cpu_ns(self) -> u64 {
        self.user_cpu_ns + self.system_cpu_ns
    }
}

impl From<libc::rusage> for Usage {
    fn from(usage: libc::rusage) -> Self {
        let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
        Self {
            user_cpu_ns: ns(usage.ru_utime),
            system_cpu_ns: ns(usage.ru_stime),
            peak_rss_bytes: usage.ru_maxrss as u64 * 1024,
        }
    }
}

/// Wait for a child that nobody else waits for: its status, and what it cost.
pub fn reap(pid: i32) -> (i32, Usage) {
    let (mut status, mut usage) = (0, MaybeUninit::zeroed());
    // SAFETY: room for both answers, and zeroed memory is a valid rusage should the call fail.
    let usage = unsafe {
        while libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()) < 0
            && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
        {}
        usage.assume_init()
    };
    (status, usage.into())
}

/// End a child that has not been reaped, so that its number is its own; a negative number: with all of its group.
pub fn kill(pid: i32) {
    // SAFETY: no memory is passed.
    unsafe { libc::kill(pid, libc::SIGKILL) };
}

/// End this process when its parent ends; whether the parent is still there. It makes system calls and nothing else.
#[must_use]
pub fn die_with(parent: u32) -> bool {
    // SAFETY: no memory is passed.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong);
        // It may have died before the kernel knew that its child cares.
        libc::getppid() as u32 == parent
    }
}

/// End at once, with nothing that the C library holds written: threads have tables of open files of their own, and in that of
/// the thread that ends, a number can be any file.
pub fn leave(status: i32) -> ! {
    // SAFETY: ends the process.
    unsafe { libc::_exit(status) }
}

/// Let all threads allocate from one heap. Only before there are several.
pub fn use_one_heap() {
    // SAFETY: it changes how the allocator goes on.
    unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
}

/// How a child ended, leaving it to be reaped: code (`CLD_...`) and status.
pub fn how_ended(pid: i32) -> (i32, i32) {
    let mut facts = MaybeUninit::<libc::siginfo_t>::zeroed();
    // SAFETY: `facts` has room for the answer, and zeroed memory is a valid one should the call fail.
    unsafe {
        libc::waitid(libc::P_PID, pid as libc::id_t, facts.as_mut_ptr(), libc::WEXITED | libc::WNOWAIT);
        let facts = facts.assume_init();
        (facts.si_code, facts.si_status())
    }
}

/// The kernel's number of the calling thread.
pub fn thread_id() -> i32 {
    // SAFETY: no memory is passed.
    unsafe { libc::gettid() }
}
