"""Readers of urlsets, indexes, RSS and Atom: three ways, the cheapest that fits.

The *pattern* reads common records, whose fields are known and occur once: one regular expression
for a whole batch. Their extensions stay text until they are asked for. The *tree* reads other
well-formed records, and those whose references and prefixes it can repair: the standard library's
tree builder, behind a start tag of ours. The *lenient* parser reads a record that the tree refuses;
it repairs the record and reports the repairs.
"""
