"""The classic tools: one folder each, and what they share."""
