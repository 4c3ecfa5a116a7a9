"""Collect facts about the machine, and about what is between a directory and its device.

Facts come from /proc and /sys only: nothing is written, nothing needs root. What cannot be read is a fact without a
value whose source explains why. `direct_io` alone, which only `assay doctor` asks, makes a file and removes it.
"""
