"""`assay bigdir`: one growing directory."""
