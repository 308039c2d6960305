"""The parts of a record: images, videos, news, alternates, and elements of unknown extensions."""

from sitemapreader._types.models import (
    Alternate,
    DateSource,
    Extra,
    Image,
    News,
    Price,
    Restriction,
    Video,
)

__all__ = [
    "Alternate",
    "DateSource",
    "Extra",
    "Image",
    "News",
    "Price",
    "Restriction",
    "Video",
]
