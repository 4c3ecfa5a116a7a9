"""From a run bundle to numbers and judgements: pure functions of tables."""
