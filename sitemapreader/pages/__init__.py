"""Pages: what listed URLs answer, and what a page says of itself.

Facts are read from bytes (`readers.pages`); `folder` visits the files of a built site, and `visits`
has the values of a visit.
"""

from sitemapreader.pages.folder import PageFolder, visit_folder
from sitemapreader.pages.visits import NotJudged, PageVisit, Redirect
from sitemapreader.readers.pages.facts import PageFacts, read_page

__all__ = [
    "NotJudged",
    "PageFacts",
    "PageFolder",
    "PageVisit",
    "Redirect",
    "read_page",
    "visit_folder",
]
