"""Content codings and charsets: from the bytes of a response to text.

Both the network and the readers use this package, so it imports neither of them.
"""
