"""What fio says: the outside truth about the testbed's own devices."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from testbed.host import command, need_tools


class FioReads(NamedTuple):
    """fio's summary of the reads of one job."""

    bytes_per_s: float
    iops: float
    mean_latency_ms: float


def fio_reads(device: Path, *, pattern: str, block_size: str, runtime_s: int, prefix: Sequence[str] = ()) -> FioReads:
    """Read a device with O_DIRECT, one at a time, for a while.

    Args:
        device: Block device or file.
        pattern: `read` or `randread`.
        block_size: As fio writes it: `4k`.
        runtime_s: Seconds to read for.
        prefix: Words in front of the command, such as `ControlGroup.prefix`.
    """
    need_tools("fio")
    options = ["--name=truth", f"--filename={device}", f"--rw={pattern}", f"--bs={block_size}", "--direct=1"]
    options += ["--ioengine=psync", "--time_based", f"--runtime={runtime_s}", "--output-format=json"]
    reads = json.loads(command(*prefix, "fio", *options))["jobs"][0]["read"]
    return FioReads(float(reads["bw_bytes"]), float(reads["iops"]), reads["clat_ns"]["mean"] / 1e6)
