//! Carrying an operation out, whatever its kind.

use super::meter::Done;
use super::parts::Worker;
use crate::backend::Backend;
use crate::backend::store::Lock;
use crate::clock::Ticks;
use crate::events::StoppedBy;
use crate::plan::OpKind;
use crate::program::op::OpNode;

impl<B: Backend, T: Ticks> Worker<B, T> {
    /// One operation from its pick to its end. Only what ends the worker, or keeps the operation from being issued, is an error.
    /// `in_group`: it is no loop's only one, whose way is as short as can be.
    #[inline(always)]
    pub(super) fn carry_out(&mut self, op: &OpNode, in_group: bool) -> Result<Done, StoppedBy> {
        match op.kind {
            OpKind::Read | OpKind::Write | OpKind::Fsync | OpKind::Fdatasync if in_group => self.data_in_group(op),
            OpKind::Read | OpKind::Write | OpKind::Fsync | OpKind::Fdatasync => self.data(op),
            OpKind::Stat => self.stat(op),
            OpKind::Create => self.open(op, libc::O_CREAT | libc::O_EXCL),
            OpKind::Open => self.open(op, 0),
            OpKind::Close => self.close(op),
            _ => self.rarer(op),
        }
    }

    /// One of the others, out of the way of those that the fastest loads are made of.
    #[inline(never)]
    fn rarer(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        match op.kind {
            OpKind::Read | OpKind::Write | OpKind::Fsync | OpKind::Fdatasync => unreachable!("carried out above"),
            OpKind::Stat | OpKind::Create | OpKind::Open | OpKind::Close => unreachable!("carried out above"),
            OpKind::Fstat => self.fstat(op),
            OpKind::Truncate => self.truncate(op),
            OpKind::Chmod => self.chmod(op),
            OpKind::Setxattr => self.setxattr(op),
            OpKind::Getxattr => self.getxattr(op),
            OpKind::Fallocate => self.fallocate(op),
            OpKind::PunchHole => self.on_range(op, B::punch_hole),
            OpKind::Discard => self.on_range(op, B::discard),
            OpKind::WriteZeroes => self.on_range(op, B::write_zeroes),
            OpKind::TruncateAt => self.truncate_at(op),
            OpKind::SyncFileRange => self.sync_file_range(op),
            OpKind::Advise => self.advise(op),
            OpKind::Lock => self.lock(op, Lock::Exclusive),
            OpKind::LockShared => self.lock(op, Lock::Shared),
            OpKind::Unlock => self.lock(op, Lock::Unlocked),
            OpKind::Unlink => self.call_on_name(op, B::unlink),
            OpKind::Mkdir => self.call_on_name(op, B::mkdir),
            OpKind::Rmdir => self.call_on_name(op, B::rmdir),
            OpKind::Rename => self.two_names(op, B::rename),
            OpKind::Link => self.two_names(op, B::link),
            OpKind::Symlink => self.symlink(op),
            OpKind::Clone => self.two_names(op, B::clone_file),
            OpKind::Copy => self.copy(op),
            OpKind::Spawn => self.spawn(op),
            OpKind::Readdir => self.list(op, false),
            OpKind::ReaddirStat => self.list(op, true),
        }
    }
}
