"""Check claims with numbers against tables or runs, and give a verdict on each with its figures.

`claims_file.py` reads the sentences, `sentence.py` parses each; `expression.py` computes its sides from `fact_tables.py`,
`against_tables.py` and `against_runs.py` assess it, and `assessed.py` is the resulting document.
"""
