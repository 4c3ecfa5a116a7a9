"""The parts of the HTML page: what it says of the results, from the sentence at its top to the last card."""
