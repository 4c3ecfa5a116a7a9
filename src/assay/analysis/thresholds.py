"""Every number that a judgement turns on, in one table.

A threshold that is a convention has its source beside it; the others are this project's proposals and may move with
evidence. Shares lie between 0 and 1, times are in seconds.
"""

# -- window: when all workers are at work (barrier-to-barrier runs; docs/method, "Start skew") -------------------------
OVERLAP_WHOLE = 0.95
"""Above this share of common time the whole span counts."""
SUM_OUTSIDE = 0.0005
"""A sum over clients may reach so far beyond their common time at each end, as a share of the span."""
OVERLAP_SUM = 0.80
"""Below this share a sum over workers means nothing."""
SKEW_SHARE = 0.01
"""A start skew above this share of the window is worth a note even where the overlap is good."""
SILENT_END_SHARE = 0.05
"""Operations outstanding at the stop matter when nothing completed in the last this much of the window."""
GRID_TOLERANCE = 0.01
"""A tick may miss its place on the grid by this share of the sample interval."""

# -- open loop ---------------------------------------------------------------------------------------------------------
ACHIEVED_SHARE = 0.99
"""Below this share of its scheduled arrivals an open loop is overloaded: percentiles do not compare with other rates."""

# -- window: what was sampled of it ------------------------------------------------------------------------------------
SAMPLED_SHARE = 0.90
"""Below this share of the samples' time in the window, counters that were sampled are not those of the window."""

# -- series of a job (series.py) -----------------------------------------------------------------------------------------
SERIES_INSIDE = 0.90
"""An interval counts if this share of it lies in the time that all workers share."""
SERIES_OPS = 20
"""Operations that an interval has on average: with fewer, neighbours are gathered."""

# -- how well a rate is known (steadiness.py) ----------------------------------------------------------------------------
CONFIDENCE = 0.95
"""Of all intervals that are stated."""
HALVES_ERRORS = 1.31
"""Times the 95 % interval of the difference of two halves, beyond which they differ: 99 %."""
WIDE_INTERVAL = 0.10
"""Half of a 95 % interval as a share of the rate, from where on it is wide."""
EARLIER_SHARE = 0.20
"""Of a phase, from where on other levels before the last are no mere start."""
LOOK_AGAIN = 0.25
"""Of the asked time, after which a phase that is not steady yet is looked at again."""
STEADY_ENOUGH = 0.80
"""Of the asked time, in which a phase has to have been steady to end before its longest time."""
METHODS_DISAGREE = 0.05
"""Difference of the mean by MSER-5 and that of the window, from where on it is worth a note."""

BATCHED_FROM = 100
"""Intervals from where on that of ten batch means is taken, where it is wider."""

# -- repeats of one measurement (statistics/repeated.py, repeats.py) ------------------------------------------------------
REPEATS_LEAST = 3
"""Repeats that count, for an interval over them."""
REPEATS_MATTER = 0.03
"""Change of a rate over the repeats, or distance of one of them from the others, below which none is told (METHOD 2.4)."""
REPEAT_STANDS_OUT = 14.826
"""Times the median distance from the median, beyond which a repeat stands out (hyperfine: ten robust deviations)."""

# -- what repeats itself (statistics/period.py) --------------------------------------------------------------------------
PERIOD_PEAK = 0.3
"""Autocorrelation that a lag needs to be a period."""
PERIOD_ERRORS = 2.6
"""Standard errors of no correlation at all that it needs to be above."""
PERIOD_RETURN = 0.2
"""What it needs at twice the lag."""
PERIOD_NEARLY = 0.9
"""A shorter lag with this part of the highest peak is the period."""

# -- places that latencies come from (statistics/modes.py) ---------------------------------------------------------------
MODES_APART = 4.0
"""Two modes of a histogram lie so many times apart, at least."""
MODES_VALLEY = 0.5
"""The lowest class between them has at most this part of the smaller one."""
MODES_ERRORS = 4.0
"""So many standard deviations of its count make a valley more than chance."""
MODE_SHARE = 0.005
"""A mode has at least this part of all values."""
MODES_MATTER = 0.10
"""Part of all values outside of the largest mode from where on the median alone misleads: p90 or p10 is in another."""
CACHED_LATENCY = 5.0
"""Times what a read from the page cache takes, below which a mode of several is that of the page cache."""

# -- size of the sample ------------------------------------------------------------------------------------------------
TAIL_SAMPLES = 10
"""A percentile q needs this many samples beyond it: n >= 10 / (1 - q)."""
SHORT_WINDOW_S = 1.0
"""A shorter window is one moment."""
FEW_OPS = 100
"""Fewer operations are no sample."""

# -- client cache ------------------------------------------------------------------------------------------------------
STORAGE_HIT = 0.05
"""At most this hit ratio: storage delivered."""
CACHE_HIT = 0.95
"""At least this hit ratio: memory delivered."""
EDGE_SHARE = 0.01
"""Bytes that may lie on the wrong side of an edge of the window, by those in it, up to which they move no verdict."""
READ_AMPLIFICATION = 1.10
"""Bytes fetched per byte read above which read-ahead (or another reader) is worth a note."""
DEVICE_MISMATCH = 0.15
"""Largest disagreement between the process's and the device's byte counters."""
FOREIGN_SHARE = 0.05
"""A disagreement of counters below this share of the bytes read is not worth a word."""
FOREIGN_SHARE_WEAK, FOREIGN_SHARE_NO = 0.10, 0.50
"""Others' share of a device at most, above which a number is weak, and at least, above which it is not trusted."""
WRITE_BACK_FLUSHES = 0.10
"""Flushes for each write of others, above which programs flush them; write-back flushes with a commit, each few seconds."""
FOREIGN_BYTES_PER_S = 1e5
"""Others' I/O below this is what a system at rest does: journals and logs. A request counts as a page at least."""
DISCARD_SHARE = 0.10
"""Of the time, in which a device was busy with discards, from where on that slows others down."""
REFAULT_SHARE = 0.05
"""Of the bytes fetched, those that memory had held before and gave up, from where on that is worth a word."""
RESIDENCY_APART = 0.15
"""Difference of the hit ratios by bytes and by residency, from where on one of them is to be doubted (METHOD 4.4, C3)."""
DIRECT_WRITES, DURABLE_WRITES = 1.15, 5.0
"""Bytes that a device may write for each byte of a plain direct write, and of a write that a journal may go with."""
TREE_BYTES = 262144.0
"""Bytes that go with each write besides, where a file system may write anew what it changes (btrfs: 140 KiB measured)."""
RANDOM_PASS_SHARE = 0.10
"""Random reads of at most this share of the set hardly meet a block twice: at most half of it, so 5 %, are repeats."""
ONE_PASS_SHARE = 1.01
"""Sequential reads of at most this share of the set are one pass."""
FLUSHES = 20
"""Flushes beside an operation that its rate is made up of, if it is to be called flushed."""
COMMITTED_SHARE = 0.90
"""Of the rate that memory takes, what storage has by the end of a flush, from where on the two are as good as one."""
ALL_STORED = 0.99
"""Of the bytes written, what became dirty, from where on nothing was written over in memory."""
MECHANICAL_READ_S = 2e-3
"""Latency of a random read from where on something moves in the device."""
DURABLE_TO_READ = 0.10
"""Of that, the time of a durable write below which it went into a cache of the device."""
AGAIN_FASTER, AGAIN_BY_CHANCE = 1.25, 0.01
"""Times that a read takes before the set was read once by that after it (METHOD 1.5: a change of level), and its p."""
CALLS_APART = 0.05
"""Of the operations, by which the kernel's count of calls may differ."""
MEMORY_RUN = 0.90
"""Of the numbers of data in a run, the part of memory from where on that is said once of all."""
SET_TO_RAM = 2.0
"""Buffered reads of a set below this many times RAM may be answered from memory (rule of Bonnie)."""

# -- the client itself -------------------------------------------------------------------------------------------------
RUN_DELAY_SHARE = 0.10
"""A worker that waits longer for a CPU than this share of its time measures the neighbours."""
FREE_SHARE = 0.02
"""A worker that got a CPU for less than this share of its time, or waited for nothing else, says nothing of itself."""
TICKS_S = 0.2
"""CPU time from which on the kernel's ticks of 10 ms tell user from system."""
STEAL_SHARE = 0.05
"""CPU time that the hypervisor gave to others."""
HOST_CPU_WINDOW_S = 1.0
"""/proc/stat counts in ticks of 10 ms: the CPU time of the machine is used in windows of at least a hundred."""
OWN_CPU_SHARE = 0.90
"""Above this share of all CPUs the workers crowd out themselves; with all else, no CPU is free."""
PROGRAMS_SHARE = 0.1
"""Of all CPUs, what other programs have to keep busy to matter where none is free."""
TIMER_SHARE = 0.02
"""Two clock reads as a share of the median latency."""
PAUSE_SHARE = 0.01
"""Pauses above this share of the window make its number unusable."""
CLOCK_STEP_S = 2.0
"""A wall clock that goes this far apart from the run's own was stepped: slewing it so far takes a time service an hour."""

FAIR_INDEX = 0.90
"""Jain's index below which workers of the same time did not get the same: for two, one did half of the other's work."""
EVEN_SHARE = 0.90
"""Workers that the first to finish stopped are uneven when one did less than this share of the most."""

# -- levels of a series (levels.py says how they are found) --------------------------------------------------------------
SHORTEST_PIECE = 5
"""Values that a level needs."""
SAME_LEVEL = 0.05
"""Levels that differ by less are one."""
LEVEL_PENALTY = 3.0
"""What one more level costs, in logarithms of the number of values times the variance of the noise."""
OUTLIER_DEVIATIONS = 4.0
"""Standard deviations from the median of its neighbours from which on a value is an outlier."""
MOST_VALUES = 60
"""Longer series are gathered into medians of neighbours."""
MOST_CORRELATION = 0.8
"""Correlation of neighbours above which the noise is not told from a drift."""
SETTLED_VALUES = 3
"""Values that the last level needs, for a series to have settled there."""
SETTLED_SHARE = 0.3
"""Part of the series that it needs."""

# -- steady state (statistics/steady.py says how it is found) -----------------------------------------------------------
STEADY_VALUES = 20
"""Intervals below which nothing is said."""
STEADY_LAST_VALUES = 10
"""Intervals that the last level needs; and `SETTLED_SHARE` of all."""
STEADY_BATCHES = 5
"""Batch means that are held against each other, as the SNIA SSS PTS holds five rounds."""
STEADY_RANGE = 0.20
"""Most that they may differ, as a share of their mean (SNIA SSS PTS)."""
STEADY_SLOPE = 0.10
"""Most that the line through them may rise or fall over all (SNIA SSS PTS)."""
STEADY_BATCH_VARIANCE = 4.0
"""Times the variance that chance leaves to batch means, below which they do not differ: F(4, 25 to 60) at 1 %."""
STEADY_TREND = 0.05
"""A line through all intervals of the last level that rises or falls by less is none."""
STEADY_TREND_ERRORS = 2.6
"""Standard errors below which such a line is chance."""
STEADY_LINE_COST = 0.7
"""What a line costs, where a step costs 1: it has no place."""
STEADY_START_SHARE = 0.01
"""Share of the mean by which the beginning of the last level stands apart, to be left out: less biases nothing."""
STEADY_START_ERRORS = 2.0
"""Standard errors by which the beginning of the last level stands apart, to be left out."""

# -- the course of latencies (latency_steadiness.py) ---------------------------------------------------------------------
TAIL_OPS = 100
"""Operations of an interval below which its 99th percentile is its largest value."""
MEDIAN_LEVEL, TAIL_LEVEL = 1.25, 1.5
"""Factor between two levels of a median, and of a 99th percentile, from where on they are not one (METHOD 1.5)."""
LATENCY_LASTS = 0.10
"""Part of the window below which another level is a stall."""
LATENCY_WIDE = 1.5
"""Upper by lower end of a percentile's 95 % interval, from where on it is not known well (METHOD 1.5)."""

# -- the limiter (limiter/rules.py says how it is found) -----------------------------------------------------------------
BUSY_SHARE = 0.90
"""Of its time, from where on a worker or a device has nothing left."""
CEILING_SHARE = 0.85
"""Of a ceiling, from where on it is what limits."""

CACHED_SHARE = 0.7
"""Of what one thread reads from the page cache, from where on a read is a test of that."""
LIMIT_SHARE = 0.95
"""Of a limit that was set."""
THROTTLED_SHARE = 0.05
"""Of the time, in which the kernel stopped the control group."""
LATE_SHARE = 0.01
"""Of the arrivals of an open loop, issued when the next was due already."""
MOST_OF_IT = 0.50
"""A part that names the whole."""
USER_SHARE = 0.60
"""Of the CPU time outside the kernel, from where on the program is what takes it."""
LITTLE = 0.10
"""Little's law holds to this share: rate times latency is what is in flight. A part of a latency below it limits nothing."""
QUEUED_TIMES = 1.6
"""A latency that is so many times what it was with fewer in flight is that of a queue."""
DEEP_QUEUE = 4.0
"""Requests in flight from where on a server's disk that is busy all the time may be full, if nothing else tells."""
GROWS, STAYS = 1.5, 1.1
"""Times the rate with twice as many in flight: from the one on latency limited it, up to the other something is full."""
DIRTY_SHARE = 0.90
"""Of the dirty memory that the kernel allows."""
WRITEBACK_NEARLY = 0.7
"""The same, and of a device's time, from where on writers that wait for most of theirs wait for write-back."""

# -- several clients (set_times.py, sum_case.py, set_limiter.py, carried.py) ------------------------------------------------
STRAGGLER_SHARE = 0.80
"""Of the median rate of the others, below which a client is a straggler."""
CLOCK_OF_INTERVAL = 0.10
"""Of an interval, by which a client's clock may be uncertain before intervals of the set are."""
CARRIED_SHARE = 0.05
"""Of the clients, and of what they did of the sum, below which what spoils their results is a note beside the sum."""
AGREED_SHARE = 0.90
"""Of the clients that say the same of what limits them, above which a sum may be as sure of it as they are."""
BEYOND_LINK = 1.10
"""Times what a link carries, or devices move, beyond which it is not they that were meant."""
OTHER_WIRE_SHARE = 0.05
"""Of what clients asked for: where an interface beside the busiest moved more, a wire does not tell what caches gave."""

# -- marks (statistics/recovery.py) ----------------------------------------------------------------------------------------
RECOVERED_SHARE = 0.05
"""Of the level before a mark: a rate that is nearer is back at it."""
RECOVERED_SAMPLES = 10
"""In a row that have to be there, for a rate to be back."""
RECOVERED_DEVIATIONS = 3.0
"""Standard deviations of a sample before the mark, where that is more than the share: noise is no change."""
MOVED_TIMES = 2.0
"""Times that distance, from which on a single sample shows that the rate has left its level."""
MOVED_SAMPLES = 3
"""Samples in a row on one side of it that show the same."""

# -- energy (energy.py says how it is found) -----------------------------------------------------------------------------
METER_GAP_SHARE = 0.20
"""Readings of a power meter may be this share of the window apart."""

# -- surfaces that are compared (compare/surfaces/) ----------------------------------------------------------------------
FALSE_MARKS = 0.05
"""Of the cells of a test that are marked as different, the share that may be wrong."""
PRIOR_FREEDOM = 4.0
"""Degrees of freedom that the variance of a cell borrows from the others, at most."""
CLIFF_TIMES = 3.0
"""Neighbouring cells of one side that differ by this factor are a cliff."""
ODD_SPREADS = 5.0
"""A cell lies this many spreads (1.4826 MAD) of its neighbours from their median: it is to be checked."""
ODD_NEIGHBOURS = 5
"""Neighbours that a cell must have for that."""
