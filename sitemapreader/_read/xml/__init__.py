"""Readers of urlsets, indexes, RSS and Atom: two ways, and a mender.

The *pattern* reads common records, whose fields are known and occur once: one regular expression
for a whole batch. Their extensions stay text until they are asked for. The *tree* reads other
records: the standard library's tree builder, behind a start tag of ours. A record that its parser
refuses is *mended*: told to the same builder as it was meant; its repairs are reported.
"""
