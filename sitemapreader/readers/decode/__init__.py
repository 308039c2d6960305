"""Decoding: the body as it came -> its bytes without compression, in UTF-8.

`layers` detects and removes content codings, and reads the header that names them; `decoders` has
one class for each. `charset` transcodes to UTF-8. All is incremental and bounded: bytes in, bytes
out, no file and no network. br needs an optional library, imported where it is used.
"""
