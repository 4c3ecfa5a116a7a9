"""Run `python -m assay`: the same program as `assay`."""

from assay.start import main

main()
