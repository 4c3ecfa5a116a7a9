"""The operations of a PostMark run, in their order: a function of the settings alone.

PostMark decides by one sequence of random numbers what each transaction does, to which file and with how many bytes. It
is followed here without touching a file. A table of twice as many places as files records which exist:

- create takes the next place in turn, else the first free one. A full table: nothing is done.
- read, append and delete try places at random until one is taken.
- an append adds 1 to `high - size` bytes; a file of full size is left alone, and nothing is counted.

Every place that decides nothing for others (the name of a file, its directory) is made up for Assay's file sets: file
`n` of a location, or `n` of a directory of it.
"""

import dataclasses
import heapq
import struct
from collections.abc import Callable

from assay.tools.postmark.random_numbers import RandomNumbers
from assay.tools.postmark.settings import NO_BIAS, Settings

CREATE, READ, APPEND, DELETE = "create", "read", "append", "delete"

Emit = Callable[[str, int, int, int, int], None]
"""Takes kind, location, file index, offset and size of an operation."""

_BLOCK_BYTES = 4096
_SINGLE = struct.Struct("f")


@dataclasses.dataclass
class Counts:
    """What a run will do."""

    created: int = 0
    read: int = 0
    appended: int = 0
    deleted: int = 0
    deleted_alone: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    single_read: float = 0.0
    """Bytes read as PostMark adds them up: rounded to single precision with every file."""
    single_written: float = 0.0
    transactions: int = 0
    """Executed before the files ran out."""
    creates_skipped: int = 0
    """Transactions that would have made a file when there was no place for it."""
    appends_skipped: int = 0
    """Transactions that found a file of full size."""
    out_of_files: bool = False


class RunParts:
    """The three parts of a run, to be called in this order."""

    def __init__(self, settings: Settings) -> None:
        """Begin with no file."""
        self.counts = Counts()
        self.settings = settings
        weights = [place.weight for place in settings.locations] or [1]
        self._location_of = [number for number, weight in enumerate(weights) for _ in range(weight)]
        self._locations = len(weights)
        self._directories = directories(settings)
        self._per_directory = files_per_directory(settings)
        self._made = [0] * (len(weights) * self._directories)
        places = 2 * settings.files
        self._size = [0] * places
        self._index = [0] * places
        self._location = [0] * places
        self._next = 0
        self._given_back: list[int] = []
        self._is_given_back = bytearray(places)
        self.peak_bytes = [0] * len(weights)
        """Most that the files of each location take at a time, in whole blocks of 4 KiB."""
        self._held_bytes = [0] * len(weights)
        self._random = RandomNumbers(settings.seed)
        # PostMark fills a pool of data first, which is twice the largest file.
        self._random.skip(2 * settings.size_high_bytes)

    def create_files(self, emit: Emit) -> None:
        """Make the files that the transactions begin with."""
        for _ in range(self.settings.files):
            self._create(emit)

    def perform_transactions(self, emit: Emit) -> None:
        """Execute the transactions, or as many as there are files for."""
        settings, counts, below = self.settings, self.counts, self._random.below
        for _ in range(settings.transactions):
            if counts.created == counts.deleted:
                counts.out_of_files = True
                return
            counts.transactions += 1
            if settings.bias_read != NO_BIAS:
                if below(10) < settings.bias_read:
                    self._read(emit)
                else:
                    self._append(emit)
            if settings.bias_create != NO_BIAS:
                if below(10) < settings.bias_create:
                    self._create(emit)
                else:
                    self._delete(self._taken(), emit)

    def delete_files(self, emit: Emit) -> None:
        """Delete the files that are left, in the order of the table."""
        before = self.counts.deleted
        for place, size in enumerate(self._size):
            if size:
                self._delete(place, emit)
        self.counts.deleted_alone = self.counts.deleted - before

    def _create(self, emit: Emit) -> None:
        place = self._free()
        if place is None:
            self.counts.creates_skipped += 1
            return
        settings, random = self.settings, self._random
        location = self._location_of[random.below(len(self._location_of))] if self._locations > 1 else 0
        directory = random.below(self._directories) if self._directories > 1 else 0
        size = settings.size_low_bytes + random.below(settings.size_high_bytes - settings.size_low_bytes)
        nest = location * self._directories + directory
        index = directory * self._per_directory + self._made[nest]
        self._made[nest] += 1
        self._size[place], self._index[place], self._location[place] = size, index, location
        self._hold(location, _blocks(size))
        self.counts.created += 1
        self._count_written(size)
        emit(CREATE, location, index, 0, size)

    def _read(self, emit: Emit) -> None:
        place = self._taken()
        size = self._size[place]
        self.counts.read += 1
        self.counts.bytes_read += size
        self.counts.single_read = _single(self.counts.single_read + size)
        emit(READ, self._location[place], self._index[place], 0, size)

    def _append(self, emit: Emit) -> None:
        place = self._taken()
        size, high = self._size[place], self.settings.size_high_bytes
        if size >= high:
            self.counts.appends_skipped += 1
            return
        more = self._random.below(high - size) + 1
        self._size[place] = size + more
        self._hold(self._location[place], _blocks(size + more) - _blocks(size))
        self.counts.appended += 1
        self._count_written(more)
        emit(APPEND, self._location[place], self._index[place], size, more)

    def _delete(self, place: int, emit: Emit) -> None:
        location = self._location[place]
        self._hold(location, -_blocks(self._size[place]))
        self._size[place] = 0
        if not self._is_given_back[place]:
            self._is_given_back[place] = True
            heapq.heappush(self._given_back, place)
        self.counts.deleted += 1
        emit(DELETE, location, self._index[place], 0, 0)

    def _free(self) -> int | None:
        place = self._next
        if place == len(self._size) or self._size[place]:
            # The first free place. Each was taken before, so it is among those given back, perhaps taken again since.
            while self._given_back and self._size[self._given_back[0]]:
                self._is_given_back[heapq.heappop(self._given_back)] = False
            if not self._given_back:
                return None
            place = self._given_back[0]
        self._next = place + 1
        return place

    def _taken(self) -> int:
        draw, size = self._random.draw, self._size
        places = len(size)
        while not size[place := draw() % places]:
            pass
        return place

    def _count_written(self, size: int) -> None:
        self.counts.bytes_written += size
        self.counts.single_written = _single(self.counts.single_written + size)

    def _hold(self, location: int, more_bytes: int) -> None:
        held = self._held_bytes[location] = self._held_bytes[location] + more_bytes
        self.peak_bytes[location] = max(self.peak_bytes[location], held)


def directories(settings: Settings) -> int:
    """List the directories that the files of a location lie in."""
    return max(1, settings.subdirectories)


def files_per_directory(settings: Settings) -> int:
    """Compute the most files that a directory can hold over the whole run: names are never used again."""
    return settings.files + settings.transactions


def _single(value: float) -> float:
    """Round to single precision."""
    rounded: float = _SINGLE.unpack(_SINGLE.pack(value))[0]
    return rounded


def _blocks(size_bytes: int) -> int:
    return -(-size_bytes // _BLOCK_BYTES) * _BLOCK_BYTES
