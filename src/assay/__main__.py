"""`python -m assay`: the same program, for who has the interpreter at hand and not the path."""

from assay.start import main

main()
