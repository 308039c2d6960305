"""`sitemapreader read`: every URL of local sitemaps."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from sitemapreader.cli.commands.urls import print_urls
from sitemapreader.cli.config import RunConfig
from sitemapreader.cli.runner import make_sources
from sitemapreader.cli.sources import FileSource, UnknownSourceError, make_file_source
from sitemapreader.urls import has_web_scheme

if TYPE_CHECKING:
    import argparse


def run(arguments: argparse.Namespace) -> int:
    """Print the URLs and return the exit code."""
    config = RunConfig.from_arguments(arguments)
    make = partial(make_local_source, arguments=arguments, config=config)
    return print_urls(arguments, config, make_sources(arguments, make), make)


def make_local_source(text: str, arguments: argparse.Namespace, config: RunConfig) -> FileSource:
    """Make the source for a file; raise UnknownSourceError for a URL or a folder."""
    what = "a URL" if has_web_scheme(text) else "a folder" if os.path.isdir(text) else ""  # noqa: PTH112 (pathlib's raises for some texts)
    if what:
        raise UnknownSourceError(f"{text} is {what}, and read is for files: omit the word read")
    return make_file_source(text, arguments, config)
