//! What did other programs write meanwhile? Source `programs`: an instance for each name of a program that wrote, at most
//! [`MOST_NAMES`] of them, and one without a name for all together.
//!
//! What a device wrote does not show for whom. Each process's own count does: `write_bytes` of /proc/PID/io has what it
//! wrote past the page cache, and what it made dirty in it, on whatever block device. Left out are the engine and its
//! children, the threads of the kernel, which do the load's own work, and those who started the engine: they keep its
//! record, or wait.
//!
//! Of a process that may not be looked at, its CPU time is known (/proc/PID/stat): `hidden_cpu_ns` adds it up. One that ran
//! for no time wrote nothing.
//!
//! A look takes at most [`MOST_SHARE`] of a CPU; between two looks the last is reported again, with its time, `looked_ns`.
//!
//! Limits: a process that lives for less than the time between two looks may not be seen, and one that ends takes with it
//! what it did since the last look; what the kernel's own servers (NFS, SMB, iSCSI) write is not seen. Absent where not all
//! processes are seen: in a container with processes of its own, and where /proc hides those of others (`hidepid`).

use super::cpu::ns_per_tick;
use super::growth::Growth;
use super::look::Look;
use crate::events::HostSample;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::Path;
use std::time::Instant;

/// Number of the kernel's first namespace of processes (Linux, include/linux/proc_ns.h: `PROC_PID_INIT_INO`).
const FIRST_NAMESPACE: &str = "pid:[4026531836]";
/// Parent of the kernel's threads.
const KTHREADD: u32 = 2;
/// Of one CPU, at most, that looking may take.
const MOST_SHARE: f64 = 0.005;
const MOST_NAMES: usize = 16;

/// All other processes of the machine.
pub(super) struct Programs {
    own: u32,
    /// Who started it, and who started that, up to the first process.
    parents: HashSet<u32>,
    /// Whether a process is the load's or the kernel's, as its first look found it.
    ours: HashMap<u32, bool>,
    written: HashMap<u32, u64>,
    written_by_name: BTreeMap<String, u64>,
    written_bytes: u64,
    hidden_ticks: Growth,
    ns_per_tick: f64,
    opened: Instant,
    last: Option<Look>,
}

/// What /proc/PID/stat has of one.
struct Stat {
    name: String,
    parent: u32,
    cpu_ticks: u64,
}

impl Programs {
    /// None where not all are seen.
    pub fn open() -> Option<Self> {
        let is_first = fs::read_link("/proc/self/ns/pid").is_ok_and(|link| link == Path::new(FIRST_NAMESPACE));
        let are_others_there = Path::new("/proc/1/stat").exists();
        (is_first && are_others_there).then(|| Self::beside(std::process::id()))
    }

    fn beside(own: u32) -> Self {
        Self {
            own,
            parents: parents_of(own).collect(),
            ours: HashMap::new(),
            written: HashMap::new(),
            written_by_name: BTreeMap::new(),
            written_bytes: 0,
            hidden_ticks: Growth::default(),
            ns_per_tick: ns_per_tick(),
            opened: Instant::now(),
            last: None,
        }
    }

    /// `write_bytes` by name; of all, `hidden_cpu_ns` too. Totals from the first look to the last, at `looked_ns`.
    pub fn sample(&mut self, samples: &mut Vec<HostSample>) {
        if self.last.as_ref().is_none_or(|look| look.is_over(MOST_SHARE)) {
            let at = Instant::now();
            self.look();
            self.last = Some(Look { at, took: at.elapsed() });
        }
        let hidden_ns = self.hidden_ticks.total as f64 * self.ns_per_tick;
        let looked_ns = self.last.as_ref().map_or(0, |look| look.at.duration_since(self.opened).as_nanos()) as f64;
        let all = [("write_bytes", self.written_bytes as f64), ("hidden_cpu_ns", hidden_ns), ("looked_ns", looked_ns)];
        samples.push(HostSample::new("programs", "", all.into_iter()));
        for (name, bytes) in &self.written_by_name {
            samples.push(HostSample::new("programs", name, [("write_bytes", *bytes as f64)].into_iter()));
        }
    }

    fn look(&mut self) {
        let Ok(entries) = fs::read_dir("/proc") else { return };
        let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let numbers: HashSet<u32> = numbers.collect();
        self.ours.retain(|number, _| numbers.contains(number));
        let (mut written, mut hidden) = (HashMap::new(), HashMap::new());
        for number in numbers {
            if !self.is_others(number) {
                continue;
            }
            if let Some(bytes) = written_bytes(number) {
                self.add(number, bytes);
                written.insert(number, bytes);
            } else if let Some(stat) = stat(number) {
                hidden.insert(number, stat.cpu_ticks);
            }
        }
        self.written = written;
        self.hidden_ticks.add(hidden);
    }

    /// What a process wrote since the look before. One that was not there, or had more, is a new one.
    fn add(&mut self, number: u32, bytes: u64) {
        if self.last.is_none() {
            return;
        }
        let before = self.written.get(&number).filter(|before| **before <= bytes).unwrap_or(&0);
        let grown = bytes - before;
        if grown == 0 {
            return;
        }
        self.written_bytes += grown;
        let Some(Stat { name, .. }) = stat(number) else { return };
        if self.written_by_name.len() < MOST_NAMES || self.written_by_name.contains_key(&name) {
            *self.written_by_name.entry(name).or_default() += grown;
        }
    }

    /// Whether a process is neither the engine, nor a child or parent of it, nor the kernel's.
    fn is_others(&mut self, number: u32) -> bool {
        if let Some(is_ours) = self.ours.get(&number) {
            return !is_ours;
        }
        let mut is_ours = number == self.own || number == KTHREADD || self.parents.contains(&number);
        is_ours |= parents_of(number).any(|parent| parent == self.own || parent == KTHREADD);
        self.ours.insert(number, is_ours);
        !is_ours
    }
}

/// Who started a process, and who started that, up to the first process.
fn parents_of(number: u32) -> impl Iterator<Item = u32> {
    const MOST_GENERATIONS: usize = 64;
    let parent = |child: &u32| stat(*child).map(|stat| stat.parent).filter(|parent| *parent > 0);
    std::iter::successors(parent(&number), parent).take(MOST_GENERATIONS)
}

/// What a process wrote so far; None where this may not be read, and when it has ended.
fn written_bytes(number: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{number}/io")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("write_bytes:"))?.trim().parse().ok()
}

fn stat(number: u32) -> Option<Stat> {
    Stat::of(&fs::read(format!("/proc/{number}/stat")).ok()?)
}

impl Stat {
    /// The name is in parentheses and may have any byte in it, these too.
    fn of(text: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(text);
        let (begin, end) = (text.find('(')?, text.rfind(')')?);
        let name: String = text.get(begin + 1..end)?.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
        let name = if name.is_empty() { "?".to_owned() } else { name };
        let fields: Vec<&str> = text[end + 1..].split_ascii_whitespace().collect();
        let number = |place: usize| fields.get(place)?.parse::<u64>().ok();
        // Fields 4, 14 and 15 of proc(5); the first after the name is field 3.
        Some(Self { name, parent: u32::try_from(number(1)?).ok()?, cpu_ticks: number(11)? + number(12)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::process::{Command, Stdio};

    /// Bytes that all others wrote, and those of one name.
    fn written(programs: &mut Programs, name: &str) -> (f64, f64) {
        let mut samples = Vec::new();
        programs.last = programs.last.take().map(|look| Look { took: std::time::Duration::ZERO, ..look });
        programs.sample(&mut samples);
        let of = |name: &str| samples.iter().find(|s| s.instance == name).map_or(0.0, |s| s.values["write_bytes"]);
        (of(""), of(name))
    }

    #[test]
    fn what_another_program_writes_is_counted_by_its_name_and_what_a_child_of_the_engine_writes_is_not() {
        const BYTES: f64 = 8_388_608.0;
        let folder = std::env::temp_dir().join(format!("assay-programs-{}", std::process::id()));
        fs::create_dir(&folder).expect("a new folder");
        let name = format!("w{}", std::process::id());
        std::os::unix::fs::symlink("/bin/sh", folder.join(&name)).expect("a new name");
        let mut shell = Command::new(folder.join(&name));
        shell.args(["-c", "printf '%8388608s' x > file; echo written; read go"]);
        shell.current_dir(&folder).stdin(Stdio::piped()).stdout(Stdio::piped());
        let (mut of_parent, mut of_nobody) = (Programs::beside(std::process::id()), Programs::beside(u32::MAX));
        written(&mut of_parent, &name);
        written(&mut of_nobody, &name);

        let mut child = shell.spawn().expect("sh runs");
        let mut said = [0];
        child.stdout.as_mut().expect("a pipe").read_exact(&mut said).expect("it writes");
        let (_, as_child) = written(&mut of_parent, &name);
        let (all, as_other) = written(&mut of_nobody, &name);

        drop(child.stdin.take());
        child.wait().expect("it ends");
        let is_in_memory = crate::observe::is_in_memory(fs::File::open(folder.join("file")).expect("its file"));
        fs::remove_dir_all(&folder).expect("ours");
        assert_eq!(as_child, 0.0);
        assert!(is_in_memory || as_other >= BYTES, "{as_other}");
        assert!(all >= as_other);
    }

    #[test]
    fn a_name_may_have_parentheses_and_bytes_of_any_kind_in_it() {
        let line = b"77 (a) S 1 (\xff\n) R 42 77 77 0 -1 4194304 1 0 0 0 12 30 0 0 20 0 1 0 1 0 0";

        let stat = Stat::of(line).expect("a line");

        assert_eq!((stat.name.as_str(), stat.parent, stat.cpu_ticks), ("a) S 1 (\u{fffd}?", 42, 42));
        assert_eq!(Stat::of(b"1 () S 0 1 1 0 -1 4194304 1 0 0 0 1 2 0").expect("a line").name, "?");
        assert!(Stat::of(b"77 (cut) R").is_none() && Stat::of(b"").is_none());
    }
}
