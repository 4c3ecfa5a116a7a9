"""Report a run of several clients: shares of the sums, lost clients, starts and clocks."""
