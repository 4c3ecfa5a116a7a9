//! What this process may have at most: getrlimit(2).

use std::io;

/// A limit of the calling process, `RLIMIT_...`; None without one.
pub fn limit_of(resource: libc::__rlimit_resource_t) -> Option<u64> {
    let limit = read(resource).ok()?;
    (limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

/// Raise a limit as far as this user may; where that fails it stays as it was.
pub fn raise(resource: libc::__rlimit_resource_t) {
    if let Ok(limit) = read(resource)
        && limit.rlim_cur < limit.rlim_max
    {
        let highest = libc::rlimit { rlim_cur: limit.rlim_max, ..limit };
        // SAFETY: the pointer is to a live value of the right type.
        unsafe { libc::setrlimit(resource, &raw const highest) };
    }
}

fn read(resource: libc::__rlimit_resource_t) -> io::Result<libc::rlimit> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the pointer is to a live value of the right type.
    let answer = unsafe { libc::getrlimit(resource, &raw mut limit) };
    if answer == 0 { Ok(limit) } else { Err(io::Error::last_os_error()) }
}
