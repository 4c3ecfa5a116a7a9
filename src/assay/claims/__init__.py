"""Do sentences with numbers hold? From a file of claims, and tables or runs, to a verdict on each with the figures computed.

`claims_file.py` reads the sentences, `sentence.py` what each says; `expression.py` computes its sides from `fact_tables.py`,
`against_tables.py` and `against_runs.py` judge it, and `judged.py` is the document that comes out.
"""
