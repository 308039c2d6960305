"""The version of this package: the one place where it is written."""

__version__ = "0.3.0"
