"""The run bundle: a directory that holds a whole run. Third of the seams.

    <utc>-<slug>-<8 hex>/
      manifest.json       schema, run id, command, times, what ended it, facts, sha256 of every other file; only in a
                          sealed run
      manifest.sha256     the manifest's own hash, as sha256sum writes it run.json            what was known at the start
      (id, command, started, facts so far): opens a run that died plan.toml           the load file as asked, where there
      was one (asked.* of other front ends) resolved.json       the Plan after defaults maker.hmac          the proof of
      who made it (maker.py) clients.json        only in a run of several clients (client_set.py): who they are, the
      offsets of their clocks from the
                          leader's, when each phase was to begin, and who was lost
      foreign.json        only in a run that Assay did not measure (original.py): of which tool it is, and its file
      original.txt        that file, byte by byte; its tables and events are empty
      remarks.json        what the user calls it: name, tags, note; may change at any time (remarks.py)
      marks.json          when something happened, as the user states; may change at any time (kept_marks.py)
      script-*.ndjson     the lists of operations that the Plan refers to
      events/CLIENT.ndjson  a client's stream; after sealing `events/CLIENT.json` (all but the intervals) and the tables
                          replace it. A client that is alone is called `0`
      intervals.parquet   client, phase_index i32, job, operation, t_s, dt_s, ops, bytes, errors,
                          latency_max_ns (running), latency_sum_ns, response_max_ns, response_sum_ns (null: closed loop)
      hist.parquet        client, phase_index i32, job, operation, series (latency | response), t_s, bucket u32, n
      workers.parquet     client, phase_index i32, t_s, job, worker i32, ops, bytes, and the *_ns and io_calls of the stream
      host.parquet        client, phase_index i32, t_s, source, instance, name, value f64; source `process` holds the
                          engine's own process_cpu_ns, observer_cpu_ns, process_read_bytes, process_write_bytes

`t_s` is seconds since the engine's hello, at the end of the interval. Counters are running totals (events.py).

A run is unsealed until its tables are written and the manifest, last of all, is in place. Opening never writes. A
sealed run is never rewritten but for `remarks.json` and `marks.json`, which are no part of the record. A run that died opens
just the same; only its end (`ended_utc`, `exit_code`) is unknown.

Anybody may have made a bundle that is opened. It is data: its files are opened by `inside.py` alone, its documents and
tables are held to limits before they are taken apart (`strict_json.py`, `parquet_pages.py`), and their content is held to
what a run can have come to (`contents.py`). What is not so is a `BundleError`: the run is damaged.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.bundle.run_bundle import RunBundle as RunBundle
else:

    def __getattr__(name: str) -> object:
        """Load `RunBundle` when somebody wants it: who only looks for runs needs no tables, which take long to load."""
        if name != "RunBundle":
            raise AttributeError(name)
        from assay.bundle.run_bundle import RunBundle  # noqa: PLC0415 - only now

        return RunBundle
