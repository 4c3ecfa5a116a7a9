"""What is an operation of each kind? Sets of kinds, of which the engine's rows (program/op_rules.rs) have the reasons.

`tests/unit/test_seams.py` holds each set to the rows.
"""

from typing import Final

from assay.plan.operations import OpKind

READS: Final = frozenset({OpKind.READ})
WRITES: Final = frozenset({OpKind.WRITE})
MOVES_DATA: Final = READS | WRITES
FLUSHES: Final = frozenset({OpKind.FSYNC, OpKind.FDATASYNC})
FREES: Final = frozenset(
    {OpKind.UNLINK, OpKind.RENAME, OpKind.TRUNCATE, OpKind.TRUNCATE_AT, OpKind.PUNCH_HOLE, OpKind.DISCARD}
)
"""They can give blocks of files back, or those of a device."""
EMPTIES: Final = frozenset({OpKind.PUNCH_HOLE, OpKind.DISCARD, OpKind.WRITE_ZEROES})
"""Where they were a block device holds zeros, or nothing. Their calls end when the device has answered."""
CHANGES_FILES: Final = FREES | {
    OpKind.CREATE,
    OpKind.LINK,
    OpKind.SYMLINK,
    OpKind.FALLOCATE,
    OpKind.WRITE_ZEROES,
    OpKind.MKDIR,
    OpKind.RMDIR,
    OpKind.CLONE,
    OpKind.COPY,
}
"""After them a set holds other names, or files of another length. Overwriting in place is not one, nor is a program."""
CHANGES: Final = WRITES | CHANGES_FILES | {OpKind.CHMOD, OpKind.SETXATTR}
"""What a file system has to write down."""
