"""`python -m sitemapreader`."""

import sys

from sitemapreader.cli import main

if __name__ == "__main__":
    sys.exit(main())
