"""Read loads: each module reads one syntax and builds a Plan."""
