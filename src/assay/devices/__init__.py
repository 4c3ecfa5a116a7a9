"""Block devices: which one a name leads to, what uses it, and whether it may be overwritten."""
