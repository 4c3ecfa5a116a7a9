//! Carrying an operation out, whatever its kind.

use super::meter::Done;
use super::parts::Worker;
use crate::backend::Backend;
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
            OpKind::Create | OpKind::Open => self.open(op),
            OpKind::Close => self.close(op),
            OpKind::Fstat => self.fstat(op),
            OpKind::Truncate | OpKind::Chmod | OpKind::Setxattr | OpKind::Getxattr => self.on_either(op),
            OpKind::SyncFileRange | OpKind::Fallocate | OpKind::Advise => self.on_handle(op),
            OpKind::Lock | OpKind::LockShared | OpKind::Unlock => self.lock(op),
            OpKind::Unlink => self.call_on_name(op, B::unlink),
            OpKind::Mkdir => self.call_on_name(op, B::mkdir),
            OpKind::Rmdir => self.call_on_name(op, B::rmdir),
            OpKind::Rename | OpKind::Link | OpKind::Symlink | OpKind::Clone | OpKind::Copy => self.two_names(op),
            OpKind::Spawn => self.spawn(op),
            OpKind::Readdir | OpKind::ReaddirStat => self.list(op),
        }
    }
}
