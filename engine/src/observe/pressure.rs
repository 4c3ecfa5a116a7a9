//! Who waited for what? Source `pressure`, instances `cpu`, `io`, `memory`.
//!
//! Pressure stall information of the whole system: running totals of the time in which some task, or every task that
//! could run, was stopped for want of the resource (kernel: Documentation/accounting/psi.rst). Absent where the kernel
//! was built or booted without it (`psi=1`).

use super::procfile::ProcFile;
use crate::events::HostSample;

const RESOURCES: [&str; 3] = ["cpu", "io", "memory"];

/// /proc/pressure.
pub(super) struct Pressure(Vec<(&'static str, ProcFile)>);

impl Pressure {
    /// Those that are there.
    pub fn open() -> Self {
        let open = |resource| Some((resource, ProcFile::open(format!("/proc/pressure/{resource}"))?));
        Self(RESOURCES.into_iter().filter_map(open).collect())
    }

    /// `some_us` and, where the kernel has it, `full_us`.
    pub fn sample(&self, text: &mut Vec<u8>, samples: &mut Vec<HostSample>) {
        for (resource, file) in &self.0 {
            let Some(lines) = file.read(text) else { continue };
            let mut totals = lines.lines().filter_map(total_us).peekable();
            if totals.peek().is_some() {
                samples.push(HostSample::new("pressure", resource, totals));
            }
        }
    }
}

/// The total of one line.
fn total_us(line: &str) -> Option<(&'static str, f64)> {
    let name = match line.split_once(' ')?.0 {
        "some" => "some_us",
        "full" => "full_us",
        _ => return None,
    };
    let total: u64 = line.rsplit_once("total=")?.1.trim().parse().ok()?;
    Some((name, total as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_of_a_line_is_taken_and_not_its_averages() {
        assert_eq!(total_us("some avg10=0.92 avg60=0.29 avg300=0.20 total=5564571"), Some(("some_us", 5_564_571.0)));
        assert_eq!(total_us("full avg10=0.78 avg60=0.23 avg300=0.18 total=17\n"), Some(("full_us", 17.0)));
        assert_eq!(total_us("some avg10=0.92"), None);
    }
}
