"""What do several runs say of a difference? From result documents to verdicts; nothing here reads a file."""
