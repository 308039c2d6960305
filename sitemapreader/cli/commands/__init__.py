"""The commands of the program, one module each, and their table."""
