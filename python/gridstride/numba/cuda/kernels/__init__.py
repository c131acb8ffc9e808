"""`numba.cuda.kernels`: whole algorithms over device arrays."""
