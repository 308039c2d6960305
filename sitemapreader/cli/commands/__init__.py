"""The commands of the program, one module each, and the table of them."""
