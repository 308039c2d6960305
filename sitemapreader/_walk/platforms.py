"""Platforms: the software that a site names, and where that software has its sitemap."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


@attrs.frozen
class Platform:
    """Software that names itself, and the paths of its sitemaps."""

    name: str
    """As its `<meta name="generator">` or a header begins, in lower case."""
    paths: tuple[str, ...]
    """Below the folder of the site; `{host}` is its host, `{name}` the first label of that."""


# Where the documentation of the software, or a run of it, has its sitemap. What is a well-known
# path already is not repeated: it was tried before.
PLATFORMS = (
    Platform("wordpress", ("?sitemap=index", "?sitemap=1", "index.php/wp-sitemap.xml")),
    Platform("dokuwiki", ("doku.php?do=sitemap", "?do=sitemap")),
    Platform(
        "mediawiki",
        (
            "sitemap/sitemap-index-{host}.xml",
            "sitemap-index-{host}.xml",
            "sitemap/sitemap-index-{name}.xml",
            "sitemap-index-{name}.xml",
            "sitemap/sitemap-index-my_wiki.xml",  # the installer's default
            "sitemap-index-my_wiki.xml",
        ),
    ),
    Platform("plone", ("sitemap.xml.gz",)),
    Platform("nikola", ("sitemapindex.xml",)),
    Platform("next.js", ("sitemap/0.xml",)),
    Platform("astro", ("sitemap-0.xml",)),
    Platform("starlight", ("sitemap-0.xml",)),
    Platform("drupal", ("?q=sitemap.xml", "default/sitemap.xml")),
    Platform("typo3", ("?type=1533906435",)),
    Platform(
        "joomla",
        (
            "index.php?option=com_osmap&view=xml&id=1",
            "index.php?option=com_jmap&view=sitemap&format=xml",
        ),
    ),
    Platform("prestashop", ("1_index_sitemap.xml",)),
    Platform(
        "opencart",
        (
            "index.php?route=extension/feed/google_sitemap",
            "index.php?route=feed/google_sitemap",
        ),
    ),
    Platform("open journal systems", ("index.php/index/sitemap",)),
    Platform("vbulletin", ("xmlsitemap.php",)),
)

_PLATFORM_HEADERS = (
    "x-generator",
    "x-powered-by",
    "x-powered-cms",
    "x-redirect-by",
    "powered-by",
)
"""Headers in which software names itself."""
_SIGNS = (
    ("link", re.compile(r"https://api\.w\.org/"), "wordpress"),
    ("x-pingback", re.compile(r"/xmlrpc\.php\Z"), "wordpress"),
)
"""Header, what stands in it, and the platform that sends it."""


def list_platform_paths(
    generators: Iterable[str],
    headers: Mapping[str, str],
    host: str,
) -> Iterator[str]:
    """Yield the paths at which a site of these generators and headers may have its sitemap."""
    names = [*generators]
    names += [headers.get(header, "") for header in _PLATFORM_HEADERS]
    for header, sign, name in _SIGNS:
        if sign.search(headers.get(header, "")):
            names.append(name)
    said = [name.strip().lower() for name in names]
    label, _, _ = host.removeprefix("www.").partition(".")
    for platform in PLATFORMS:
        if any(each.startswith(platform.name) for each in said):
            for path in platform.paths:
                yield path.format(host=host, name=label)
