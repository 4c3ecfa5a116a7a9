"""Storage whose true behaviour is known: the outside truth that Assay's numbers are checked against.

Every device is a context manager that yields only after it was seen to work, undoes itself on any exception (SIGTERM
becomes one in `tests/conftest.py`), and skips the test with a named reason where root, the kernel or a tool is missing.
"""
