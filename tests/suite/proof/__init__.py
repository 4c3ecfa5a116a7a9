"""The parts of `make prove`: its steps, the figures in their output, and the page that keeps what they found.

`steps.py` is the table of steps. `figures.py` reads their output. `page.py` writes `docs/proof.md` and reads it again.
`machine.py` describes the machine and the work tree. `suite/prove.py` runs the steps.
"""
