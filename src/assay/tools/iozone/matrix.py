"""Compute the file and record sizes of a command line.

Sizes are in KiB, as IOzone counts. The automatic mode doubles both; above 16 MiB it leaves out the small records (the
crossover) by default.
"""

import dataclasses
from collections.abc import Iterator

from assay.errors import InputError

SMALLEST_FILE_KIB = 64
LARGEST_FILE_KIB = 512 << 10
SMALLEST_RECORD_KIB = 4
LARGEST_RECORD_KIB = 16 << 10
CROSSOVER_FILE_KIB = 16 << 10
"""Above this file size the records below `CROSSOVER_RECORD_KIB` are left out."""
CROSSOVER_RECORD_KIB = 64
DEFAULT_FILE_KIB = 512
DEFAULT_RECORD_KIB = 4


@dataclasses.dataclass(frozen=True)
class Cell:
    """One file size with one record size."""

    file_kib: int
    record_kib: int

    @property
    def records(self) -> int:
        """Whole records in the file; what is left of it is not used."""
        return self.file_kib // self.record_kib

    @property
    def record_bytes(self) -> int:
        """Size of a record."""
        return self.record_kib << 10

    @property
    def file_bytes(self) -> int:
        """Size of the file: whole records."""
        return self.records * self.record_bytes


@dataclasses.dataclass(frozen=True)
class Matrix:
    """Sizes as asked for; 0 where the command line has none."""

    is_auto: bool = False
    all_records: bool = False
    """-z: no crossover."""
    files_kib: tuple[int, ...] = ()
    records_kib: tuple[int, ...] = ()
    smallest_file_kib: int = 0
    largest_file_kib: int = 0
    smallest_record_kib: int = 0
    largest_record_kib: int = 0
    factor: int = 2

    def file_sizes(self) -> tuple[int, ...]:
        """List the file sizes in the order of the run."""
        if self.files_kib:
            return self.files_kib
        if not self.is_auto:
            return (DEFAULT_FILE_KIB,)
        smallest = self.smallest_file_kib or SMALLEST_FILE_KIB
        return tuple(self._grow(smallest, self.largest_file_kib or LARGEST_FILE_KIB))

    def record_sizes(self) -> tuple[int, ...]:
        """List the record sizes of all files together: the columns of the report."""
        if self.records_kib:
            return self.records_kib
        if not self.is_auto:
            return (DEFAULT_RECORD_KIB,)
        smallest = self.smallest_record_kib or SMALLEST_RECORD_KIB
        return tuple(self._grow(smallest, self.largest_record_kib or LARGEST_RECORD_KIB))

    def cells(self) -> tuple[Cell, ...]:
        """List every cell, in the order of the run."""
        return tuple(
            Cell(file_kib, record_kib)
            for file_kib in self.file_sizes()
            for record_kib in self.record_sizes()
            if record_kib <= file_kib and not self.is_crossed_over(file_kib, record_kib)
        )

    def is_crossed_over(self, file_kib: int, record_kib: int) -> bool:
        """Return whether the crossover leaves a cell out."""
        stated = (self.files_kib, self.records_kib, self.smallest_record_kib, self.largest_record_kib)
        if not self.is_auto or self.all_records or any(stated):
            return False
        return file_kib > CROSSOVER_FILE_KIB and record_kib < CROSSOVER_RECORD_KIB

    def check(self) -> None:
        """Raise InputError where the sizes leave nothing to measure, or contradict each other."""
        largest_record_kib = max((*self.records_kib, self.largest_record_kib, self.smallest_record_kib))
        if largest_record_kib > LARGEST_RECORD_KIB:
            raise InputError(
                f"iozone: a record of {largest_record_kib} KiB is larger than the largest buffer,"
                f" {LARGEST_RECORD_KIB} KiB (16m); ask for smaller records"
            )
        files, records = self.file_sizes(), self.record_sizes()
        if not files:
            raise InputError(
                f"iozone: the smallest file (-n {self.smallest_file_kib}) is larger than the largest"
                f" (-g {self.largest_file_kib or LARGEST_FILE_KIB}); nothing would be measured"
            )
        if not records:
            raise InputError(
                f"iozone: the smallest record (-y {self.smallest_record_kib}) is larger than the largest"
                f" (-q {self.largest_record_kib or LARGEST_RECORD_KIB}); nothing would be measured"
            )
        if self.is_auto and not self.records_kib and records[0] > files[0]:
            raise InputError(
                f"iozone: the smallest record, {records[0]} KiB, is larger than the smallest file, {files[0]} KiB;"
                " lower -y, or raise -n"
            )
        if not self.cells():
            raise InputError(
                f"iozone: a record of {min(records)} KiB is larger than the file of {max(files)} KiB: no record fits;"
                " lower -r, or raise -s"
            )

    def _grow(self, first: int, last: int) -> Iterator[int]:
        while first <= last:
            yield first
            first *= self.factor
