"""Runs one module of Warp's tests with Warp itself, for its time; one JSON line a test on standard output.

    python peer_worker.py MODULE

For a Python that has Warp. No test has a limit of time.
"""

import sys

import worker

HOURS = 3600.0 * 24

if __name__ == "__main__":
    worker.serve(sys.argv[1], HOURS, 0)
