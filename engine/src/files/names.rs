//! Names of files and directories, made from the index alone and read back from a directory listing.

use crate::among::{ANYBODY, is_owner};
use crate::backend::store::{At, Handle};
use crate::error::{EngineError, Result};
use crate::files::root::Root;
use std::ffi::{CStr, OsString};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

const PLACEHOLDER: &str = "{index}";
const FEWEST_DIGITS: usize = 8;
const LONGEST_NAME_BYTES: usize = 255;

/// The digits of a number below 10^8, all at once: its halves, then their halves, then the digits, each in a part of one
/// word. A division by 100 or 10 is a multiplication by 10486 / 2^20 or 103 / 2^10, exact below 10,000 and below 100.
#[inline]
fn eight_digits(number: u64) -> [u8; 8] {
    let fours = number / 10_000 + ((number % 10_000) << 32);
    let high_pairs = ((fours * 10_486) >> 20) & 0x0000_007f_0000_007f;
    let pairs = high_pairs + ((fours - 100 * high_pairs) << 16);
    let high_digits = ((pairs * 103) >> 10) & 0x000f_000f_000f_000f;
    let digits = high_digits + ((pairs - 10 * high_digits) << 8);
    (digits + 0x3030_3030_3030_3030).to_le_bytes()
}

/// A path that is built again and again in the same memory, ready for the kernel.
#[derive(Debug, Clone)]
pub struct PathBuffer {
    bytes: Vec<u8>,
    /// What its first bytes are.
    directory: Option<Directory>,
    /// The open folder that the first `known_bytes` lead to.
    folder: Handle,
    known_bytes: usize,
    /// Whether that is the working directory, which all paths lie in.
    is_here: bool,
}

/// The directory at the beginning of a path. Files are mostly worked on one directory after the other, so it is built once
/// for many.
#[derive(Debug, Clone, Copy)]
struct Directory {
    /// Number of the file set, and of the directory among those of the set that hold files.
    set: u64,
    leaf: u64,
    bytes: usize,
}

impl Default for PathBuffer {
    fn default() -> Self {
        Self::new()
    }
}

impl PathBuffer {
    /// Room for most paths; a longer one makes it grow once.
    pub fn new() -> Self {
        let bytes = Vec::with_capacity(512);
        Self { bytes, directory: None, folder: Handle::NONE, known_bytes: 0, is_here: false }
    }

    /// The caller works in `folder`, and all paths lie in it.
    pub fn set_working_directory(&mut self, folder: &Path) {
        (self.folder, self.known_bytes, self.is_here) = (Handle::HERE, folder.as_os_str().len() + 1, true);
    }

    /// Start with `path`, which lies in `root`.
    #[inline]
    pub(crate) fn begin(&mut self, root: &Root, path: &[u8]) {
        if !self.is_here {
            self.folder = Handle::of_directory(root.as_fd());
            self.known_bytes = root.path().as_os_str().len() + 1;
        }
        self.directory = None;
        self.bytes.clear();
        self.bytes.extend_from_slice(path);
    }

    /// Go back to the directory `leaf` of a set, if it is the one that the path begins with.
    #[inline]
    pub(crate) fn begin_again(&mut self, set: u64, leaf: u64) -> bool {
        match self.directory {
            Some(directory) if directory.set == set && directory.leaf == leaf => {
                self.bytes.truncate(directory.bytes);
                true
            }
            _ => false,
        }
    }

    /// What is in the buffer now is the directory `leaf` of a set.
    #[inline]
    pub(crate) fn note_directory(&mut self, set: u64, leaf: u64) {
        self.directory = Some(Directory { set, leaf, bytes: self.bytes.len() });
    }

    /// Append bytes, none of them NUL. What is short goes byte by byte: a call to copy it costs more.
    #[inline]
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if let [byte] = bytes {
            self.bytes.push(*byte);
        } else {
            self.bytes.extend_from_slice(bytes);
        }
    }

    /// Append a number with leading zeros to a number of digits that it does not pass.
    #[inline]
    pub(crate) fn push_number(&mut self, number: u64, digits: usize) {
        const MOST_DIGITS: usize = 20;
        if digits == FEWEST_DIGITS {
            // Nearly all names; they are built in the op loop.
            self.bytes.extend_from_slice(&eight_digits(number));
            return;
        }
        let mut text = [b'0'; MOST_DIGITS];
        let mut rest = number;
        for digit in text.iter_mut().rev() {
            *digit += (rest % 10) as u8;
            rest /= 10;
        }
        self.bytes.extend_from_slice(&text[MOST_DIGITS - digits..]);
    }

    /// End the path.
    #[inline]
    pub(crate) fn finish(&mut self) {
        self.bytes.push(0);
    }

    /// The whole path, for programs, for what a symbolic link holds and for messages; empty before the first path was built.
    #[inline]
    pub fn as_cstr(&self) -> &CStr {
        if self.bytes.last() != Some(&0) {
            return c"";
        }
        // SAFETY: the last byte is NUL, and no other is: `push` and `begin` take none (looked for where names are made, and
        // paths come from file names of the kernel), and every path begins anew.
        unsafe { CStr::from_bytes_with_nul_unchecked(&self.bytes) }
    }

    /// The name for a call: the open folder, and what comes behind it.
    #[inline]
    pub fn at(&self) -> At<'_> {
        let path = match self.as_cstr().to_bytes_with_nul().get(self.known_bytes..) {
            // SAFETY: the end of a string with a NUL, and not less than that.
            Some(rest @ [_, ..]) => unsafe { CStr::from_bytes_with_nul_unchecked(rest) },
            _ => c".",
        };
        At { folder: self.folder, path }
    }

    /// The path for a message.
    pub fn to_path(&self) -> PathBuf {
        PathBuf::from(OsString::from_vec(self.as_cstr().to_bytes().to_vec()))
    }
}

/// A name with a number in it, such as `f00012345`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberedName {
    before: Vec<u8>,
    after: Vec<u8>,
    /// 0: the name holds no number, and there is just one.
    digits: usize,
    count: u64,
    /// Whether the name of a client, and a dot, come before it: of whichever client. Such names are read, not made.
    is_anyones: bool,
}

impl NumberedName {
    /// The names of `count` files by the template of a set.
    ///
    /// # Errors
    ///
    /// A Plan error for a template that gives the same name twice, or no file name at all.
    pub fn of_files(set: &str, template: &str, count: u64) -> Result<Self> {
        let unfit = |why: &str| EngineError::Plan(format!("file set '{set}': file_name '{template}' {why}"));
        let (before, after, digits) = match template.split_once(PLACEHOLDER) {
            Some((_, after)) if after.contains(PLACEHOLDER) => {
                return Err(unfit("holds {index} twice; once is enough"));
            }
            Some((before, after)) => (before, after, digits_for(count)),
            None if count == 1 => (template, "", 0),
            None => return Err(unfit(&format!("has no {{index}}, so {count} files would share one name; add it"))),
        };
        if template.contains(['/', '\0']) {
            return Err(unfit("holds a '/' or a NUL; it is the name of a file, not a path"));
        }
        if digits == 0 && (template.is_empty() || template.starts_with('.')) {
            return Err(unfit("is empty or starts with a dot; names with a dot in front are Assay's own"));
        }
        if before.len() + digits + after.len() > LONGEST_NAME_BYTES {
            return Err(unfit("gives names above 255 bytes; shorten it"));
        }
        Ok(Self { before: before.into(), after: after.into(), digits, count, is_anyones: false })
    }

    /// The same names with a client's name and a dot before them ([`ANYBODY`]: of whichever).
    ///
    /// # Errors
    ///
    /// A Plan error for names that are too long.
    pub fn of_owner(mut self, set: &str, owner: &str) -> Result<Self> {
        if owner == ANYBODY {
            self.is_anyones = true;
            return Ok(self);
        }
        self.before.splice(0..0, owner.bytes().chain(*b"."));
        if self.before.len() + self.digits + self.after.len() > LONGEST_NAME_BYTES {
            let why = "with its owner's name gives names above 255 bytes; shorten it";
            return Err(EngineError::Plan(format!("file set '{set}': file_name {why}")));
        }
        Ok(self)
    }

    /// The names of the `count` sub-directories of a directory: `d00000000` and so on.
    pub fn of_directories(count: u64) -> Self {
        Self { before: b"d".to_vec(), after: Vec::new(), digits: digits_for(count), count, is_anyones: false }
    }

    /// Append the name of a number.
    #[inline]
    pub fn push_into(&self, number: u64, buffer: &mut PathBuffer) {
        buffer.push(&self.before);
        if self.digits > 0 {
            buffer.push_number(number, self.digits);
            buffer.push(&self.after);
        }
    }

    /// The number in a name; `None` for every name that `push_into` cannot have made.
    pub fn number_in(&self, name: &CStr) -> Option<u64> {
        let name = if self.is_anyones { self.behind_owner(name.to_bytes())? } else { name.to_bytes() };
        let middle = name.strip_prefix(self.before.as_slice())?.strip_suffix(self.after.as_slice())?;
        if middle.len() != self.digits || !middle.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let value = middle
            .iter()
            .try_fold(0_u64, |value, digit| value.checked_mul(10)?.checked_add(u64::from(digit - b'0')))?;
        (value < self.count).then_some(value)
    }
}

impl NumberedName {
    /// What comes behind a client's name and its dot: as long as all these names are.
    fn behind_owner<'a>(&self, name: &'a [u8]) -> Option<&'a [u8]> {
        let length = self.before.len() + self.digits + self.after.len();
        let (owner, rest) = name.split_at_checked(name.len().checked_sub(length)?)?;
        let owner = std::str::from_utf8(owner).ok()?.strip_suffix('.')?;
        is_owner(owner).then_some(rest)
    }
}

fn digits_for(count: u64) -> usize {
    let largest = count.saturating_sub(1);
    FEWEST_DIGITS.max(largest.checked_ilog10().map_or(1, |power| power as usize + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(name: &NumberedName, number: u64) -> String {
        let mut buffer = PathBuffer::new();
        buffer.begin(&Root::nowhere(""), b"");
        name.push_into(number, &mut buffer);
        buffer.finish();
        buffer.as_cstr().to_str().unwrap().to_owned()
    }

    #[test]
    fn names_of_an_owner_begin_with_it_and_are_read_back_by_it_and_by_anybody() {
        let of = |owner: &str| NumberedName::of_files("s", "f{index}", 300).unwrap().of_owner("s", owner).unwrap();
        let (mine, others, anybodys) = (of("node-1"), of("node-1.f"), of(ANYBODY));

        assert_eq!(text(&mine, 7), "node-1.f00000007");
        assert_eq!(text(&others, 7), "node-1.f.f00000007");
        for (name, number) in [(c"node-1.f00000007", 7), (c"node-1.f.f00000299", 299)] {
            assert_eq!(anybodys.number_in(name), Some(number));
        }
        assert_eq!(mine.number_in(c"node-1.f00000007"), Some(7));
        assert_eq!(mine.number_in(c"node-1.f.f00000007"), None);
        assert_eq!(others.number_in(c"node-1.f00000007"), None);
        for name in
            [c"f00000007", c".f00000007", c"-.f00000007", c"a..f00000007", c"a.f00000300", c"a.f0000007", c"", c"a."]
        {
            assert_eq!(anybodys.number_in(name), None, "{name:?}");
        }
    }

    #[test]
    fn an_owner_that_makes_names_too_long_is_refused() {
        let names = NumberedName::of_files("s", &format!("{}{{index}}", "n".repeat(240)), 300).unwrap();

        assert!(names.clone().of_owner("s", "abcdef").is_ok());
        assert!(names.of_owner("s", "abcdefg").is_err());
    }

    proptest! {
        #[test]
        fn no_two_owners_have_one_name(
            one in "[a-z0-9]([a-z0-9.]{0,3}[a-z0-9])?", other in "[a-z0-9]([a-z0-9.]{0,3}[a-z0-9])?", before in "[a-z0-9.]{0,4}",
            number in 0_u64..1000, other_number in 0_u64..1000,
        ) {
            prop_assume!(one != other);
            let of = |owner: &str| {
                NumberedName::of_files("s", &format!("{before}{{index}}"), 1000).unwrap().of_owner("s", owner).unwrap()
            };

            prop_assert_ne!(text(&of(&one), number), text(&of(&other), other_number));
        }
    }

    #[test]
    fn a_name_is_what_lies_below_its_open_folder() {
        let root = Root::nowhere("/mnt/x");
        let held = Handle::of_directory(root.as_fd());
        for (works_in, path, folder, rest) in [
            (None, "/mnt/x/set/d1/f2", held, c"set/d1/f2"),
            (None, "/mnt/x/set", held, c"set"),
            (Some("/mnt/x/set"), "/mnt/x/set/d1/f2", Handle::HERE, c"d1/f2"),
            (Some("/mnt/x/set"), "/mnt/x/set", Handle::HERE, c"."),
        ] {
            let mut buffer = PathBuffer::new();
            works_in.iter().for_each(|folder| buffer.set_working_directory(Path::new(folder)));
            buffer.begin(&root, path.as_bytes());
            buffer.finish();

            assert_eq!(buffer.at(), At { folder, path: rest });
            assert_eq!(buffer.to_path(), Path::new(path));
        }
        assert_eq!(PathBuffer::new().at(), At { folder: Handle::NONE, path: c"" });
    }

    fn number(name: &NumberedName, text: &str) -> Option<u64> {
        name.number_in(&std::ffi::CString::new(text).unwrap())
    }

    #[test]
    fn names_have_eight_digits_or_as_many_as_the_last_one_needs() {
        let few = NumberedName::of_files("data", "f{index}.bin", 10).unwrap();
        let many = NumberedName::of_files("data", "f{index}", 1_000_000_001).unwrap();

        assert_eq!(text(&few, 7), "f00000007.bin");
        assert_eq!(text(&many, 1_000_000_000), "f1000000000");
        assert_eq!(text(&many, 7), "f0000000007");
    }

    #[test]
    fn names_that_the_set_cannot_have_made_are_not_its_own() {
        let name = NumberedName::of_files("data", "f{index}", 100).unwrap();

        assert_eq!(number(&name, "f00000099"), Some(99));
        for foreign in ["f00000100", "f99", "f+0000099", "f000000099", "f00000099~", "F00000099", "thesis.tex", ""] {
            assert_eq!(number(&name, foreign), None, "{foreign}");
        }
    }

    #[test]
    fn a_single_file_may_go_without_a_number() {
        let name = NumberedName::of_files("data", "iozone.tmp", 1).unwrap();

        assert_eq!((text(&name, 0).as_str(), number(&name, "iozone.tmp")), ("iozone.tmp", Some(0)));
        assert_eq!(number(&name, "iozone.tmp0"), None);
    }

    #[test]
    fn templates_that_name_no_file_are_refused() {
        let long = "x".repeat(250) + "{index}";
        for (template, files) in [
            ("data", 2),
            ("a/{index}", 2),
            ("{index}{index}", 2),
            ("", 1),
            ("..", 1),
            (".assay-set.json", 1),
            (&long, 2),
        ] {
            let refused = NumberedName::of_files("data", template, files);
            assert!(matches!(refused, Err(EngineError::Plan(_))), "{template}");
        }
    }

    proptest! {
        #[test]
        fn eight_digits_are_those_of_the_number(number in 0_u64..100_000_000) {
            prop_assert_eq!(eight_digits(number).to_vec(), format!("{number:08}").into_bytes());
        }

        #[test]
        fn a_name_gives_back_its_number(count in 1_u64.., at in 0.0_f64..1.0, before in "[a-z0-9]{0,5}") {
            let name = NumberedName::of_files("data", &format!("{before}{{index}}.x1"), count).unwrap();
            let index = ((count as f64 * at) as u64).min(count - 1);

            prop_assert_eq!(number(&name, &text(&name, index)), Some(index));
        }
    }
}
