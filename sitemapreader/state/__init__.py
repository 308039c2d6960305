"""The state of walks in one SQLite file: what each walk read, and how far it came.

For each document it holds the validators, the hash of its body, and the URLs that it listed.
Nothing here fetches or waits: the walker reads the state, and decides when to write.
"""

from sitemapreader.state.state import State

__all__ = ["State"]
