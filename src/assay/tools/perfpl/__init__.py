"""`assay perfpl`: many small files."""
