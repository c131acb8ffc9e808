"""`numba.cuda.memory_management`: what kernels allocate."""
