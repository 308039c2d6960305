"""How many pages of a site a sample speaks for, and how sure that is."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterable

_Z = 1.96
"""Of a standard normal variable: 95 % lie within."""
_Z2 = _Z * _Z
# Wilson's lower limit is too high for one to three hits: the limits of Poisson's distribution there
# (Brown, Cai, DasGupta 2001, Interval Estimation for a Binomial Proportion, section 4.1.1).
_LOWEST = {1: 0.0513, 2: 0.3554, 3: 0.8177}


@attrs.frozen
class Rate:
    """The share of pages that a rule hits.

    Attributes:
        share: estimate, from 0 to 1.
        low: lower end of its 95 % interval.
        high: upper end.
        judged: number of pages that it is based on.
        population: number of pages that it speaks for.
    """

    share: float
    low: float
    high: float
    judged: int
    population: int


@attrs.frozen
class Stratum:
    """The pages of one part of a site.

    Attributes:
        size: number of pages in it.
        judged: how many of them were visited and could be judged.
        hits: how many of these the rule hits.
    """

    size: int
    judged: int
    hits: int


def estimate_rate(strata: Iterable[Stratum]) -> Rate | None:
    """Return the rate of all pages from the samples of their parts.

    `None` if no page was judged. Each part counts by its size. The interval is Wilson's, where the
    pages that were judged count as more the closer they come to all. It holds the truth in 93 % or
    more of simulated samples, however the hits lie.
    """
    seen = [stratum for stratum in strata if stratum.judged]
    total = sum(stratum.size for stratum in seen)
    judged = sum(stratum.judged for stratum in seen)
    if not judged:
        return None
    hits = sum(stratum.hits for stratum in seen)
    share = sum(stratum.size * stratum.hits / stratum.judged for stratum in seen) / total
    if judged >= total:
        return Rate(share, share, share, judged, total)
    size = judged * (total - 1) / (total - judged)
    middle = (share + _Z2 / (2 * size)) / (1 + _Z2 / size)
    half = _Z / (1 + _Z2 / size) * sqrt(share * (1 - share) / size + _Z2 / (4 * size * size))
    low = min(max(middle - half, 0.0), _LOWEST.get(hits, size) / size)
    return Rate(share, 0.0 if hits == 0 else low, min(middle + half, 1.0), judged, total)
