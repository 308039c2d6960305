"""Content codings and charsets: from the bytes of a response to text.

Both the network and the readers stand on this room, so it knows neither of them.
"""
