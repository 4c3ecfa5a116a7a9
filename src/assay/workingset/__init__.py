"""Find out from traces of requests how large a cache must be for a load.

`assay-engine workingset` reads the traces and computes. Here is what is asked (`trace_question.py`), how files reach the
engine (`trace_files.py`), its answer (`engine_answer.py`), and what a reader is shown of it (`cache_sizes.py`).
"""
