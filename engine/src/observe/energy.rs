//! What energy did the machine take? Source `energy`, one instance a zone of the processors' own meters.
//!
//! RAPL counters of /sys/class/powercap (kernel: Documentation/power/powercap/powercap.rst): a zone `intel-rapl:0` for each
//! package, or for the whole platform, and zones `intel-rapl:0:1` within it. AMD's are there under the same names; the zones of
//! `intel-rapl-mmio` are the same packages once more. `energy_uj` begins anew when it has come to `max_energy_range_uj`, within
//! the hour on a busy machine: `energy_uj` of a sample is made to go on, which it does as long as samples are closer together
//! than that. Most machines let only root read it; in most virtual ones it is not there at all.

use super::procfile::ProcFile;
use crate::events::HostSample;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// One counter.
struct Zone {
    /// `package-0`, `package-0/dram`, `psys`.
    instance: String,
    counter: ProcFile,
    /// The largest value that it takes.
    range_uj: u64,
    last_uj: u64,
    total_uj: u64,
}

/// The zones.
pub(super) struct Energy(Vec<Zone>);

impl Energy {
    /// Those that are there and may be read.
    pub fn open() -> Self {
        Self::below(Path::new("/sys/class/powercap"))
    }

    /// The same of a tree like /sys/class/powercap.
    fn below(powercap: &Path) -> Self {
        let entries = fs::read_dir(powercap).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        let mut zones: BTreeMap<String, Zone> = BTreeMap::new();
        for name in names.iter().filter(|name| name.starts_with("intel-rapl:")) {
            if let Some(zone) = Zone::open(powercap, name) {
                zones.entry(zone.instance.clone()).or_insert(zone);
            }
        }
        Self(zones.into_values().collect())
    }

    /// `energy_uj`.
    pub fn sample(&mut self, text: &mut Vec<u8>, samples: &mut Vec<HostSample>) {
        for zone in &mut self.0 {
            if let Some(now_uj) = number(&zone.counter, text) {
                zone.advance(now_uj);
                let value = ("energy_uj", zone.total_uj as f64);
                samples.push(HostSample::new("energy", &zone.instance, [value].into_iter()));
            }
        }
    }
}

impl Zone {
    /// None where a file of it is missing or may not be read.
    fn open(powercap: &Path, name: &str) -> Option<Self> {
        let counter = ProcFile::open(powercap.join(name).join("energy_uj"))?;
        let last_uj = number(&counter, &mut Vec::new())?;
        let range_uj = word(&powercap.join(name).join("max_energy_range_uj"))?.parse().ok()?;
        Some(Self { instance: instance(powercap, name)?, counter, range_uj, last_uj, total_uj: last_uj })
    }

    /// Go on to the current value of the counter.
    fn advance(&mut self, now_uj: u64) {
        // Lower than before: it came to its end in between and began at 0.
        let grown = now_uj.checked_sub(self.last_uj);
        self.total_uj += grown.unwrap_or_else(|| now_uj.saturating_add(self.range_uj.saturating_sub(self.last_uj)));
        self.last_uj = now_uj;
    }
}

/// The name of a zone after those that it lies in: of `intel-rapl:0:1` also that of `intel-rapl:0`.
fn instance(powercap: &Path, zone: &str) -> Option<String> {
    let own = word(&powercap.join(zone).join("name"))?;
    match zone.rsplit_once(':')? {
        (above, _) if above.contains(':') => Some(format!("{}/{own}", instance(powercap, above)?)),
        _ => Some(own),
    }
}

/// What a file holds, without the end of its line.
fn word(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

fn number(file: &ProcFile, text: &mut Vec<u8>) -> Option<u64> {
    file.read(text)?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::OpenOptions;
    use std::io::Write;
    use tempfile::TempDir;

    const RANGE_UJ: u64 = 262_143_328_850;

    /// A tree like /sys/class/powercap.
    fn tree(zones: &[(&str, &str, u64)]) -> TempDir {
        let powercap = tempfile::tempdir().unwrap();
        for (zone, name, energy_uj) in zones {
            let folder = powercap.path().join(zone);
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("name"), format!("{name}\n")).unwrap();
            fs::write(folder.join("energy_uj"), format!("{energy_uj}\n")).unwrap();
            fs::write(folder.join("max_energy_range_uj"), format!("{RANGE_UJ}\n")).unwrap();
        }
        powercap
    }

    /// Set the counter of a zone, in the file that is open.
    fn set(powercap: &TempDir, zone: &str, energy_uj: u64) {
        let path = powercap.path().join(zone).join("energy_uj");
        let mut file = OpenOptions::new().write(true).truncate(true).open(path).unwrap();
        writeln!(file, "{energy_uj}").unwrap();
    }

    fn sampled(energy: &mut Energy) -> Vec<(String, f64)> {
        let mut samples = Vec::new();
        energy.sample(&mut Vec::new(), &mut samples);
        assert!(samples.iter().all(|sample| sample.source == "energy" && sample.values.len() == 1));
        samples.into_iter().map(|sample| (sample.instance, sample.values["energy_uj"])).collect()
    }

    #[test]
    fn zones_have_the_names_of_those_around_them_and_packages_are_there_once() {
        let powercap = tree(&[
            ("intel-rapl:0", "package-0", 100),
            ("intel-rapl:0:0", "core", 40),
            ("intel-rapl:0:1", "dram", 7),
            ("intel-rapl:1", "package-1", 200),
            ("intel-rapl:1:0", "dram", 8),
            ("intel-rapl:2", "psys", 500),
            ("intel-rapl-mmio:0", "package-0", 100),
            ("dtpm", "dtpm", 1),
        ]);
        fs::create_dir(powercap.path().join("intel-rapl")).unwrap();

        let mut energy = Energy::below(powercap.path());

        let expected = [
            ("package-0", 100.0),
            ("package-0/core", 40.0),
            ("package-0/dram", 7.0),
            ("package-1", 200.0),
            ("package-1/dram", 8.0),
            ("psys", 500.0),
        ];
        assert_eq!(sampled(&mut energy), expected.map(|(name, value)| (name.to_owned(), value)));
    }

    #[test]
    fn a_counter_that_begins_anew_goes_on() {
        let powercap = tree(&[("intel-rapl:0", "package-0", RANGE_UJ - 1_000)]);
        let mut energy = Energy::below(powercap.path());
        let at = |energy: &mut Energy| sampled(energy)[0].1;
        let before = at(&mut energy);

        set(&powercap, "intel-rapl:0", 500);
        let wrapped = at(&mut energy);
        set(&powercap, "intel-rapl:0", 800);
        let later = at(&mut energy);

        assert_eq!((wrapped - before, later - wrapped), (1_500.0, 300.0));
    }

    #[test]
    fn what_is_not_there_or_is_no_number_is_left_out() {
        let powercap =
            tree(&[("intel-rapl:0", "package-0", 1), ("intel-rapl:1", "package-1", 2), ("intel-rapl:2", "psys", 3)]);
        fs::remove_file(powercap.path().join("intel-rapl:0/energy_uj")).unwrap();
        fs::write(powercap.path().join("intel-rapl:1/max_energy_range_uj"), "\n").unwrap();

        assert_eq!(sampled(&mut Energy::below(powercap.path())), [("psys".to_owned(), 3.0)]);
        assert_eq!(sampled(&mut Energy::below(&powercap.path().join("none"))), []);
    }
}
