"""Many clients: one clock, one start, nobody lost.

The leader is the process that the user started. Each client is a worker process on its machine that runs `assay-engine` as
its child, keeps the engine's stream there, and relays what it says. `crew.py` is what the leader may ask of the clients,
whoever carries it; `dask_crew.py` carries it over Dask, `set_run.py` leads a run over a crew and keeps it in a bundle.
"""
