"""Caches that outlive a walk: all of them are known, and none keeps long text of strangers."""

from __future__ import annotations

import ast
import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest

from sitemapreader import UrlEntry
from sitemapreader._types import urls
from sitemapreader._types.options import MAX_URL_CHARS
from sitemapreader._walk.filters import EntryFilter
from sitemapreader._walk.selection import Selection
from sitemapreader.changes.rows import hash_record
from tests.support import package

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SHORT_KEYS = {
    "audit.database.read_queries": "names of our files",
    "audit.database._load_codes": "has no key",
    "audit.report.templates._load_environment": "has no key",
    "audit.rules.load_rules": "has no key",
    "audit.rules.make_issue_rule": "codes of ours",
    "fetch.addresses._parse_address": "texts of up to 45 characters",
    "fetch.addresses.is_public": "addresses",
    "fetch.urls._parse_root": "only hosts of ordinary length, see `parse_request_url`",
    "_columns.arrow.make_schema": "columns of ours, those of 16 outputs",
    "_types.habits._load_habits": "has no key",
    "_types.urls._load": "has no key",
    "_types.urls._split_base": "URLs that the protocol allows",
    "_types.urls._parse_cached": "only URLs of ordinary length, see `parse_url`",
    "_read.html.write_opening": "names of elements that we look for",
    "_walk.stream.view_records": "one of a walk, one of a run",
    "changes.database.read_script": "names of our files",
    "changes.rows._list_repeated_fields": "types of ours",
    "changes.rows._hash_plain": "dates of up to 64 characters",
    "_read.vocabulary._resolve_name": "names of up to 300 characters",
    "_read.xml.prolog._read_common_head": "heads of documents of up to 2,000 characters",
    "_read.xml.patterns._learn_names": "namespaces of 4,096 characters in all",
    "_read.xml.record_texts.are_low": "limits, which are numbers",
    "_read.xml.tree._write_start_tag": "namespaces of 4,096 characters in all",
    "_read.xml.batches._write_markup_pattern": "names of our records",
    "_read.xml.batches._start_patterns": "prologs of such heads, and 500 names of 300 characters",
    "_read.xml.markup.write_tag_pattern": "the same",
    "_read.xml.grammar.write_record_pattern": "prefixes of up to 500 characters in all",
    "_read.xml.grammar.write_clean_pattern": "the same, and keys of our table",
    "_read.xml.plain.write_plain_pattern": "one prefix of up to 64 characters",
}
"""Every cache of the package, and why what is kept in it is short."""


_MAKERS = {"cache", "lru_cache", "cached_method"}


def find_caches() -> Iterator[str]:
    """Find every function that is decorated with a cache, in every module."""
    for name, tree in package.modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                for decorator in node.decorator_list:
                    maker = (
                        decorator.func if isinstance(decorator, ast.Call) else decorator
                    )
                    if getattr(maker, "attr", getattr(maker, "id", "")) in _MAKERS:
                        yield f"{name}.{node.name}"


def test_every_cache_is_known() -> None:
    """A new cache has to say here why what strangers write does not pile up in it."""
    assert set(find_caches()) == set(SHORT_KEYS)


SELECTION = Selection(unique=True)

CALLS: dict[str, Callable[[str], Any]] = {
    "key": urls.url_key,
    "host": urls.host_of,
    "origin": urls.origin_of,
    "site": lambda url: urls.same_hosts("site", url, "https://example.org/"),
    "folder": urls.folder_of,
    "resolve": lambda url: urls.resolve(
        "https://example.org/", url.removeprefix("https:")
    ),
    "base": lambda url: urls.resolve(url, "x"),
    "sieve": lambda url: EntryFilter(SELECTION).select(
        [UrlEntry(url)], ("https://example.org/",)
    ),
    "unique": lambda url: EntryFilter(SELECTION).deduplicate([UrlEntry(url)]),
    "date": lambda url: hash_record(UrlEntry("u", lastmod_text=url)),
}


@pytest.mark.parametrize("length", [MAX_URL_CHARS + 1, 65_536])
@pytest.mark.parametrize("name", CALLS)
def test_long_urls_are_not_kept(name: str, length: int) -> None:
    """After many long URLs, of any kind, none of them is held."""
    call = CALLS[name]
    call("https://example.org/a/../b")
    number = 40 if length < 10_000 else 4
    tracemalloc.start()
    try:
        for n in range(number):
            call(f"https://Example.org/{n}%41/".ljust(length, "x"))
            call(f"https://h{n}.".ljust(length - 5, "y") + ".org/")
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert held < 150_000
