"""Write a comparison as a document: text, figures over the runs of all sides, page and workbook."""
