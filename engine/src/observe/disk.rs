//! What did the block devices do? Source `diskstats`, one instance a device or partition.
//!
//! /proc/diskstats, fields as in the kernel's Documentation/admin-guide/iostats.rst. A sector is 512 bytes there, whatever
//! the device's own sector is. The kernel prints times as 32-bit milliseconds: they wrap after 49.7 days of one request
//! in flight, or within hours on a busy array (`weighted_io_ns`), so wraps are undone here for as long as the observer
//! lives. `io_ns` is the time with at least one request in flight: it is no measure of how loaded a device is that serves
//! many at once.

use super::procfile::ProcFile;
use crate::events::HostSample;
use std::collections::HashMap;

const SECTOR_BYTES: f64 = 512.0;
const NS_PER_MS: f64 = 1e6;
const COLUMNS: usize = 17;
/// Columns after the device name: which, what, and the unit. Merges (1, 5, 12) are left out.
const FIELDS: [(usize, &str, f64); 14] = [
    (0, "reads", 1.0),
    (2, "read_bytes", SECTOR_BYTES),
    (3, "read_ns", NS_PER_MS),
    (4, "writes", 1.0),
    (6, "write_bytes", SECTOR_BYTES),
    (7, "write_ns", NS_PER_MS),
    (8, "in_flight", 1.0),
    (9, "io_ns", NS_PER_MS),
    (10, "weighted_io_ns", NS_PER_MS),
    (11, "discards", 1.0),
    (13, "discard_bytes", SECTOR_BYTES),
    (14, "discard_ns", NS_PER_MS),
    (15, "flushes", 1.0),
    (16, "flush_ns", NS_PER_MS),
];
const WRAPPING: [usize; 6] = [3, 7, 9, 10, 14, 16];
const READS: usize = 0;
const WRITES: usize = 4;

/// Counters of one device as last seen.
#[derive(Default)]
struct Device {
    last: [u64; COLUMNS],
    /// What 32-bit wraps have taken from each column so far.
    lost: [u64; COLUMNS],
}

/// /proc/diskstats.
pub(super) struct Disk {
    file: ProcFile,
    devices: HashMap<String, Device>,
}

impl Disk {
    /// None without the file.
    pub fn open() -> Option<Self> {
        Some(Self { file: ProcFile::open("/proc/diskstats")?, devices: HashMap::new() })
    }

    /// All devices that have done any I/O; RAM disks are memory and left out.
    pub fn sample(&mut self, text: &mut Vec<u8>, samples: &mut Vec<HostSample>) {
        let Some(table) = self.file.read(text) else { return };
        samples.extend(table.lines().filter_map(|line| parse(line, &mut self.devices)));
    }
}

/// One line; None for a device without I/O, a RAM disk, or a line of another shape.
fn parse(line: &str, devices: &mut HashMap<String, Device>) -> Option<HostSample> {
    let mut words = line.split_ascii_whitespace().skip(2);
    let name = words.next()?;
    let mut columns = [0; COLUMNS];
    let mut count = 0;
    for (column, word) in columns.iter_mut().zip(words) {
        *column = word.parse().ok()?;
        count += 1;
    }
    let idle = columns.iter().all(|&value| value == 0);
    if name.starts_with("ram") || idle && !devices.contains_key(name) {
        return None;
    }
    if !devices.contains_key(name) {
        devices.insert(name.to_owned(), Device::default());
    }
    devices.get_mut(name)?.undo_wraps(&mut columns);
    let present = FIELDS.iter().filter(|(column, ..)| *column < count);
    Some(HostSample::new(
        "diskstats",
        name,
        present.map(|&(column, field, unit)| (field, columns[column] as f64 * unit)),
    ))
}

impl Device {
    /// Add what wraps have taken. Fewer reads or writes than before is a new device of an old name, not a wrap.
    fn undo_wraps(&mut self, columns: &mut [u64; COLUMNS]) {
        let raw = *columns;
        if raw[READS] < self.last[READS] || raw[WRITES] < self.last[WRITES] {
            self.lost = [0; COLUMNS];
        } else {
            for column in WRAPPING {
                if self.last[column].saturating_sub(raw[column]) > u64::from(u32::MAX / 2) {
                    self.lost[column] += 1 << 32;
                }
            }
        }
        self.last = raw;
        for column in WRAPPING {
            columns[column] += self.lost[column];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};

    const LINE: &str =
        " 254 0 vda 55726 10487 5500674 14083 18129 21699 3849824 8262 3 9044 23048 6241 131 572600 578 1937 125";

    fn values(line: &str, devices: &mut HashMap<String, Device>) -> Vec<(String, f64)> {
        parse(line, devices).expect("a device with I/O").values.into_iter().collect()
    }

    #[test]
    fn columns_become_bytes_and_nanoseconds() {
        let sample = parse(LINE, &mut HashMap::new()).unwrap();

        assert_eq!((sample.source.as_str(), sample.instance.as_str()), ("diskstats", "vda"));
        let expected = [
            ("reads", 55_726.0),
            ("read_bytes", 2_816_345_088.0),
            ("read_ns", 14_083e6),
            ("writes", 18_129.0),
            ("write_bytes", 1_971_109_888.0),
            ("write_ns", 8_262e6),
            ("in_flight", 3.0),
            ("io_ns", 9_044e6),
            ("weighted_io_ns", 23_048e6),
            ("discards", 6_241.0),
            ("discard_bytes", 293_171_200.0),
            ("discard_ns", 578e6),
            ("flushes", 1_937.0),
            ("flush_ns", 125e6),
        ];
        assert_eq!(sample.values.len(), expected.len());
        for (name, value) in expected {
            assert_eq!(sample.values[name], value, "{name}");
        }
    }

    #[test]
    fn kernels_before_4_18_have_no_discards_and_flushes() {
        let sample = parse("8 0 sda 1 2 3 4 5 6 7 8 9 10 11", &mut HashMap::new()).unwrap();

        assert_eq!(sample.values["weighted_io_ns"], 11e6);
        assert!(!sample.values.contains_key("discards"));
    }

    #[test]
    fn idle_devices_and_ram_disks_are_left_out() {
        let mut devices = HashMap::new();

        assert!(parse("7 0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0", &mut devices).is_none());
        assert!(parse("1 0 ram0 1 0 8 1 0 0 0 0 0 1 1 0 0 0 0 0 0", &mut devices).is_none());
        assert!(parse("7 0 loop0 1 0 8 1 0 0 0 0 0 1 1 0 0 0 0 0 0", &mut devices).is_some());
    }

    #[test]
    fn a_wrapped_millisecond_counter_goes_on_rising() {
        let mut devices = HashMap::new();
        values("8 0 sda 5 0 8 1 5 0 8 1 0 1 4294967290 0 0 0 0 0 0", &mut devices);

        let after = parse("8 0 sda 6 0 8 1 5 0 8 1 0 1 10 0 0 0 0 0 0", &mut devices).unwrap();

        assert_eq!(after.values["weighted_io_ns"], (4_294_967_296.0 + 10.0) * 1e6);
        assert_eq!(after.values["read_ns"], 1e6);
    }

    #[test]
    fn a_new_device_of_an_old_name_starts_at_its_own_counters() {
        let mut devices = HashMap::new();
        values("7 0 loop0 500 0 8 1 5 0 8 1 0 1 4294967290 0 0 0 0 0 0", &mut devices);

        let after = parse("7 0 loop0 2 0 8 1 5 0 8 1 0 1 10 0 0 0 0 0 0", &mut devices).unwrap();

        assert_eq!(after.values["weighted_io_ns"], 10e6);
    }

    /// Name of the block device below a file, by /sys; None on file systems without one of their own.
    fn device_of(path: &std::path::Path) -> Option<String> {
        let device = std::fs::metadata(path).ok()?.dev();
        let link = format!("/sys/dev/block/{}:{}", libc::major(device), libc::minor(device));
        Some(std::fs::canonicalize(link).ok()?.file_name()?.to_str()?.to_owned())
    }

    #[test]
    fn write_bytes_of_the_device_grow_by_what_a_direct_write_wrote() {
        const WRITTEN_BYTES: usize = 8 << 20;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        let Some(device) = device_of(folder.path()) else { return eprintln!("skipped: no block device below /tmp") };
        let file = std::fs::File::options().create(true).write(true).custom_flags(libc::O_DIRECT).open(&path).unwrap();
        let mut memory = vec![0x5au8; WRITTEN_BYTES + 4096];
        let start = memory.as_ptr().align_offset(4096);
        let block = &mut memory[start..start + WRITTEN_BYTES];
        let mut disk = Disk::open().unwrap();
        let mut written_bytes = || {
            let mut samples = Vec::new();
            disk.sample(&mut Vec::new(), &mut samples);
            samples.iter().find(|s| s.instance == device).map_or(0.0, |s| s.values["write_bytes"])
        };
        let before = written_bytes();

        file.write_all_at(block, 0).unwrap();

        let grown = written_bytes() - before;
        assert!(grown >= WRITTEN_BYTES as f64, "{device} grew by {grown}");
    }
}
