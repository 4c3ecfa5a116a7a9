//! What went through the limits that control groups set on devices? Source `cgroup_io`.
//!
//! A limit holds for all programs of its group together, and for nobody else: what the device did besides says nothing
//! about it. One instance a device with a limit: its number (`254:0`) for our own group, number and folder for a group
//! above. In version 1 (cgroup-v1/blkio-controller.rst) a group above limits only itself, so that our own alone counts; in
//! version 2 (cgroup-v2.rst, io.max and io.stat) each level holds all that is below it.

use super::cgroup::{Place, find};
use super::procfile::ProcFile;
use crate::events::HostSample;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

const NAMES: [&str; 4] = ["read_bytes", "write_bytes", "reads", "writes"];
const V1_LIMITS: [&str; 4] = ["read_bps", "write_bps", "read_iops", "write_iops"];

/// Counters of one device, by name.
type Moved = BTreeMap<&'static str, f64>;

/// The groups that we are in and that limit a device.
pub(super) struct IoLimits(Vec<Group>);

struct Group {
    /// Empty: our own.
    folder: String,
    devices: BTreeSet<String>,
    counters: Counters,
}

enum Counters {
    V1 { bytes: ProcFile, operations: ProcFile },
    V2(ProcFile),
}

impl IoLimits {
    /// Those whose limits and counters can be read.
    pub fn open() -> Self {
        let first = find("blkio").as_ref().and_then(v1);
        let second = find("").into_iter().flat_map(|place| v2(&place));
        Self(first.into_iter().chain(second).collect())
    }

    /// `read_bytes`, `write_bytes`, `reads`, `writes` of each device with a limit. The kernel has no line before the first I/O
    /// of the group: that is none so far.
    pub fn sample(&self, text: &mut Vec<u8>, samples: &mut Vec<HostSample>) {
        for group in &self.0 {
            let Some(mut moved) = group.counters.read(text) else { continue };
            for device in &group.devices {
                let space = if group.folder.is_empty() { "" } else { " " };
                let instance = format!("{device}{space}{}", group.folder);
                let mut values = Moved::from(NAMES.map(|name| (name, 0.0)));
                values.extend(moved.remove(device).unwrap_or_default());
                samples.push(HostSample::new("cgroup_io", &instance, values.into_iter()));
            }
        }
    }
}

impl Counters {
    /// By device; None when the kernel says nothing any more.
    fn read(&self, text: &mut Vec<u8>) -> Option<BTreeMap<String, Moved>> {
        let mut devices = BTreeMap::new();
        match self {
            Self::V1 { bytes, operations } => {
                add_v1(&mut devices, &bytes.read(text)?, ["read_bytes", "write_bytes"]);
                add_v1(&mut devices, &operations.read(text)?, ["reads", "writes"]);
            }
            Self::V2(stat) => devices.extend(stat.read(text)?.lines().filter_map(v2_line)),
        }
        Some(devices)
    }
}

/// Our own group of version 1, where it limits a device.
fn v1(place: &Place) -> Option<Group> {
    let file = |name: &str| place.group.join(format!("blkio.throttle.{name}"));
    let limits = V1_LIMITS.into_iter().map(|name| limited(&file(&format!("{name}_device")), |_| true));
    let devices: BTreeSet<String> = limits.flatten().collect();
    if devices.is_empty() {
        return None;
    }
    let counters = Counters::V1 {
        bytes: ProcFile::open(file("io_service_bytes"))?,
        operations: ProcFile::open(file("io_serviced"))?,
    };
    Some(Group { folder: String::new(), devices, counters })
}

/// The groups of version 2 that limit a device, our own first.
fn v2(place: &Place) -> Vec<Group> {
    let group = |folder: &Path| {
        let devices = limited(&folder.join("io.max"), |limit| !limit.ends_with("=max"));
        if devices.is_empty() {
            return None;
        }
        let counters = Counters::V2(ProcFile::open(folder.join("io.stat"))?);
        let name = if folder == place.group { String::new() } else { folder.display().to_string() };
        Some(Group { folder: name, devices, counters })
    };
    place.levels().iter().filter_map(|folder| group(folder)).collect()
}

/// Numbers of the devices of a file of limits (`254:0 LIMIT...`) for which one of the limits counts.
fn limited(file: &Path, counts: impl Fn(&str) -> bool) -> BTreeSet<String> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let device = |line: &str| {
        let (device, limits) = line.split_once(' ')?;
        limits.split_ascii_whitespace().any(&counts).then(|| device.to_owned())
    };
    text.lines().filter_map(device).collect()
}

/// The lines `254:0 Read 4096` and `254:0 Write 0` of a table of version 1.
fn add_v1(devices: &mut BTreeMap<String, Moved>, table: &str, [reads, writes]: [&'static str; 2]) {
    for line in table.lines() {
        let mut words = line.split_ascii_whitespace();
        let (Some(device), Some(way), Some(Ok(count))) =
            (words.next(), words.next(), words.next().map(str::parse::<u64>))
        else {
            continue;
        };
        let name = match way {
            "Read" => reads,
            "Write" => writes,
            _ => continue,
        };
        devices.entry(device.to_owned()).or_default().insert(name, count as f64);
    }
}

/// A line `254:0 rbytes=4096 wbytes=0 rios=1 wios=0 ...` of io.stat.
fn v2_line(line: &str) -> Option<(String, Moved)> {
    let (device, counts) = line.split_once(' ')?;
    let count = |pair: &str| {
        let (name, number) = pair.split_once('=')?;
        let name = match name {
            "rbytes" => "read_bytes",
            "wbytes" => "write_bytes",
            "rios" => "reads",
            "wios" => "writes",
            _ => return None,
        };
        Some((name, number.parse::<u64>().ok()? as f64))
    };
    let moved: Moved = counts.split_ascii_whitespace().filter_map(count).collect();
    (!moved.is_empty()).then(|| (device.to_owned(), moved))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn written(folder: &Path, file: &str, text: &str) {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join(file), text).unwrap();
    }

    fn place(mount: &Path, group: PathBuf) -> Place {
        Place { mount: mount.to_owned(), group }
    }

    fn sampled(limits: &IoLimits) -> Vec<(String, Vec<(String, f64)>)> {
        let mut samples = Vec::new();
        limits.sample(&mut Vec::new(), &mut samples);
        samples.into_iter().map(|sample| (sample.instance, sample.values.into_iter().collect())).collect()
    }

    fn moved(read_bytes: f64, reads: f64, write_bytes: f64, writes: f64) -> Vec<(String, f64)> {
        let values = [("read_bytes", read_bytes), ("reads", reads), ("write_bytes", write_bytes), ("writes", writes)];
        values.map(|(name, value)| (name.to_owned(), value)).into()
    }

    #[test]
    fn version_1_counts_what_the_own_group_moved_on_devices_with_a_limit() {
        let folder = tempfile::tempdir().unwrap();
        let group = folder.path().join("job");
        written(&group, "blkio.throttle.read_iops_device", "254:0 1000\n");
        for name in
            ["blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device", "blkio.throttle.write_iops_device"]
        {
            written(&group, name, "");
        }
        let bytes = "254:0 Read 8192\n254:0 Write 512\n254:0 Sync 8192\n254:0 Total 8704\n7:0 Read 1\nTotal 8705\n";
        written(&group, "blkio.throttle.io_service_bytes", bytes);
        written(&group, "blkio.throttle.io_serviced", "254:0 Read 2\n254:0 Write 1\nTotal 3\n");

        let limits = IoLimits(v1(&place(folder.path(), group)).into_iter().collect());

        assert_eq!(sampled(&limits), [("254:0".to_owned(), moved(8192.0, 2.0, 512.0, 1.0))]);
    }

    #[test]
    fn version_2_counts_each_level_with_a_limit_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let (above, group) = (folder.path().join("a"), folder.path().join("a/b"));
        written(
            &above,
            "io.max",
            "254:0 rbps=1048576 wbps=max riops=max wiops=max\n7:0 rbps=max wbps=max riops=max wiops=max\n",
        );
        written(
            &above,
            "io.stat",
            "254:0 rbytes=900 wbytes=0 rios=9 wios=0 dbytes=0 dios=0\n7:0 rbytes=1 wbytes=1 rios=1 wios=1\n",
        );
        written(&group, "io.max", "254:0 rbps=max wbps=max riops=max wiops=100\n");
        written(&group, "io.stat", "254:0 rbytes=500 wbytes=0 rios=5 wios=0 dbytes=0 dios=0\n");

        let limits = IoLimits(v2(&place(folder.path(), group)));

        let own = ("254:0".to_owned(), moved(500.0, 5.0, 0.0, 0.0));
        let all = (format!("254:0 {}", above.display()), moved(900.0, 9.0, 0.0, 0.0));
        assert_eq!(sampled(&limits), [own, all]);
    }

    #[test]
    fn a_group_without_io_so_far_has_moved_nothing() {
        let folder = tempfile::tempdir().unwrap();
        written(folder.path(), "io.max", "254:0 rbps=1 wbps=max riops=max wiops=max\n");
        written(folder.path(), "io.stat", "");

        let limits = IoLimits(v2(&place(folder.path(), folder.path().to_owned())));

        assert_eq!(sampled(&limits), [("254:0".to_owned(), moved(0.0, 0.0, 0.0, 0.0))]);
    }

    #[test]
    fn without_a_limit_nothing_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        written(folder.path(), "io.max", "254:0 rbps=max wbps=max riops=max wiops=max\n");
        written(folder.path(), "io.stat", "254:0 rbytes=500 wbytes=0 rios=5 wios=0\n");

        assert!(v2(&place(folder.path(), folder.path().to_owned())).is_empty());
        assert!(v1(&place(folder.path(), folder.path().to_owned())).is_none());
    }
}
