"""`wp.sparse`: sparse matrices of blocks, their sums and products.

    >>> import numpy as np
    >>> rows, columns = wp.array([0, 0, 1], dtype=int), wp.array([0, 1, 1], dtype=int)
    >>> A = wp.sparse.bsr_from_triplets(2, 2, rows, columns, wp.array([2.0, 1.0, 3.0], dtype=float))
    >>> (A @ wp.array([1.0, 10.0], dtype=float)).numpy()
    array([12., 30.], dtype=float32)

All runs in kernels on the matrix's device; what is computed from values has a derivative, and a tape records it. The
page docs/sparse.md has more.
"""

from gridstride.sparse._arithmetic import bsr_axpy as bsr_axpy
from gridstride.sparse._arithmetic import bsr_axpy_work_arrays as bsr_axpy_work_arrays
from gridstride.sparse._arithmetic import bsr_scale as bsr_scale
from gridstride.sparse._assign import bsr_assign as bsr_assign
from gridstride.sparse._assign import bsr_compress as bsr_compress
from gridstride.sparse._assign import bsr_copy as bsr_copy
from gridstride.sparse._assign import bsr_set_transpose as bsr_set_transpose
from gridstride.sparse._assign import bsr_transposed as bsr_transposed
from gridstride.sparse._create import bsr_diag as bsr_diag
from gridstride.sparse._create import bsr_get_diag as bsr_get_diag
from gridstride.sparse._create import bsr_identity as bsr_identity
from gridstride.sparse._create import bsr_set_diag as bsr_set_diag
from gridstride.sparse._create import bsr_set_identity as bsr_set_identity
from gridstride.sparse._create import bsr_set_zero as bsr_set_zero
from gridstride.sparse._create import bsr_zeros as bsr_zeros
from gridstride.sparse._functions import bsr_block_index as bsr_block_index
from gridstride.sparse._functions import bsr_row_index as bsr_row_index
from gridstride.sparse._matrix import BSR_STATUS_ROW_CAPACITY_EXCEEDED as BSR_STATUS_ROW_CAPACITY_EXCEEDED
from gridstride.sparse._matrix import BSR_STATUS_SUCCESS as BSR_STATUS_SUCCESS
from gridstride.sparse._matrix import BsrMatrix as BsrMatrix
from gridstride.sparse._matrix import bsr_matrix_t as bsr_matrix_t
from gridstride.sparse._product import bsr_mm as bsr_mm
from gridstride.sparse._product import bsr_mm_work_arrays as bsr_mm_work_arrays
from gridstride.sparse._product import bsr_mv as bsr_mv
from gridstride.sparse._triplets import BsrTripletMap as BsrTripletMap
from gridstride.sparse._triplets import bsr_from_triplets as bsr_from_triplets
from gridstride.sparse._triplets import bsr_set_from_mapped_values as bsr_set_from_mapped_values
from gridstride.sparse._triplets import bsr_set_from_triplets as bsr_set_from_triplets
