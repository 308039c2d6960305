"""Decoding: the body as it came -> its bytes without compression, in UTF-8.

`codings` finds and removes content codings, by the first bytes and the header; `streams` has one
class for each library. `charset` transcodes to UTF-8. All is incremental and bounded: bytes in,
bytes out, no file and no network. br needs an optional library, imported where it is used.
"""
