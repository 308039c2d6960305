"""Readers of urlsets, indexes, RSS and Atom: three ways, the cheapest that fits.

Common records, whose fields are known and stand there once, are read by the *pattern*: one regular
expression that finds all of a batch at once; their extensions stay text until somebody asks for
them. Every other well-formed record is read by the *tree*: the standard library's tree builder,
behind a start tag of ours. What the tree refuses is narrowed down to its record, and that is read
by the *lenient* parser, which repairs and says what.
"""
