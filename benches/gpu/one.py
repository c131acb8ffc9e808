"""One system's benchmarks: `python one.py SYSTEM NAME,NAME quick|full`. Prints a line a figure, for `run.py`."""

import importlib
import sys
import time

ROUNDS = 7


class Bench:
    """Measures, and says what is wanted."""

    def __init__(self, only, quick):
        self.only = set(filter(None, only.split(",")))
        self.quick = quick

    def wants(self, name):
        return not self.only or name in self.only

    def size(self, full, quick):
        return quick if self.quick else full

    def seconds(self, run, wait, n=10, warm=2):
        """Median seconds of one `run` and the spread in percent, over rounds of `n` between two waits."""
        for _ in range(warm):
            run()
        wait()
        times = []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            for _ in range(n):
                run()
            wait()
            times.append((time.perf_counter() - start) / n)
        times.sort()
        median = times[ROUNDS // 2]
        return median, 100 * (times[-2] - times[1]) / median / 2

    def rate(self, name, run, wait, amount, unit, **options):
        """Reports `amount` of work a second."""
        seconds, spread = self.seconds(run, wait, **options)
        self.say(name, amount / seconds, spread, unit)

    def time(self, name, run, wait, scale=1e6, unit="us", **options):
        """Reports the time of one run."""
        seconds, spread = self.seconds(run, wait, **options)
        self.say(name, seconds * scale, spread, unit)

    def once(self, name, run, wait):
        """Reports a first run, in milliseconds."""
        wait()
        start = time.perf_counter()
        run()
        wait()
        self.say(name, (time.perf_counter() - start) * 1e3, 0, "ms")

    def say(self, name, value, spread, unit):
        print(f"=\t{name}\t{value:.6g}\t{spread:.1f}\t{unit}", flush=True)


if __name__ == "__main__":
    peer, only, size = sys.argv[1:4]
    importlib.import_module(f"peer_{peer}").run(Bench(only, size == "quick"))
