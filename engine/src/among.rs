//! Several engines on one data folder: which Plans can be carried out so.
//!
//! A data folder that is used so is locked for the run (`files/data_folder.rs`). Either all work on the same sets: one
//! lays them out, and the last to leave removes them; or each client has files of its own in the sets' folders
//! (`files/joint.rs`).

use crate::error::{EngineError, Result};
use crate::plan::{Among, FileSet, Plan, Reuse, Step};
use std::collections::BTreeSet;

/// Of the words of a run, and of a client's name.
const LONGEST_WORD_BYTES: usize = 64;

/// As the owner of files: whichever client.
pub const ANYBODY: &str = "*";

/// Refuse what several engines cannot do in one folder.
///
/// # Errors
///
/// A Plan error.
pub fn check(plan: &Plan) -> Result<()> {
    let Some(among) = &plan.among else { return Ok(()) };
    check_words(among)?;
    if among.owner.is_empty() { check_common(plan, among) } else { plan.file_sets.iter().try_for_each(check_owned) }
}

fn check_words(among: &Among) -> Result<()> {
    let is_word = !among.run.is_empty()
        && among.run.len() <= LONGEST_WORD_BYTES
        && among.run.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    if !is_word {
        return Err(EngineError::Plan(format!(
            "among: run is no word of at most {LONGEST_WORD_BYTES} letters, digits, '-' and '_'"
        )));
    }
    if among.part >= among.parts {
        let Among { part, parts, .. } = among;
        return Err(EngineError::Plan(format!("among: part is {part} of {parts} parts; they count from 0")));
    }
    if !among.owner.is_empty() && !is_owner(&among.owner) {
        return Err(EngineError::Plan(
            "among: owner is no name of a client: letters and digits, and '._-' between them".to_owned(),
        ));
    }
    Ok(())
}

/// What all clients work on, one lays out and removes, once.
fn check_common(plan: &Plan, among: &Among) -> Result<()> {
    if let Some(set) = plan.file_sets.iter().find(|set| set.content.stamped) {
        return Err(EngineError::Plan(format!(
            "file set '{}': nobody knows of all clients which of them wrote a block last; leave the stamps out",
            set.name
        )));
    }
    let mut laid_out = BTreeSet::new();
    for step in plan.phases.iter().flat_map(|phase| phase.before.iter().chain(&phase.after)) {
        let refused = match step {
            Step::Prepare { set } if !laid_out.insert(set) => Some("prepare, a second time,"),
            Step::Remove { .. } => Some("remove"),
            Step::Age { .. } => Some("age"),
            Step::Fill { .. } if among.part > 0 => Some("fill"),
            _ => None,
        };
        if let Some(word) = refused {
            return Err(EngineError::Plan(format!("step {word} changes what other clients work on at the same time")));
        }
    }
    Ok(())
}

fn check_owned(set: &FileSet) -> Result<()> {
    let refuse = |why: &str| Err(EngineError::Plan(format!("file set '{}': {why}", set.name)));
    if set.reuse != Reuse::Never {
        return refuse("files of several clients in one folder are laid out anew; take reuse = \"never\"");
    }
    if set.keep {
        return refuse("files of several clients in one folder go with the run; leave keep out");
    }
    if set.content.stamped {
        return refuse("stamps are kept for a folder as a whole, and this one has files of several clients");
    }
    Ok(())
}

/// Whether a text is the name of a client: it begins the names of files.
pub fn is_owner(text: &str) -> bool {
    let bytes = text.as_bytes();
    let ends_well =
        bytes.first().is_some_and(u8::is_ascii_alphanumeric) && bytes.last().is_some_and(u8::is_ascii_alphanumeric);
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte);
    ends_well && bytes.len() <= LONGEST_WORD_BYTES && bytes.iter().all(is_plain) && !text.contains("..")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Layout;

    fn set() -> FileSet {
        FileSet::plain("data", "here", 3, 0.0, Layout::Flat {})
    }

    #[test]
    fn a_client_is_called_as_python_calls_it() {
        for name in ["a", "node-1", "10.0.0.1", "x_y", "A9", &"a".repeat(64)] {
            assert!(is_owner(name), "{name}");
        }
        for name in ["", ".", "*", "a.", "-a", "a..b", "a/b", "a b", "ä", &"a".repeat(65)] {
            assert!(!is_owner(name), "{name}");
        }
    }

    #[test]
    fn parts_count_from_nought_and_a_run_is_a_word() {
        let words =
            |run: &str, part, parts| check_words(&Among { run: run.to_owned(), part, parts, owner: String::new() });

        assert!(words("r1", 0, 1).is_ok());
        assert!(words("r1", 2, 3).is_ok());
        assert!(words("r1", 3, 3).is_err());
        assert!(words("", 0, 1).is_err());
        assert!(words("a b", 0, 1).is_err());
        assert!(words("a\nb", 0, 1).is_err());
    }

    #[test]
    fn what_owners_cannot_have_in_one_folder_is_refused() {
        let mut stamped = set();
        stamped.content.stamped = true;

        assert!(check_owned(&set()).is_ok());
        assert!(check_owned(&FileSet { reuse: Reuse::IfMatches, ..set() }).is_err());
        assert!(check_owned(&FileSet { keep: true, ..set() }).is_err());
        assert!(check_owned(&stamped).is_err());
    }
}
