"""Measure with many clients: one clock, one start, no client lost silently.

The leader is the process that the user started. Each client is a worker process on its machine that runs `assay-engine`
as its child, keeps the engine's stream there, and relays its events. `connection.py` is what the leader may ask of the
clients, over any transport; `dask_connection.py` is that over Dask, `group_run.py` leads a run over a connection and
keeps it in a bundle.
"""
