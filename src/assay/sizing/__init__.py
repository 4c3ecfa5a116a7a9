"""How many disks does a load need? From captured rates to a number of disks, each assumption beside it (docs/method.md).

`demand.py`: what of the load disks must carry, and what a cache takes; `constrained.py`: whether the system of today
held the load back; `raid.py`: what a front-end request costs the disks; `queueing.py`: how many requests a disk serves
at a latency; `disks.py`: kinds of disks; `candidate.py`: how many of them; `size_answer.py` puts these together.
"""
