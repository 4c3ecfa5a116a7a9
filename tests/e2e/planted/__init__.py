"""The lab of planted causes: storage of which is known what limits it, and what Assay says of it.

A `Case` (`case.py`) plants a cause and says what is right to say about it, and what would be false. Each family of causes
has a module with its cases: the client, limits and links, the device, its other users, caches, content, the load, what was
there before, and nothing at all (`healthy.py`). `carrying_out.py` plants one, runs the installed command on it, asks the
lab's own witnesses whether the plant took, and holds the verdict against it; `confusion.py` keeps the outcomes in
docs/method.md. `python -m e2e.planted` is `make lab`: all parameters, again and again; `test_planted.py` has the first ones.
"""
