"""`python -m gridstride.compat PROGRAM [ARGUMENTS]`."""

import sys

from gridstride.compat import run

if len(sys.argv) < 2:
    sys.exit("usage: python -m gridstride.compat PROGRAM [ARGUMENTS]")
run(sys.argv[1], sys.argv[2:])
