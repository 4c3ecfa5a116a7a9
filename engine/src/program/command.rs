//! The program that a `spawn` runs: found before the run, with its arguments ready for the file's path.
//!
//! A name without a slash is looked for in PATH here, once, so no search is in any operation's time.

use crate::error::{EngineError, Result};
use crate::plan::Op;
use std::env;
use std::ffi::{CStr, CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// What is replaced by the file's path in an argument.
const PLACEHOLDER: &str = "{path}";

/// A program with its arguments.
#[derive(Debug, Clone)]
pub struct Command {
    program: CString,
    /// By argument, the program's own name first: the texts around the path.
    arguments: Vec<Vec<Vec<u8>>>,
}

impl Command {
    /// That of an operation; None for operations that run none.
    ///
    /// # Errors
    ///
    /// A Plan error for arguments that cannot be; an environment error where the machine has no such program.
    pub fn of(job: &str, op: &Op) -> Result<Option<Self>> {
        let argv = &op.flags.argv;
        let refuse = |text: &str| Err(EngineError::Plan(format!("job '{job}': operation '{}': {text}", op.name)));
        match (op.op.rules().runs_program, argv.is_empty()) {
            (true, false) => {}
            (true, true) => return refuse("spawn runs a program; name it and its arguments in argv"),
            (false, true) => return Ok(None),
            (false, false) => return refuse("argv is for spawn; take it away"),
        }
        if argv.iter().any(|argument| argument.contains('\0')) {
            return refuse("an argument of argv holds a NUL byte, which no program can be given");
        }
        let name = &argv[0];
        let Some(program) = find(name, env::var_os("PATH").as_deref()) else {
            return Err(EngineError::Environment(format!(
                "job '{job}': operation '{}': there is no program '{name}' that can be run{}; install it, or give its \
                 full path",
                op.name,
                if name.contains('/') { "" } else { " in PATH" },
            )));
        };
        let program = CString::new(program.into_os_string().as_bytes()).expect("checked above");
        let texts = |argument: &String| argument.split(PLACEHOLDER).map(|text| text.as_bytes().to_vec()).collect();
        Ok(Some(Self { program, arguments: argv.iter().map(texts).collect() }))
    }

    /// Where the program is.
    pub fn program(&self) -> &CStr {
        &self.program
    }

    /// Write the arguments for a file into `text`, each with a NUL at its end, and where each begins into `begins`.
    pub fn arguments_for(&self, path: &CStr, text: &mut Vec<u8>, begins: &mut Vec<usize>) {
        text.clear();
        begins.clear();
        for argument in &self.arguments {
            begins.push(text.len());
            for (position, part) in argument.iter().enumerate() {
                if position > 0 {
                    text.extend_from_slice(path.to_bytes());
                }
                text.extend_from_slice(part);
            }
            text.push(0);
        }
    }
}

/// As a shell finds it: by its path, or in the directories of PATH in order.
fn find(name: &str, path: Option<&OsStr>) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|program| can_run(program));
    }
    let folders = env::split_paths(path?);
    folders.map(|folder| folder.join(name)).find(|program| !name.is_empty() && can_run(program))
}

fn can_run(program: &Path) -> bool {
    program.metadata().is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(argv: &[&str], path: &CStr) -> Vec<String> {
        let split = |argument: &&str| argument.split(PLACEHOLDER).map(|text| text.as_bytes().to_vec()).collect();
        let command = Command { program: CString::default(), arguments: argv.iter().map(split).collect() };
        let (mut text, mut begins) = (b"from before".to_vec(), vec![7]);
        command.arguments_for(path, &mut text, &mut begins);
        let at = |&begin: &usize| CStr::from_bytes_until_nul(&text[begin..]).unwrap().to_str().unwrap().to_owned();
        begins.iter().map(at).collect()
    }

    #[test]
    fn the_path_stands_wherever_the_arguments_name_it() {
        let given = arguments(&["dd", "of={path}", "{path}{path}", "{path}.bak", "plain", ""], c"/a b/f1");

        assert_eq!(given, ["dd", "of=/a b/f1", "/a b/f1/a b/f1", "/a b/f1.bak", "plain", ""]);
    }

    #[test]
    fn a_program_is_found_in_path_in_order_and_only_if_it_can_be_run() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for (place, mode) in [("one", 0o644), ("two", 0o755), ("three", 0o755)] {
            std::fs::create_dir(at(place)).unwrap();
            std::fs::write(at(place).join("tool"), "").unwrap();
            std::fs::set_permissions(at(place).join("tool"), PermissionsExt::from_mode(mode)).unwrap();
        }
        let path = env::join_paths([at("none"), at("one"), at("two"), at("three")]).unwrap();

        assert_eq!(find("tool", Some(&path)), Some(at("two/tool")));
        assert_eq!(find("other", Some(&path)), None);
        assert_eq!(find("", Some(&path)), None);
        assert_eq!(find(at("one/tool").to_str().unwrap(), Some(&path)), None);
        assert_eq!(find(at("three/tool").to_str().unwrap(), None), Some(at("three/tool")));
    }
}
