"""The URLs of a site as a table of pandas or Arrow."""
