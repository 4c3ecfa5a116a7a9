"""Do sentences with numbers hold? From a file of claims, and tables or runs, to a verdict on each with the figures computed.

`claims_file.py` reads the sentences, `sentence.py` parses each; `expression.py` computes its sides from `fact_tables.py`,
`against_tables.py` and `against_runs.py` assess it, and `assessed.py` is the resulting document.
"""
