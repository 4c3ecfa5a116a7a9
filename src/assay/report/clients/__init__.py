"""A run of several clients, for people: the sums taken to pieces, who was lost, how they started, how their clocks stood."""
