"""Readers of urlsets, indexes, RSS and Atom.

In order of cost, a record is read by:

- `take_plain_records`: the first records of a batch, by one regular expression, as far as all their
  texts are values that need no check;
- `PatternReader`: the common records of a batch, by one regular expression; their extensions stay
  text until their first use;
- `TreeReader.parse_batch`: other records, by the standard library's tree builder, after a start
  tag of ours. `RecordTexts` makes the entries of simple ones, as it does for the pattern;
- `TreeReader.parse_record`: one record that was cut out, because something in it or beside it is
  odd;
- `Mender`: a record that the parser refuses, and text outside of records. It repairs the markup for
  the same tree builder, and reports each repair.

`XmlReader.feed` tries the patterns, then the others; `read_whole`, for a small document, the
patterns alone. `SitemapReader.salvage` is the last, for feeds.
"""
