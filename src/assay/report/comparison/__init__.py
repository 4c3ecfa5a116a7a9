"""A comparison as a document: its words, its figures over the runs of all sides, its page and its workbook."""
