"""What limited a number? From figures of one window to a word, its evidence, and what would change it."""
