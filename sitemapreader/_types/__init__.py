"""The values that all rooms share: entries, issues, outcomes, addresses, dates, limits, errors."""
