"""What did somebody else's benchmark measure? From its output, and a few facts of the machine, to a verdict on each figure.

`readers/` turn an output into figures, one file a tool; `given.py` holds the user's facts of the machine; `attribution.py`
decides what each figure is a figure of, with the arithmetic.
"""
