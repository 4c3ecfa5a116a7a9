"""How the tests run: two lanes, three outcomes, gated skips, and an end that undoes everything.

`lanes.py` decides what runs in parallel and what runs alone. `outcomes.py` separates a wrong result from a disturbed test.
`skips.py` turns a skip that CI does not expect into a failure. `ending.py` ends a session that gets a signal.
`tests/conftest.py` registers all of them as pytest plugins. `prove.py` runs everything at its full count (`make prove`).
"""
