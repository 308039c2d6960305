"""What records mean: their fields, and the values that they become."""
