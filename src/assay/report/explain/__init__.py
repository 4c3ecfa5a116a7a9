"""How does one number, one finding or one run explain itself, one level deeper than the table?"""
