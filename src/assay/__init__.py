"""Assay: what does this storage really do, what limits it, and can I trust that number?"""

__version__ = "0.1.0"
