"""Pages: the responses of listed URLs, and the facts in a page about itself.

`facts` are read from bytes. `client` requests pages, as the robots.txt files in `robots` allow.
`visit` requests pages with it, and `folder` reads the files of a built site; both give a
`PageVisit`. `soft_404` finds which of these pages are error pages,
and `faults` what is wrong with each response.
"""

from sitemapreader._types.errors import Redirect
from sitemapreader.pages.facts import HTML_TYPES, PageFacts, page_type_of, read_page
from sitemapreader.pages.faults import (
    PageFault,
    explain_target,
    find_fault,
    is_led_to_login,
    is_page_empty,
)
from sitemapreader.pages.folder import PageFolder
from sitemapreader.pages.robots import RobotsCache
from sitemapreader.pages.soft_404 import (
    find_soft_errors,
    make_up_path,
)
from sitemapreader.pages.visit import (
    NotJudged,
    PageVisit,
    visit_pages,
)

__all__ = [
    "HTML_TYPES",
    "NotJudged",
    "PageFacts",
    "PageFault",
    "PageFolder",
    "PageVisit",
    "Redirect",
    "RobotsCache",
    "explain_target",
    "find_fault",
    "find_soft_errors",
    "is_led_to_login",
    "is_page_empty",
    "make_up_path",
    "page_type_of",
    "read_page",
    "visit_pages",
]
