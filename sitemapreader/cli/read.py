"""`sitemapreader read`: every URL of sitemaps that are at hand."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from sitemapreader.cli.settings import Settings
from sitemapreader.cli.sources import make_file_source
from sitemapreader.cli.urls import dump

if TYPE_CHECKING:
    import argparse


def run(arguments: argparse.Namespace) -> int:
    """Print the URLs; return the exit code."""
    make = partial(make_file_source, arguments=arguments, settings=Settings.of(arguments))
    return dump(arguments, make, make)
