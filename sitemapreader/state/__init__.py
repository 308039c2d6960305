"""What is remembered from one walk to the next, in one SQLite file.

Of each document: its validators, its body's hash, what it listed. Of each walk: how far it came.
Nothing here fetches or waits; the walker asks, and says when something is to be written down.
"""

from sitemapreader.state.state import State

__all__ = ["State"]
