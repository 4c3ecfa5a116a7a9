"""The recorded tables of a run, each cut once: a filter for each of a thousand phases would read one a thousand times."""

import polars as pl

from assay.analysis.rows import HostTable, RecordedTable


class Tables:
    """The tables of a run."""

    def __init__(
        self, intervals: pl.DataFrame, histograms: pl.DataFrame, workers: pl.DataFrame, host: pl.DataFrame
    ) -> None:
        """Hold them."""
        self.intervals = RecordedTable(intervals, "job", "operation")
        self.histograms = RecordedTable(histograms, "job", "operation", "series")
        self.workers = RecordedTable(workers, "job", "worker")
        self.host = HostTable(host)
