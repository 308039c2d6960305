"""The rules of an audit as a table of codes, and their run over the database."""
