"""Reading records that are not well-formed."""
