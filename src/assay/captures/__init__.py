"""Read what other programs recorded of a system at work: how much each device was asked to do, interval by interval.

`readers/` has a file a format, which turn lines into rows of one table (`samples.py`); `capture_files.py` opens files and
finds their format; `clock.py` reads their times, `counters.py` what only ever grows; `selection.py` chooses devices of
which none is a part of another, and `total.py` adds them up. `disk_recording.py` makes a capture of this machine.
"""
