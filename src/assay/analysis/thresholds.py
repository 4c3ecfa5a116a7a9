"""Every number that a judgement turns on, in one table, with its source.

The source is a definition, a reference, or an argument that holds on any machine. "METHOD" is the specification of the
method; a "convention" is a choice that others near it would serve as well. Constants of one algorithm are in its module.
Shares are between 0 and 1, times in seconds.
"""

# -- parts of a whole: of a window's time, of operations, bytes or clients ---------------------------------------------
NEGLIGIBLE_SHARE = 0.01
"""A part that moves no number: a third of the least change that is reported (METHOD 1.4, 2.4, 4.2). Of skew and pauses in a
window, late or left-over arrivals of an open loop, bytes on the wrong side of an edge."""
SMALL_SHARE = 0.05
"""A part that changes no verdict: levels that differ by as much are one (METHOD 1.3, 4.2). Of time stolen, throttled or
silent, bytes fetched again, calls, clients, and of what a full limit leaves."""
NOTABLE_SHARE = 0.10
"""A part that leaves a number weak: it moves it by as much as a wide interval (METHOD 1.5, 2.8). Of a device's time, bytes
or requests that others had, operations of other modes, time at other levels, and of what Little's law gives."""
MOST_OF_IT = 0.50
"""A part that names the whole: the larger half (definition)."""
NEARLY_ALL = 0.90
"""A part that is as good as the whole: what is missing is not notable (1 - NOTABLE_SHARE)."""

# -- several workers or clients in one number --------------------------------------------------------------------------
OVERLAP_WHOLE = 0.95
"""From this share of common time on, the whole span is used (METHOD 1.4)."""
OVERLAP_SUM = 0.80
"""Below this share of common time, a sum over workers is not valid (METHOD 1.4)."""
FAIR_INDEX = 0.90
"""Jain's index below which workers of the same time did not get the same (METHOD 1.4): of two, one did half as much."""
STRAGGLER_SHARE = 0.80
"""Of the median rate of the others, below which a client is a straggler: more than a steady rate may vary (SNIA SSS PTS)."""

# -- steady state (statistics/steady.py) -------------------------------------------------------------------------------
STEADY_VALUES = 20
"""Intervals that a judgement on steadiness needs: fewer do not hold two levels of ten."""
STEADY_LAST_VALUES = 10
"""Intervals that the last level needs; and `SETTLED_SHARE` of all (METHOD 1.3)."""
SETTLED_SHARE = 0.3
"""Part of a series that its last level needs (METHOD 1.3)."""
SAME_LEVEL = 0.05
"""Levels of a rate that differ by less are one, and a line that rises by less is flat (METHOD 1.3)."""
STEADY_RANGE = 0.20
"""Most that batch means may differ, as a share of their mean (SNIA SSS PTS 2.0.2, 5.3)."""
STEADY_SLOPE = 0.10
"""Most that the line through them may rise or fall over all (SNIA SSS PTS 2.0.2, 5.3)."""
EARLIER_SHARE = 0.20
"""Of a phase, from where on other levels before the last are no mere start (convention)."""
CHANCE_ERRORS = 2.6
"""Standard errors beyond which a change, or a correlation, is more than chance: 99 %, two-sided (METHOD 1.3)."""
MEDIAN_LEVEL, TAIL_LEVEL = 1.25, 1.5
"""Factor between two values of a median, and of a 99th percentile, from where on they are not one (METHOD 1.5)."""

# -- how well a number is known ----------------------------------------------------------------------------------------
CONFIDENCE = 0.95
"""Of all intervals that are stated (convention of the field)."""
WIDE_INTERVAL = 0.10
"""Half of a 95 % interval as a share of the rate, from where on it is wide: two such rates a fifth apart may be one."""
TAIL_SAMPLES = 10
"""A percentile q needs this many samples beyond it: n >= 10 / (1 - q) (METHOD 2.5)."""
SHORT_WINDOW_S = 1.0
"""A shorter window is one moment: commits and write-back come every few seconds."""
FEW_OPS = 100
"""Fewer operations are no sample: counting alone leaves 10 % open (1 / sqrt(100))."""
REPEATS_LEAST = 3
"""Repeats that are used, for an interval over them: two have one difference."""
REPEATS_MATTER = 0.03
"""Change of a rate over the repeats, or distance of one from the others, below which none is reported (METHOD 2.4)."""
REPEAT_STANDS_OUT = 14.826
"""Times the median distance from the median, beyond which a repeat is an outlier (hyperfine: ten robust deviations)."""
FALSE_MARKS = 0.05
"""Of what a comparison marks as different, the share that may be wrong (Benjamini and Hochberg; METHOD 2.6)."""

# -- where the data came from ------------------------------------------------------------------------------------------
STORAGE_HIT, CACHE_HIT = 0.05, 0.95
"""At most, and at least, this hit ratio: storage, or memory, delivered all but a small part (1 - SMALL_SHARE)."""
COUNTERS_APART = 0.15
"""Two counts of the same bytes that differ by more disagree (METHOD 4.4, C3): process and device, bytes and residency, or a
device and the plain direct writes that it did."""
FOREIGN_BYTES_PER_S = 1e5
"""Others' I/O below this is what a system at rest does: 25 pages a second of journals and logs."""
SET_TO_RAM = 2.0
"""Buffered reads of a set below this many times RAM may be answered from memory (rule of Bonnie)."""
MODES_APART = 4.0
"""Two modes of a histogram are so many times apart, at least (METHOD 4.4, C4)."""
CACHED_LATENCY = 5.0
"""Times what a read from the page cache takes, below which a mode of several is that of the page cache (METHOD 4.4, C4)."""
MECHANICAL_READ_S = 2e-3
"""Latency of a random read from where on something moves in the device: half a turn at 15,000 a minute."""

# -- the client --------------------------------------------------------------------------------------------------------
RUN_DELAY_SHARE = 0.10
"""A worker that waits longer for a CPU than this share of its time measures the neighbours (METHOD 4.2, G0); so does one
where no CPU is free and other programs have more than this share of them."""
TIMER_SHARE = 0.02
"""Two clock reads as a share of the median latency: more comes near the least change that is reported (REPEATS_MATTER)."""
CLOCK_STEP_S = 2.0
"""A wall clock that differs so much from the run's own was stepped: slewing it so far takes a time service an hour."""
METER_GAP_SHARE = 0.20
"""Most that readings of a power meter may be apart, as a share of the window (convention)."""

# -- the limiter (limiter/rules.py) ------------------------------------------------------------------------------------
BUSY_SHARE = 0.90
"""Of its time, from where on a worker, a CPU, a device, or the memory that may be dirty, has nothing left (METHOD 4.2)."""
CEILING_SHARE = 0.85
"""Of a ceiling, from where on it is what limits (METHOD 4.2, G4 and G5)."""
CACHED_SHARE = 0.7
"""Of what one thread reads from the page cache, from where on a read is a test of that (METHOD 4.2, G3)."""
USER_SHARE = 0.60
"""Of the CPU time outside the kernel, from where on the program is what takes it (METHOD 4.2, G3)."""
QUEUED_TIMES = 1.6
"""A latency that is so many times what it was with fewer in flight is that of a queue (METHOD 4.2)."""
DEEP_QUEUE = 4.0
"""Requests in flight from where on a server's disk that is busy all the time may be full, if nothing else shows it."""
GROWS, STAYS = 1.5, 1.1
"""Times the rate with twice as many in flight: from 1.5 on latency limits it, up to 1.1 something is full (METHOD 4.2)."""
