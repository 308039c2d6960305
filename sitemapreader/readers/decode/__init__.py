"""Decoding: the body as it came -> its bytes without compression, in UTF-8.

`codings` finds and removes content codings, by the first bytes and the header; `charset` transcodes
to UTF-8. All is incremental and bounded: bytes in, bytes out, no file and no network.
"""
