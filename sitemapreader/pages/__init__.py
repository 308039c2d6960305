"""Pages: the responses of listed URLs, and the facts in a page about itself.

`facts` are read from bytes. `visit` asks servers for pages, as robots.txt allows, and `folder` the
files of a built site; both give a `PageVisit`.
"""

from sitemapreader._types.errors import Redirect
from sitemapreader.pages.facts import HTML_TYPES, PageFacts, page_type_of, read_page
from sitemapreader.pages.folder import PageFolder
from sitemapreader.pages.visit import (
    NotJudged,
    PageRobots,
    PageVisit,
    visit_pages,
)

__all__ = [
    "HTML_TYPES",
    "NotJudged",
    "PageFacts",
    "PageFolder",
    "PageRobots",
    "PageVisit",
    "Redirect",
    "page_type_of",
    "read_page",
    "visit_pages",
]
