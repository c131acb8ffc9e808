"""One system's benchmarks: `python one.py SYSTEM NAME,NAME quick|full|once [FOLDER]`. Prints a line a figure.

`once` runs everything a single time, for a profiler. Into FOLDER go samples of the results, for `run.py` to compare.
"""

import importlib
import sys
import time
from pathlib import Path

import numpy as np

ROUNDS = 7
# Elements of a result that are compared.
SAMPLES = 1 << 16


class Clock:
    """Times work on the device between two events."""

    def __init__(self, event, record, milliseconds, wait):
        self.record, self.milliseconds, self.wait = record, milliseconds, wait
        self.begin, self.end = event(), event()

    def seconds(self, run, n):
        self.record(self.begin)
        for _ in range(n):
            run()
        self.record(self.end)
        return self.milliseconds(self.begin, self.end) / 1e3 / n


class HostClock:
    """Times work by the host, between two waits."""

    def __init__(self, wait):
        self.wait = wait

    def seconds(self, run, n):
        self.wait()
        start = time.perf_counter()
        for _ in range(n):
            run()
        self.wait()
        return (time.perf_counter() - start) / n


class Bench:
    """Measures, and says what is wanted."""

    def __init__(self, only, mode, folder=None):
        self.only = set(filter(None, only.split(",")))
        self.mode = mode
        self.folder = folder and Path(folder)

    def wants(self, *names):
        return not self.only or bool(self.only & set(names))

    def size(self, full, quick):
        return quick if self.mode == "quick" else full

    def seconds(self, run, clock, n, warm):
        """Median seconds of one `run` and the spread in percent, over rounds of `n`."""
        if self.mode == "once":
            return 1.0, 0.0
        for _ in range(warm):
            run()
        clock.wait()
        times = sorted(clock.seconds(run, n) for _ in range(ROUNDS))
        median = times[ROUNDS // 2]
        return median, 100 * (times[-2] - times[1]) / median / 2

    def rate(self, name, run, clock, amount, unit, result=None, n=10, warm=2):
        """Reports `amount` of work a second; `result` gives what the first run has computed."""
        run()
        clock.wait()
        if result is not None and self.folder:
            values = np.asarray(result()).reshape(-1)
            np.save(self.folder / f"{name}.npy", values[:: max(1, values.size // SAMPLES)].astype(np.float64))
        seconds, spread = self.seconds(run, clock, n, warm)
        self.say(name, amount / seconds, spread, unit)

    def time(self, name, run, clock, scale=1e6, unit="us", n=10):
        """Reports the time of one run, the host's included."""
        run()
        seconds, spread = self.seconds(run, HostClock(clock.wait), n, 2)
        self.say(name, seconds * scale, spread, unit)

    def once(self, name, run, clock):
        """Reports a first run, in milliseconds."""
        self.say(name, HostClock(clock.wait).seconds(run, 1) * 1e3, 0, "ms")

    def say(self, name, value, spread, unit):
        print(f"=\t{name}\t{value:.6g}\t{spread:.1f}\t{unit}", flush=True)


def main():
    peer, *rest = sys.argv[1:]
    importlib.import_module(f"peer_{peer}").run(Bench(*rest))


if __name__ == "__main__":
    # The peers' modules import this one by its name.
    sys.modules["one"] = sys.modules["__main__"]
    main()
