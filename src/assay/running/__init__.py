"""Run a Plan on this machine, and keep the outcome."""
