"""Statistics of series and samples: functions of numbers alone, which know nothing of runs."""
