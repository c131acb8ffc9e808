"""Sums, scans and sorts of whole arrays by `wp.utils`, of Gridstride and of Warp."""

import inputs


def run(wp, bench, clock):
    n = bench.size(1 << 28, 1 << 16)
    if bench.wants("sum"):
        x, out = wp.array(inputs.noise(n)), wp.zeros(1, dtype=float)
        bench.rate("sum", lambda: wp.utils.array_sum(x, out=out), clock, 4e-9 * n, "GB/s", out.numpy)
    if bench.wants("scan"):
        x, out = wp.array(inputs.few(n)), wp.zeros(n, dtype=int)
        run = lambda: wp.utils.array_scan(x, out, inclusive=True)  # noqa: E731
        bench.rate("scan", run, clock, 8e-9 * n, "GB/s", out.numpy)
    n = bench.size(1 << 26, 1 << 16)
    if bench.wants("sort"):
        source = wp.array(inputs.keys(n))
        keys, values = wp.zeros(2 * n, dtype=int), wp.zeros(2 * n, dtype=int)

        def sort():
            # It sorts in place: the keys come back first.
            wp.copy(keys, source, count=n)
            wp.utils.radix_sort_pairs(keys, values, n)

        bench.rate("sort of pairs", sort, clock, 1e-9 * n, "Gkeys/s", lambda: keys.numpy()[:n], n=3)
    if bench.wants("runs"):
        x, values, lengths = wp.array(inputs.few(n)), wp.zeros(n, dtype=int), wp.zeros(n, dtype=int)
        count = wp.zeros(1, dtype=int)
        run = lambda: wp.utils.runlength_encode(x, values, lengths, count)  # noqa: E731
        bench.rate("runs", run, clock, 1e-9 * n, "Gelem/s", count.numpy)
