"""Views of a run, recomputed from its bundle."""
