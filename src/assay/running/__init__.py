"""A Plan carried out on this machine, and what came of it."""
