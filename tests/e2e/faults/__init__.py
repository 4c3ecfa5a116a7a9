"""The fault matrix: what goes wrong, at which moment of a run, and what becomes of the run then.

A row is a `Fault` (`fault.py`): a name, a moment, where data and runs lie, and what provokes it. Each kind of fault has a
module with its rows; `table.py` has them all. `carrying_out.py` starts the installed command, waits for the moment,
provokes, and waits for the end; `outcome.py` says what became of it and holds every row to what must always be so;
`page.py` keeps the outcomes in docs/reliability.md. `test_faults.py` compares the two.
"""
