"""NumPy's functions of all elements of an array, in the numba dialect.

In: an array of 1 to 4 dimensions; each dimension is a call of the function for the rows. Out: a number.

    _array_sum([[1, 2], [3, 4]])  ->  10
"""


def _array_sum(a):
    total = a.dtype(0)
    for i in range(a.shape[0]):
        if a.ndim == 1:
            total += a[i]
        else:
            total += _array_sum(a[i])
    return total


def _array_prod(a):
    total = a.dtype(1)
    for i in range(a.shape[0]):
        if a.ndim == 1:
            total *= a[i]
        else:
            total *= _array_prod(a[i])
    return total


def _array_mean(a):
    return _array_sum(a) / a.size


def _squares_about(a, mean):
    total = 0.0
    for i in range(a.shape[0]):
        if a.ndim == 1:
            total += (a[i] - mean) * (a[i] - mean)
        else:
            total += _squares_about(a[i], mean)
    return total


def _array_var(a):
    return _squares_about(a, _array_mean(a)) / a.size


def _array_std(a):
    return sqrt(_array_var(a))


def _array_count_nonzero(a):
    n = 0
    for i in range(a.shape[0]):
        if a.ndim == 1:
            n += 1 if a[i] else 0
        else:
            n += _array_count_nonzero(a[i])
    return n


def _array_any(a):
    return _array_count_nonzero(a) > 0


def _array_all(a):
    return _array_count_nonzero(a) == a.size


def _array_sometrue(a):
    return _array_any(a)


def _array_alltrue(a):
    return _array_all(a)


def _least(x, y):
    # NumPy passes a NaN on.
    return x if x < y or x != x else y


def _greatest(x, y):
    return x if x > y or x != x else y


def _array_min(a):
    found = a[0] if a.ndim == 1 else _array_min(a[0])
    for i in range(1, a.shape[0]):
        found = _least(found, a[i] if a.ndim == 1 else _array_min(a[i]))
    return found


def _array_max(a):
    found = a[0] if a.ndim == 1 else _array_max(a[0])
    for i in range(1, a.shape[0]):
        found = _greatest(found, a[i] if a.ndim == 1 else _array_max(a[i]))
    return found


def _array_amin(a):
    return _array_min(a)


def _array_amax(a):
    return _array_max(a)


def _array_ptp(a):
    return _array_max(a) - _array_min(a)


def _array_argmin(a):
    flat = a.ravel()
    at = 0
    for i in range(1, flat.size):
        if flat[at] == flat[at] and not flat[i] >= flat[at]:
            at = i
    return at


def _array_argmax(a):
    flat = a.ravel()
    at = 0
    for i in range(1, flat.size):
        if flat[at] == flat[at] and not flat[i] <= flat[at]:
            at = i
    return at


def _count_numbers(a):
    n = 0
    for i in range(a.shape[0]):
        if a.ndim == 1:
            n += 1 if a[i] == a[i] else 0
        else:
            n += _count_numbers(a[i])
    return n


def _array_nansum(a):
    total = a.dtype(0)
    for i in range(a.shape[0]):
        if a.ndim == 1:
            total += a[i] if a[i] == a[i] else a.dtype(0)
        else:
            total += _array_nansum(a[i])
    return total


def _array_nanprod(a):
    total = a.dtype(1)
    for i in range(a.shape[0]):
        if a.ndim == 1:
            total *= a[i] if a[i] == a[i] else a.dtype(1)
        else:
            total *= _array_nanprod(a[i])
    return total


def _array_nanmean(a):
    return _array_nansum(a) / _count_numbers(a)


def _number_squares_about(a, mean):
    total = 0.0
    for i in range(a.shape[0]):
        if a.ndim == 1:
            total += (a[i] - mean) * (a[i] - mean) if a[i] == a[i] else 0.0
        else:
            total += _number_squares_about(a[i], mean)
    return total


def _array_nanvar(a):
    return _number_squares_about(a, _array_nanmean(a)) / _count_numbers(a)


def _array_nanstd(a):
    return sqrt(_array_nanvar(a))


def _array_nanmin(a):
    found = a[0] if a.ndim == 1 else _array_nanmin(a[0])
    for i in range(1, a.shape[0]):
        if a.ndim == 1:
            found = a[i] if a[i] < found or found != found else found
        else:
            row = _array_nanmin(a[i])
            found = row if row < found or found != found else found
    return found


def _array_nanmax(a):
    found = a[0] if a.ndim == 1 else _array_nanmax(a[0])
    for i in range(1, a.shape[0]):
        if a.ndim == 1:
            found = a[i] if a[i] > found or found != found else found
        else:
            row = _array_nanmax(a[i])
            found = row if row > found or found != found else found
    return found
