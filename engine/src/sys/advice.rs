//! What a program advises the kernel about the use that it will make of a file.

/// A POSIX_FADV_ advice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Advice {
    of_file: libc::c_int,
    of_mapping: libc::c_int,
}

/// Names, and what they are for a file and for a mapping of it.
const NAMES: [(&str, libc::c_int, libc::c_int); 6] = [
    ("normal", libc::POSIX_FADV_NORMAL, libc::MADV_NORMAL),
    ("sequential", libc::POSIX_FADV_SEQUENTIAL, libc::MADV_SEQUENTIAL),
    ("random", libc::POSIX_FADV_RANDOM, libc::MADV_RANDOM),
    ("willneed", libc::POSIX_FADV_WILLNEED, libc::MADV_WILLNEED),
    ("dontneed", libc::POSIX_FADV_DONTNEED, libc::MADV_DONTNEED),
    // A mapping has no such advice; Linux does nothing on it for files before 6.3 either.
    ("noreuse", libc::POSIX_FADV_NOREUSE, libc::MADV_NORMAL),
];

impl Advice {
    /// The advice of a name, with or without `POSIX_FADV_` or `MADV_` before it. None for an unknown one.
    pub fn named(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let name = name.trim_start_matches("posix_").trim_start_matches("fadv_").trim_start_matches("madv_");
        let found = NAMES.iter().find(|(known, ..)| *known == name);
        found.map(|&(_, of_file, of_mapping)| Self { of_file, of_mapping })
    }

    /// All names, for a message.
    pub fn names() -> String {
        NAMES.map(|(name, ..)| name).join(", ")
    }

    /// For posix_fadvise(2).
    pub fn of_file(self) -> libc::c_int {
        self.of_file
    }

    /// For madvise(2).
    pub fn of_mapping(self) -> libc::c_int {
        self.of_mapping
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_goes_by_its_short_and_its_long_name() {
        assert_eq!(Advice::named("POSIX_FADV_RANDOM"), Advice::named("random"));
        assert_eq!(Advice::named("MADV_WILLNEED"), Advice::named("willneed"));
        assert_eq!(Advice::named("random").unwrap().of_file, libc::POSIX_FADV_RANDOM);
        assert_eq!(Advice::named("soon"), None);
    }
}
