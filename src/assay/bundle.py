"""The run bundle: a directory that holds a whole run. Third of the seams.

    <utc>-<slug>-<8 hex>/
      manifest.json       schema, run id, command, times, exit code, facts, sha256 of every other file; only in a sealed run
      run.json            what was known at the start (id, command, started, facts so far): opens a run that died
      plan.toml           the load file as asked, where there was one (asked.* of other front ends)
      resolved.json       the Plan after defaults
      events.ndjson       the engine's stream; after sealing `events.json` (all but the intervals) and the tables replace it
      intervals.parquet   phase_index i32, job, operation, t_s, dt_s, ops, bytes, errors,
                          latency_max_ns (running), latency_sum_ns, response_max_ns, response_sum_ns (null: closed loop)
      hist.parquet        phase_index i32, job, operation, series (latency | response), t_s, bucket u32, n
      workers.parquet     phase_index i32, t_s, job, worker i32, ops, bytes, and the nullable *_ns and io_calls of the stream
      host.parquet        phase_index i32, t_s, source, instance, name, value f64; source `process` holds the engine's own
                          process_cpu_ns, observer_cpu_ns, process_read_bytes, process_write_bytes

`t_s` is seconds since the engine's hello, at the end of the interval. Counters are running totals (events.py).
"""
