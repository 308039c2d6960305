"""`python -m sitemapreader`."""

import sys

from sitemapreader._cli import main

if __name__ == "__main__":
    sys.exit(main())
