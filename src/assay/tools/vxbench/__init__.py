"""vxbench-style command lines: `arguments.read` takes one apart, `translation.to_plan` makes the Plan.

vxbench itself is proprietary and nothing of it was looked at. What is public about it (its workloads, the meaning of
`stride=` and `sleeptime=`, processes and threads, cache advisories) is kept; the rest is defined here and in
docs/tools/vxbench.md, and no claim is made that the original behaves the same.
"""

from assay.tools.vxbench.arguments import NAME, Settings, Sharing, Way, Workload, from_source, read
from assay.tools.vxbench.plan import to_plan

__all__ = ["NAME", "Settings", "Sharing", "Way", "Workload", "from_source", "read", "to_plan"]
