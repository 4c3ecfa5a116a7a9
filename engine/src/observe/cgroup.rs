//! Does a control group hold us back? Source `cgroup`.
//!
//! cpu.stat of our own group (instance empty) and of every group above it that can be seen (instance: its folder), since a
//! quota there stops us as well: periods, throttled periods, and throttled time summed over the group's CPUs. Version 1
//! says `throttled_time` in ns, version 2 `throttled_usec`; both become `throttled_ns`. A group without a CPU controller
//! has none of these lines and is left out.

use super::procfile::ProcFile;
use crate::events::HostSample;
use std::fs;
use std::path::{Path, PathBuf};

/// Where one hierarchy shows our group.
#[derive(Debug, PartialEq)]
pub(super) struct Place {
    pub mount: PathBuf,
    pub group: PathBuf,
}

/// cpu.stat of the groups that we are in.
pub(super) struct Cgroup(Vec<(String, ProcFile)>);

impl Cgroup {
    /// Those that are there and count throttling.
    pub fn open() -> Self {
        let places = ["", "cpu"].into_iter().filter_map(find);
        let mut groups: Vec<(String, ProcFile)> = Vec::new();
        for place in places {
            for folder in place.levels() {
                let file = ProcFile::open(folder.join("cpu.stat"));
                let Some(file) = file.filter(|file| file.read(&mut Vec::new()).is_some_and(|t| counts(&t))) else {
                    continue;
                };
                let own = folder == place.group && !groups.iter().any(|(instance, _)| instance.is_empty());
                groups.push((if own { String::new() } else { folder.display().to_string() }, file));
            }
        }
        Self(groups)
    }

    /// `nr_periods`, `nr_throttled`, `throttled_ns`.
    pub fn sample(&self, text: &mut Vec<u8>, samples: &mut Vec<HostSample>) {
        for (instance, file) in &self.0 {
            if let Some(lines) = file.read(text) {
                samples.push(HostSample::new("cgroup", instance, lines.lines().filter_map(value)));
            }
        }
    }
}

/// The lowest memory limit of our group and those above it; None without one.
pub(crate) fn memory_limit_bytes() -> Option<u64> {
    let limit = |folder: PathBuf, file| fs::read_to_string(folder.join(file)).ok()?.trim().parse().ok();
    let unified = find("").into_iter().flat_map(|place| place.levels()).filter_map(|f| limit(f, "memory.max"));
    let old = find("memory").into_iter().flat_map(|place| place.levels());
    unified.chain(old.filter_map(|folder| limit(folder, "memory.limit_in_bytes"))).min()
}

/// What the tightest memory limit of our group and those above it leaves; None without one. The page cache is given back
/// before anybody is refused memory, so it counts as left.
pub(crate) fn memory_left_bytes() -> Option<u64> {
    let unified = find("").into_iter().flat_map(|place| place.levels());
    let old = find("memory").into_iter().flat_map(|place| place.levels());
    let unified = unified.filter_map(|folder| left_in(&folder, "memory.max", "memory.current", ""));
    unified.chain(old.filter_map(|f| left_in(&f, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_"))).min()
}

/// The same of one group, from its files.
fn left_in(folder: &Path, limit: &str, used: &str, prefix: &str) -> Option<u64> {
    let number = |file: &str| fs::read_to_string(folder.join(file)).ok()?.trim().parse::<u64>().ok();
    let stat = fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
    let cached: u64 = stat.lines().filter_map(|line| cached_bytes(line.strip_prefix(prefix)?)).sum();
    Some(number(limit)?.saturating_sub(number(used)?.saturating_sub(cached)))
}

/// One line of memory.stat, if it is of the page cache.
fn cached_bytes(line: &str) -> Option<u64> {
    let (name, number) = line.split_once(' ')?;
    matches!(name, "active_file" | "inactive_file").then(|| number.trim().parse().ok())?
}

impl Place {
    /// Our group's folder, then those above it up to the mount.
    pub fn levels(&self) -> Vec<PathBuf> {
        let above = self.group.ancestors().take_while(|folder| folder.starts_with(&self.mount));
        above.map(Path::to_path_buf).collect()
    }
}

/// Our group in the hierarchy of a version 1 controller, or in that of version 2 (empty name).
pub(super) fn find(controller: &str) -> Option<Place> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    locate(controller, &groups, &mounts)
}

/// The same from the texts of /proc/self/cgroup (`number:controllers:group`) and /proc/self/mountinfo.
///
/// A mount may show only a part of the hierarchy (its root, the fourth field): then the group's path is shortened by it.
fn locate(controller: &str, groups: &str, mounts: &str) -> Option<Place> {
    let group = groups.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        parts.next()?.split(',').any(|name| name == controller).then(|| parts.next())?
    })?;
    mounts.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let mut kind = kind.split(' ');
        let wanted = match kind.next()? {
            "cgroup2" => controller.is_empty(),
            "cgroup" => !controller.is_empty() && kind.nth(1)?.split(',').any(|option| option == controller),
            _ => false,
        };
        let mut place = place.split(' ').skip(3).filter(|_| wanted);
        let (root, mount) = (place.next()?, PathBuf::from(place.next()?));
        let inside = Path::new(group).strip_prefix(root).unwrap_or(Path::new(""));
        let group = if inside.as_os_str().is_empty() { mount.clone() } else { mount.join(inside) };
        Some(Place { mount, group })
    })
}

/// Whether a cpu.stat counts throttling.
fn counts(stat: &str) -> bool {
    stat.lines().any(|line| line.starts_with("nr_throttled "))
}

/// One line of cpu.stat, if it is one of ours.
fn value(line: &str) -> Option<(&'static str, f64)> {
    let (name, number) = line.split_once(' ')?;
    let number = number.trim().parse::<u64>().ok()? as f64;
    match name {
        "nr_periods" => Some(("nr_periods", number)),
        "nr_throttled" => Some(("nr_throttled", number)),
        "throttled_time" => Some(("throttled_ns", number)),
        "throttled_usec" => Some(("throttled_ns", number * 1e3)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
33 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset
35 31 0:32 /docker/abc /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:4 - cgroup2 cgroup2 rw
";
    const GROUPS: &str = "4:memory:/docker/abc/job\n3:cpuset:/\n1:cpu,cpuacct:/user/a:b\n0::/user.slice/x\n";

    #[test]
    fn own_group_is_found_in_each_hierarchy() {
        let place = |mount: &str, group: &str| Some(Place { mount: mount.into(), group: group.into() });

        let cpu = "/sys/fs/cgroup/cpu,cpuacct";
        assert_eq!(locate("cpu", GROUPS, MOUNTS), place(cpu, "/sys/fs/cgroup/cpu,cpuacct/user/a:b"));
        assert_eq!(locate("memory", GROUPS, MOUNTS), place("/sys/fs/cgroup/memory", "/sys/fs/cgroup/memory/job"));
        assert_eq!(locate("", GROUPS, MOUNTS), place("/sys/fs/cgroup/unified", "/sys/fs/cgroup/unified/user.slice/x"));
        assert_eq!(locate("blkio", GROUPS, MOUNTS), None);
    }

    #[test]
    fn levels_end_at_the_mount() {
        let place = Place { mount: "/sys/fs/cgroup".into(), group: "/sys/fs/cgroup/a/b".into() };

        let levels: Vec<PathBuf> = ["/sys/fs/cgroup/a/b", "/sys/fs/cgroup/a", "/sys/fs/cgroup"].map(Into::into).into();
        assert_eq!(place.levels(), levels);
    }

    #[test]
    fn the_page_cache_of_a_group_counts_as_left() {
        let folder = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| fs::write(folder.path().join(file), text).unwrap();
        let left = |limit, used, prefix| left_in(folder.path(), limit, used, prefix);
        assert_eq!(left("memory.max", "memory.current", ""), None);

        write("memory.max", "1000\n");
        write("memory.current", "900\n");
        write("memory.stat", "anon 300\nactive_file 200\ninactive_file 350\nshmem 50\n");
        assert_eq!(left("memory.max", "memory.current", ""), Some(650));

        write("memory.stat", "active_file 1\ntotal_active_file 100\ntotal_inactive_file 0\n");
        assert_eq!(left("memory.max", "memory.current", "total_"), Some(200));
        write("memory.max", "max\n");
        assert_eq!(left("memory.max", "memory.current", ""), None);
    }

    #[test]
    fn both_versions_give_nanoseconds() {
        assert_eq!(value("throttled_time 5000000"), Some(("throttled_ns", 5e6)));
        assert_eq!(value("throttled_usec 5000"), Some(("throttled_ns", 5e6)));
        assert_eq!(value("nr_throttled 7"), Some(("nr_throttled", 7.0)));
        assert_eq!(value("usage_usec 7"), None);
    }
}
