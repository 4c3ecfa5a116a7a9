"""Build the parts of the HTML page, from the sentence at its top to the last card."""
