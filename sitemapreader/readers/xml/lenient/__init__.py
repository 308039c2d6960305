"""Readers of records that are not well-formed."""
