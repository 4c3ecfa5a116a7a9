"""Show the progress of a run."""
