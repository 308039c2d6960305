"""The meaning of records: their fields, and the values that they become."""
