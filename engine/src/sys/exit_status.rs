//! How a program ended, as a number that is no error number.

use std::ffi::c_int;

/// What is added to an exit status, so that it is no error number.
pub const STATUS: i32 = 1 << 16;
/// What a shell adds to the number of the signal that ended a program.
const SIGNAL: i32 = 128;

/// The exit status that a number of an operation encodes, in words; None: it is an error number.
pub fn exit_status(number: i32) -> Option<String> {
    match number - STATUS {
        status @ 0..=SIGNAL => Some(format!("exit status {status}")),
        status if status > SIGNAL => {
            Some(format!("exit status {status} (as a shell says it for signal {})", status - SIGNAL))
        }
        _ => None,
    }
}

/// The result of a program, from what wait4(2) says of it: 0, or negative.
pub fn result_of(status: c_int) -> i64 {
    let code = if libc::WIFSIGNALED(status) { SIGNAL + libc::WTERMSIG(status) } else { libc::WEXITSTATUS(status) };
    if code == 0 { 0 } else { -i64::from(STATUS + code) }
}
