"""Assess each figure of another benchmark's output, by a few facts of the machine.

`readers/` turn an output into figures, one file a tool; `given.py` holds the user's facts of the machine; `attribution.py`
decides what each figure is a figure of, with the arithmetic.
"""
