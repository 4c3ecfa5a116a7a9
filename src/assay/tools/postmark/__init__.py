"""PostMark: its command language, its random numbers, and the Plan of a run."""
