"""robots.txt, and what a site says about the use of its content."""

from sitemapreader._read.robots import Robots, parse_robots
from sitemapreader._read.usage import usage_of

__all__ = ["Robots", "parse_robots", "usage_of"]
