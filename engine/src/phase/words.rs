//! What error numbers mean that the backends bring: the ones whose own text misleads.

use crate::plan::Backend;
use crate::sys::exit_status::exit_status;

/// What the job did, as far as it decides what an error means.
#[derive(Debug, Clone, Copy)]
pub struct Circumstances<'a> {
    /// How it reached the kernel.
    pub backend: &'a Backend,
    /// Whether its files were open with O_DIRECT.
    pub direct: bool,
    /// What offsets and sizes had to be multiples of, then.
    pub alignment_bytes: u64,
}

/// An error in words with what to do about it; None where its own text says all.
pub fn explain(errno: i32, at: Circumstances) -> Option<String> {
    if let Some(status) = exit_status(errno) {
        return Some(format!("its program ended with {status}"));
    }
    if let Some((_, words)) = at.backend.abilities().errors.iter().find(|(number, _)| *number == errno) {
        return Some((*words).to_owned());
    }
    let text = match errno {
        libc::EINVAL if at.direct => {
            let alignment = at.alignment_bytes;
            return Some(format!(
                "O_DIRECT takes offsets, sizes and ends of files that are multiples of {alignment} bytes here; choose \
                 sizes, align and a file size that are, or set direct to 'off'"
            ));
        }
        libc::EOPNOTSUPP => {
            "the file system does not offer this flag for this kind of I/O (nowait, high_priority, dsync and access \
             'append' are flags of preadv2 and pwritev2); leave the flag out"
        }
        libc::EAGAIN => "with nowait: the data was not at hand, and waiting for it was ruled out",
        _ => return None,
    };
    Some(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misaligned_direct_transfer_is_told_what_it_must_be_a_multiple_of() {
        let backend = Backend::Psync {};
        let direct = Circumstances { backend: &backend, direct: true, alignment_bytes: 4096 };

        assert!(explain(libc::EINVAL, direct).unwrap().contains("multiples of 4096 bytes"));
        assert_eq!(explain(libc::EINVAL, Circumstances { direct: false, ..direct }), None);
        assert_eq!(explain(libc::ENOSPC, direct), None);
    }
}
