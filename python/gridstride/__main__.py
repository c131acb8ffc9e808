"""`python -m gridstride` is the command `gridstride`."""

import sys

from gridstride.cli import main

if __name__ == "__main__":
    sys.exit(main())
