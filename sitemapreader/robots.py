"""Rules of robots.txt, and the preferences of a site about the use of its content."""

from sitemapreader._read.robots import Robots, parse_robots
from sitemapreader._read.usage import usage_of

__all__ = ["Robots", "parse_robots", "usage_of"]
