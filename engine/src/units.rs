//! Numbers with their units, for people.

/// A number of bytes for a person.
pub fn bytes_text(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let power = (bytes.ilog2() / 10).min(5);
    let value = bytes as f64 / f64::from(1_u32 << 10).powi(power as i32);
    let unit = UNITS[power as usize - 1];
    if value.fract() == 0.0 && power < 3 { format!("{value} {unit}") } else { format!("{value:.1} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_told_in_binary_units() {
        let texts = [0, 1023, 1024, 256 << 20, 20 << 30, (12 << 30) + (3 << 30) / 10].map(bytes_text);

        assert_eq!(texts, ["0 B", "1023 B", "1 KiB", "256 MiB", "20.0 GiB", "12.3 GiB"]);
    }
}
