"""The sitemaps that platforms have beside those that their sites name.

A table, one row a platform. `probe="deep"` tries the paths of each platform whose marks stand in
the start page, or in the URL of a sitemap that is known.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Platform(NamedTuple):
    """What shows that a site runs on a platform, and where its sitemaps may be."""

    name: str
    marks: str
    """A regular expression; upper and lower case are alike."""
    paths: tuple[str, ...]


_WIX = ("pages", "blog-posts", "blog-categories", "blog-tags", "store-products", "forum-posts")
_WIX_APPS = ("event-pages", "booking-services")

PLATFORMS = (
    Platform(
        "Wix",
        r"Wix\.com Website Builder|\bparastorage\.com/|\bwixstatic\.com/"
        r"|/(?:pages|blog-posts|store-products)-sitemap\.xml",
        tuple(f"{kind}-sitemap.xml" for kind in (*_WIX, *_WIX_APPS)),
    ),
    Platform("BigCommerce", r"\.bigcommerce\.com/", ("xmlsitemap.php",)),
    Platform("vBulletin", r"\bvBulletin\b", ("xmlsitemap.php",)),
    Platform(
        "Blogger",
        r"""content=["']?blogger\b|\.blogspot\.|/feeds/posts/""",
        ("sitemap.xml", "sitemap-pages.xml", "feeds/posts/default"),
    ),
    # The page type of its extension `seo`; older sites have an extension of another name
    Platform(
        "TYPO3",
        r"\bTYPO3\b|/typo3(?:temp|conf)/",
        ("?type=1533906435", "index.php?eID=dd_googlesitemap"),
    ),
    Platform(
        "Magento",
        r"\bMagento_|\bx-magento-init\b|/static/version\d+/frontend/|/pub/media/",
        ("pub/media/sitemap.xml", "media/sitemap.xml", "pub/media/sitemap/sitemap.xml"),
    ),
    Platform(
        "DSpace",
        r"\bDSpace\b|/(?:xmlui|jspui)/",
        ("sitemap_index.xml", "sitemap", "xmlui/sitemap", "jspui/sitemap", "dspace/sitemap"),
    ),
    Platform("PrestaShop", r"\bPrestaShop\b|/\d_index_sitemap\.xml", ("1_index_sitemap.xml",)),
    # ANSI/NISO Z39.99, section 6.3.2; no platform shows that it has it
    Platform("ResourceSync", "", (".well-known/resourcesync",)),
)


def find_paths(evidence: str) -> list[str]:
    """Return the paths to try, by a start page and the URLs of known sitemaps."""
    paths: dict[str, None] = {}
    for platform in PLATFORMS:
        if re.search(platform.marks, evidence, re.IGNORECASE):
            paths |= dict.fromkeys(platform.paths)
    return list(paths)
