"""Mutation testing of the Python code that computes results: `python -m suite.mutation`, a step of `make prove`.

A mutant is the source with one small change. It is killed when a test fails. It survives when all tests pass: then no test
depends on what was changed.

`mutants.py` lists and samples mutants, with the changes of `operators.py`. `coverage_map.py` finds the tests that run a
statement. `trial.py` tests a mutant in the copy of the clone that `workplace.py` keeps. `survivors.py` reads the survivors
that have a reason. `engine.py` runs cargo-mutants for the engine.
"""
