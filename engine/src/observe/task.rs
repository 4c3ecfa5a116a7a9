//! Where did one worker's time go?
//!
//! On-CPU time comes from the thread's own CPU clock, run delay from /proc/self/task/T/schedstat, user, system and
//! block delay from .../stat (fields 14, 15, 42), system calls that read or wrote from .../io.
//!
//! Resolution, measured on Linux 6.18 with CONFIG_HZ=250 and a thread that spins on another CPU: schedstat alone does
//! not change between scheduler ticks and moves in steps of 4.0 ms (a lag of up to one tick in every sample), while
//! clock_gettime of the thread's CPU clock makes the kernel bring the count up to date and has no visible step. It is the
//! same count (`sum_exec_runtime`), so on-CPU time is read there, for about 0.2 us a sample, and schedstat is the
//! fallback. Run delay has no such way: a wait for the CPU is counted when it ends, so a wait that spans a sample
//! falls wholly into the interval in which the thread runs again. The values of `stat` are ticks of 10 ms.
//!
//! Block delay is 0, not absent, for a thread that was created while delay accounting was off (capabilities.rs), and it
//! does not see what io_uring waits for; the calls in `io` do not count io_uring either.

use super::cpu::ns_per_tick;
use super::procfile::ProcFile;
use crate::clock::read_ns;
use crate::sys::process::Usage;
use crate::sys::time;
use std::fs;
use std::sync::LazyLock;

/// Totals of one thread since it was opened. None: the kernel does not report it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TaskSample {
    /// On a CPU.
    pub on_cpu_ns: Option<u64>,
    /// Runnable, waiting for a CPU.
    pub run_delay_ns: Option<u64>,
    /// Waiting for block I/O (10 ms ticks).
    pub block_delay_ns: Option<u64>,
    /// In user mode (10 ms ticks).
    pub user_cpu_ns: Option<u64>,
    /// In the kernel (10 ms ticks).
    pub system_cpu_ns: Option<u64>,
    /// System calls that read or wrote.
    pub io_calls: Option<u64>,
}

/// One thread of this process.
pub struct TaskObserver {
    cpu_clock: Option<libc::clockid_t>,
    schedstat: Option<ProcFile>,
    stat: Option<ProcFile>,
    io: Option<ProcFile>,
    delay_accounting: bool,
    opened_ns: u64,
    ns_per_tick: f64,
    base: TaskSample,
    last: TaskSample,
}

impl TaskObserver {
    /// Watch thread `tid` of this process; its totals count from here.
    ///
    /// `delay_accounting` says whether it was on when the thread was created; otherwise there is no block delay.
    pub fn open(tid: i32, delay_accounting: bool) -> Self {
        // Linux: MAKE_THREAD_CPUCLOCK(tid, CPUCLOCK_SCHED), what pthread_getcpuclockid(3) gives.
        Self::open_folder(&format!("/proc/self/task/{tid}"), Some((!tid << 3) | 6), delay_accounting)
    }

    /// Watch the first thread of process `pid`, a child of this one. The clock of another process's thread cannot be read,
    /// so its on-CPU time is that of schedstat, which is up to a scheduler tick behind.
    pub fn open_process(pid: i32, delay_accounting: bool) -> Self {
        Self::open_folder(&format!("/proc/{pid}/task/{pid}"), None, delay_accounting)
    }

    fn open_folder(folder: &str, cpu_clock: Option<libc::clockid_t>, delay_accounting: bool) -> Self {
        let file = |name| ProcFile::open(format!("{folder}/{name}"));
        let mut observer = Self {
            cpu_clock,
            schedstat: file("schedstat").filter(|_| *SCHEDSTAT_COUNTS),
            stat: file("stat"),
            io: file("io"),
            delay_accounting,
            opened_ns: read_ns(libc::CLOCK_MONOTONIC),
            ns_per_tick: ns_per_tick(),
            base: TaskSample::default(),
            last: TaskSample::default(),
        };
        observer.base = observer.totals().unwrap_or_default();
        observer.last = observer.base.since(&observer.base);
        observer
    }

    /// Totals since opening. Once the thread has ended, those of the last sample before: take one while it still waits.
    pub fn sample(&mut self) -> TaskSample {
        if let Some(totals) = self.totals() {
            self.last = totals.since(&self.base);
            self.doubt_block_delay();
        }
        self.last
    }

    /// Whether it is on a CPU, or waits for nothing but one; false where the kernel does not report it.
    pub fn is_runnable(&self) -> bool {
        let mut text = [0; 1024];
        let stat = self.stat.as_ref().and_then(|file| file.read_head(&mut text));
        stat.as_deref().and_then(state) == Some("R")
    }

    /// Give block delay up once it is longer than the time that was watched. Somebody has switched delay accounting off and
    /// on meanwhile: a wait that began in between has no begin, and the kernel counts it from when the machine started.
    fn doubt_block_delay(&mut self) {
        let watched_ns = read_ns(libc::CLOCK_MONOTONIC) - self.opened_ns + self.ns_per_tick as u64;
        if self.last.block_delay_ns.is_some_and(|delay_ns| delay_ns > watched_ns) {
            self.delay_accounting = false;
            self.last.block_delay_ns = None;
        }
    }

    /// What the kernel counts for the thread, from its start; None when it has ended.
    ///
    /// The CPU clock comes first: it brings the count that schedstat shows up to date. It goes by number, and a number can
    /// be given to another thread; the open files cannot, so their answer vouches for the clock read before.
    fn totals(&self) -> Option<TaskSample> {
        let clock_ns = self.cpu_clock.and_then(time::read_ns_of);
        let mut text = [0; 1024];
        let mut sample = TaskSample { on_cpu_ns: clock_ns, ..TaskSample::default() };
        if let Some(file) = &self.schedstat {
            let text = file.read_head(&mut text)?;
            let mut numbers = text.split_ascii_whitespace().map_while(|word| word.parse::<u64>().ok());
            let on_cpu_ns = numbers.next();
            sample.on_cpu_ns = clock_ns.or(on_cpu_ns);
            sample.run_delay_ns = numbers.next();
        }
        if let Some(file) = &self.stat {
            let text = file.read_head(&mut text)?;
            let ns = |field| stat_field(&text, field).map(|ticks| (ticks as f64 * self.ns_per_tick) as u64);
            sample.user_cpu_ns = ns(14);
            sample.system_cpu_ns = ns(15);
            sample.block_delay_ns = if self.delay_accounting { ns(42) } else { None };
        }
        if let Some(file) = &self.io {
            let text = file.read_head(&mut text)?;
            sample.io_calls =
                labelled(&text, "syscr").zip(labelled(&text, "syscw")).map(|(reads, writes)| reads + writes);
        }
        (sample != TaskSample::default()).then_some(sample)
    }
}

impl TaskSample {
    /// What was added since `base`; a value that either lacks stays absent.
    fn since(&self, base: &Self) -> Self {
        let since = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        Self {
            on_cpu_ns: since(self.on_cpu_ns, base.on_cpu_ns),
            run_delay_ns: since(self.run_delay_ns, base.run_delay_ns),
            block_delay_ns: since(self.block_delay_ns, base.block_delay_ns),
            user_cpu_ns: since(self.user_cpu_ns, base.user_cpu_ns),
            system_cpu_ns: since(self.system_cpu_ns, base.system_cpu_ns),
            io_calls: since(self.io_calls, base.io_calls),
        }
    }
}

/// Whether schedstat holds counts: a kernel without CONFIG_SCHED_INFO prints zeros even for a thread that runs.
pub(super) static SCHEDSTAT_COUNTS: LazyLock<bool> = LazyLock::new(|| {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_ascii_whitespace().any(|word| word != "0")
});

/// read_bytes and write_bytes of this process and of the living `children`: what storage was asked for because of them,
/// and what they dirtied or wrote directly. None where the kernel does not count or does not let us look. The kernel adds
/// those of a child to its parent's when it is reaped.
pub fn process_io(children: &[i32]) -> (Option<u64>, Option<u64>) {
    let (mut read, mut written) = io_of("self");
    for child in children {
        let its = io_of(&child.to_string());
        read = read.zip(its.0).map(|(ours, its)| ours + its);
        written = written.zip(its.1).map(|(ours, its)| ours + its);
    }
    (read, written)
}

fn io_of(process: &str) -> (Option<u64>, Option<u64>) {
    let text = fs::read_to_string(format!("/proc/{process}/io")).unwrap_or_default();
    (labelled(&text, "read_bytes"), labelled(&text, "write_bytes"))
}

/// CPU time so far of all threads of this process, of the living `children`, and of those that were reaped; ended threads
/// and the kernel's io-wq workers too. Those that run on other CPUs at the moment count up to their last scheduler tick.
pub fn process_cpu_ns(children: &[i32]) -> u64 {
    let living = children.iter().filter_map(|&pid| cpu_ns_of(pid));
    read_ns(libc::CLOCK_PROCESS_CPUTIME_ID) + Usage::children().cpu_ns() + living.sum::<u64>()
}

/// CPU time so far of a process with all its threads; None once it is gone.
pub fn cpu_ns_of(pid: i32) -> Option<u64> {
    // Linux: MAKE_PROCESS_CPUCLOCK(pid, CPUCLOCK_SCHED), what clock_getcpuclockid(3) gives.
    time::read_ns_of((!pid << 3) | 2)
}

/// CPU time of the calling thread so far.
pub fn thread_cpu_ns() -> u64 {
    read_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Field of /proc/T/stat by its number in proc(5). Field 2, the name, may hold blanks and brackets: count from its end.
fn stat_field(stat: &str, field: usize) -> Option<u64> {
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(field - 3)?.parse().ok()
}

/// Field 3 of `stat`, a letter.
fn state(stat: &str) -> Option<&str> {
    stat.rsplit_once(')')?.1.split_ascii_whitespace().next()
}

/// The number after `label: ` at the start of a line.
fn labelled(text: &str, label: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(label)?.strip_prefix(':'))?;
    value.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::process::thread_id;
    use std::io::Read;
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc;
    use std::thread;
    use std::time::{Duration, Instant};

    const MS: u64 = 1_000_000;

    /// A thread that was watched.
    #[derive(Debug)]
    struct Watched {
        sample: TaskSample,
        /// Time that it was watched.
        wall_ns: u64,
        /// By its own count, from before it was watched until afterwards.
        own_cpu_ns: u64,
    }

    /// Run `work` in a thread that is watched while it waits, before and after; what its observer then says.
    fn watch(work: impl FnOnce() + Send + 'static) -> Watched {
        let (to_us, from_thread) = mpsc::channel();
        let (to_thread, from_us) = mpsc::channel::<()>();
        let worker = thread::spawn(move || {
            let start_ns = thread_cpu_ns();
            to_us.send(thread_id()).unwrap();
            from_us.recv().unwrap();
            work();
            to_us.send(0).unwrap();
            from_us.recv().unwrap();
            thread_cpu_ns() - start_ns
        });
        let tid = from_thread.recv().unwrap();
        let begun = Instant::now();
        let mut observer = TaskObserver::open(tid, true);
        to_thread.send(()).unwrap();
        from_thread.recv().unwrap();
        let sample = observer.sample();
        let wall_ns = begun.elapsed().as_nanos() as u64;
        to_thread.send(()).unwrap();
        let own_cpu_ns = worker.join().unwrap();
        // The kernel wakes who joins before the thread is gone: until then it can be looked at, and has used more time.
        while Path::new(&format!("/proc/self/task/{tid}")).exists() {
            thread::yield_now();
        }
        assert_eq!(observer.sample(), sample, "the last sample stays after the thread has ended");
        Watched { sample, wall_ns, own_cpu_ns }
    }

    fn burn_cpu_ns(amount: u64) {
        let start = thread_cpu_ns();
        while thread_cpu_ns() - start < amount {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn a_thread_that_burns_cpu_shows_it() {
        let Watched { sample, own_cpu_ns, .. } = watch(|| burn_cpu_ns(200 * MS));

        // The thread itself measured 200 ms; a sample in its wait afterwards holds that and the waking up.
        let on_cpu_ns = sample.on_cpu_ns.unwrap();
        assert!((200 * MS..=own_cpu_ns).contains(&on_cpu_ns), "{on_cpu_ns} {own_cpu_ns}");
        let ticks_ns = sample.user_cpu_ns.unwrap() + sample.system_cpu_ns.unwrap();
        assert!(ticks_ns.abs_diff(on_cpu_ns) <= 30 * MS, "{ticks_ns} {on_cpu_ns}");
    }

    #[test]
    fn a_thread_that_sleeps_shows_no_cpu() {
        let seen = watch(|| thread::sleep(Duration::from_millis(200)));

        assert!(seen.sample.on_cpu_ns.unwrap() + 200 * MS <= seen.wall_ns, "{seen:?}");
    }

    /// CPUs that this thread may use, within the first 1024.
    fn allowed_cpus() -> Vec<usize> {
        // SAFETY: a zeroed set is the empty set; the calls look at the first 1024 bits, which it has.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set);
            (0..libc::CPU_SETSIZE as usize).filter(|&cpu| libc::CPU_ISSET(cpu, &set)).collect()
        }
    }

    /// Keep the calling thread on one CPU.
    fn pin(cpu: usize) {
        // SAFETY: as above.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(cpu, &mut set);
            assert_eq!(libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set), 0);
        }
    }

    /// How far a sample of a spinning thread lies behind that thread's own count, taken right after; and the time that
    /// went by from before the sample until after that count.
    fn lag_ns(spin: Duration, its_cpu: usize) -> (u64, u64) {
        let stop = Arc::new(AtomicBool::new(false));
        let (to_us, from_thread) = mpsc::channel();
        let (to_thread, from_us) = mpsc::channel::<()>();
        let stop_there = stop.clone();
        let worker = thread::spawn(move || {
            pin(its_cpu);
            to_us.send((thread_id(), thread_cpu_ns())).unwrap();
            from_us.recv().unwrap();
            // No look at the clock here: it would bring the count up to date for us.
            while !stop_there.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
            thread_cpu_ns()
        });
        let (tid, start_ns) = from_thread.recv().unwrap();
        let mut observer = TaskObserver::open(tid, false);
        to_thread.send(()).unwrap();
        thread::sleep(spin);

        let begun = Instant::now();
        let seen_ns = observer.sample().on_cpu_ns.unwrap();
        stop.store(true, Ordering::Relaxed);
        let own_ns = worker.join().unwrap() - start_ns;

        (own_ns.saturating_sub(seen_ns), begun.elapsed().as_nanos() as u64)
    }

    #[test]
    fn on_cpu_time_of_a_busy_thread_is_not_a_scheduler_tick_behind() {
        let cpus = allowed_cpus();
        let [our_cpu, its_cpu, ..] = cpus[..] else {
            return eprintln!("skipped: on one CPU every look is a context switch, which counts too");
        };
        pin(our_cpu);

        let lag = |round: u64| lag_ns(Duration::from_micros(5000 + 370 * round), its_cpu);
        let lags_ns: Vec<(u64, u64)> = (0..21).map(lag).collect();

        // What the sample does not hold was spent after it began. By schedstat alone half a tick is missing in the mean, 2 ms
        // at 250 Hz, beside the tens of microseconds that a sample takes. Where a host takes the CPU away, one of the two clocks
        // may run on for some microseconds, so it is the sums that are held against each other.
        let [lag_ns, wall_ns] =
            lags_ns.iter().fold([0, 0], |[lag, wall], (lag_ns, wall_ns)| [lag + lag_ns, wall + wall_ns]);
        assert!(lag_ns <= wall_ns, "{lags_ns:?}");
    }

    #[test]
    fn system_calls_that_read_are_counted() {
        let Watched { sample, .. } = watch(|| {
            let mut zero = fs::File::open("/dev/zero").unwrap();
            (0..500).for_each(|_| zero.read_exact(&mut [0; 16]).unwrap());
        });

        assert!((500..600).contains(&sample.io_calls.unwrap()), "{sample:?}");
    }

    #[test]
    fn without_delay_accounting_there_is_no_block_delay() {
        assert_eq!(TaskObserver::open(thread_id(), false).sample().block_delay_ns, None);
    }

    #[test]
    fn a_block_delay_longer_than_the_time_that_was_watched_is_given_up() {
        let mut observer = TaskObserver::open(thread_id(), true);
        let base = observer.base.block_delay_ns.unwrap();
        observer.last.block_delay_ns = Some(0);
        observer.doubt_block_delay();
        assert_eq!(observer.last.block_delay_ns, Some(0));

        observer.last.block_delay_ns = Some(base + 3_600_000 * MS);
        observer.doubt_block_delay();

        assert_eq!(observer.sample().block_delay_ns, None);
    }

    #[test]
    fn a_thread_that_never_was_has_no_values() {
        assert_eq!(TaskObserver::open(i32::MAX - 1, true).sample(), TaskSample::default());
    }

    #[test]
    fn a_name_with_brackets_and_blanks_does_not_shift_the_fields() {
        let rest: Vec<String> = (3..=52).map(|field| field.to_string()).collect();
        let stat = format!("17 (a ) b (c) 9) {}\n", rest.join(" "));

        assert_eq!([14, 15, 42].map(|field| stat_field(&stat, field)), [Some(14), Some(15), Some(42)]);
    }

    #[test]
    fn process_cpu_holds_the_cpu_of_ended_threads() {
        let before = process_cpu_ns(&[]);

        thread::spawn(|| burn_cpu_ns(50 * MS)).join().unwrap();

        assert!(process_cpu_ns(&[]) - before >= 50 * MS);
    }

    #[test]
    fn process_write_bytes_grow_by_what_was_dirtied() {
        let mut file = tempfile::tempfile().unwrap();
        if super::super::is_in_memory(&file) {
            return eprintln!("skipped: the folder for temporary files is a tmpfs");
        }
        let before = process_io(&[]).1.unwrap();

        std::io::Write::write_all(&mut file, &vec![7; 4 << 20]).unwrap();

        assert!(process_io(&[]).1.unwrap() - before >= 4 << 20);
    }
}
