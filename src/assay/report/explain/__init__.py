"""Explain one result, one finding or one run in detail."""
