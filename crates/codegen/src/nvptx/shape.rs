//! Which thread of the GPU runs which thread of a launch.

use runtime::abi::MAX_RANK;

/// Threads of a block unless the launcher asks for fewer: enough to fill a multiprocessor with few registers or many.
pub(super) const MAX_THREADS: u32 = 256;

/// Most threads along x in launches of more than one dimension: rows of a block share what they read.
const ROW: u32 = 64;

/// Most blocks along y and z. Along x there may be as many as a launch has threads.
const MAX_BLOCKS: i64 = 65535;

/// How a kernel's code reads thread and block numbers: the index along the last dimension is
/// `blockIdx.x * blockDim.x + threadIdx.x`, times `width`, along the one before the same of y; the two before that, row by row, are z.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub rank: u32,
    pub max_threads: u32,
    /// Threads take several indices along y and z, as far as the grid falls short.
    pub strided: bool,
    /// Neighbors along x that one thread takes, or as many of the launch's threads at a time.
    pub width: u32,
    /// It takes them where there are many threads only: [`Shape::is_wasted_on`].
    pub is_jammed: bool,
    /// Blocks stay and take all threads of the launch in turn, row by row.
    pub is_resident: bool,
    /// How many of such blocks run at a time; the device says that.
    pub max_blocks: u32,
    /// Blocks have `max_threads` threads along x and none beside: they hold tiles together.
    pub is_tiled: bool,
}

/// The arguments of a launch of the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    pub grid: [u32; 3],
    pub block: [u32; 3],
}

/// Threads of a launch a multiprocessor from which on each may run several: fewer would leave parts of it idle.
const MANY: i64 = 512;

/// Whether a launch has too few threads for one to do the work of several
/// ([`PtxOptions::few_threads`](super::PtxOptions)).
pub fn has_few_threads(n_threads: i64, n_multiprocessors: u32) -> bool {
    n_threads < MANY * i64::from(n_multiprocessors)
}

impl Shape {
    /// Whether code with `few_threads` set serves the launch better.
    pub fn is_wasted_on(&self, n_threads: i64, n_multiprocessors: u32) -> bool {
        self.is_jammed && has_few_threads(n_threads, n_multiprocessors)
    }

    /// Blocks and threads for a launch over `extents`. `None` where it is empty, and where the grid would be too large:
    /// code with `strided` set is needed then.
    pub fn geometry(&self, extents: &[i64; MAX_RANK]) -> Option<Geometry> {
        let rank = self.rank as usize;
        if self.is_resident {
            return self.resident(&extents[..rank]);
        }
        let along = |back: usize| if back < rank { extents[rank - 1 - back] } else { 1 };
        let sizes =
            [(along(0).max(0) as u64).div_ceil(self.width.into()) as i64, along(1), along(2).checked_mul(along(3))?];
        if sizes.iter().any(|&size| size <= 0) {
            return None;
        }
        let mut left = self.max_threads;
        let mut block = [1u32; 3];
        if self.is_tiled {
            block[0] = self.max_threads;
        }
        for (dim, threads) in block.iter_mut().enumerate().filter(|_| !self.is_tiled) {
            let most = if dim == 0 && rank > 1 && sizes[1] > 1 { left.min(ROW) } else { left };
            // A z of more than 64 threads is more than a block may have.
            let most = if dim == 2 { most.min(64) } else { most };
            *threads = (sizes[dim].min(i64::from(most)) as u32).next_power_of_two().min(most);
            left /= *threads;
        }
        let mut grid = [1u32; 3];
        for dim in 0..3 {
            let blocks = (sizes[dim] as u64).div_ceil(u64::from(block[dim]));
            let most = if dim == 0 { i64::from(i32::MAX) } else { MAX_BLOCKS };
            if blocks > most as u64 && !(self.strided && dim > 0) {
                return None;
            }
            grid[dim] = blocks.min(most as u64) as u32;
        }
        Some(Geometry { grid, block })
    }

    /// No more blocks than run at a time, and no more than have something for each thread to do.
    fn resident(&self, extents: &[i64]) -> Option<Geometry> {
        let n_threads = extents.iter().try_fold(1i64, |n, &extent| n.checked_mul(extent)).filter(|&n| n > 0)?;
        let per_block = u64::from(self.max_threads) * u64::from(self.width);
        let n_blocks = (n_threads as u64).div_ceil(per_block).min(self.max_blocks.max(1).into());
        Some(Geometry { grid: [n_blocks as u32, 1, 1], block: [self.max_threads, 1, 1] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Shape = Shape {
        rank: 1,
        max_threads: MAX_THREADS,
        strided: false,
        width: 1,
        is_jammed: false,
        is_resident: false,
        max_blocks: 0,
        is_tiled: false,
    };

    fn geometry(rank: u32, extents: [i64; 4]) -> Option<([u32; 3], [u32; 3])> {
        let shape = Shape { rank, ..PLAIN };
        shape.geometry(&extents).map(|Geometry { grid, block }| (grid, block))
    }

    #[test]
    fn the_last_dimension_is_x() {
        assert_eq!(geometry(1, [1000, 1, 1, 1]), Some(([4, 1, 1], [256, 1, 1])));
        assert_eq!(geometry(2, [7, 1000, 1, 1]), Some(([16, 2, 1], [64, 4, 1])));
        assert_eq!(geometry(3, [5, 7, 1000, 1]), Some(([16, 2, 5], [64, 4, 1])));
        assert_eq!(geometry(4, [3, 5, 7, 1000]), Some(([16, 2, 15], [64, 4, 1])));
    }

    #[test]
    fn short_rows_share_a_block() {
        assert_eq!(geometry(2, [1000, 3, 1, 1]), Some(([1, 16, 1], [4, 64, 1])));
        assert_eq!(geometry(2, [1, 1000, 1, 1]), Some(([4, 1, 1], [256, 1, 1])));
        assert_eq!(geometry(3, [1000, 1, 1, 1]), Some(([1, 1, 16], [1, 1, 64])));
        assert_eq!(geometry(1, [1, 1, 1, 1]), Some(([1, 1, 1], [1, 1, 1])));
    }

    #[test]
    fn too_many_blocks_need_strided_code() {
        assert_eq!(geometry(1, [i64::from(i32::MAX), 1, 1, 1]), Some(([1 << 23, 1, 1], [256, 1, 1])));
        assert_eq!(geometry(2, [1 << 24, 64, 1, 1]), None);
        let shape = Shape { rank: 2, strided: true, ..PLAIN };
        let Some(Geometry { grid, block }) = shape.geometry(&[1 << 24, 64, 1, 1]) else { panic!("strided code") };
        assert_eq!((grid, block), ([1, 65535, 1], [64, 4, 1]));
    }

    #[test]
    fn wide_threads_are_fewer() {
        let shape = Shape { rank: 2, width: 4, ..PLAIN };
        let Some(Geometry { grid, block }) = shape.geometry(&[8, 1001, 1, 1]) else { panic!("it fits") };
        assert_eq!((grid, block), ([4, 2, 1], [64, 4, 1]));
    }

    #[test]
    fn blocks_that_stay_are_as_many_as_run() {
        let shape = Shape { rank: 2, is_resident: true, max_blocks: 1056, ..PLAIN };
        let grid = |extents| shape.geometry(&extents).map(|Geometry { grid, block }| (grid, block));
        assert_eq!(grid([1000, 1000, 1, 1]), Some(([1056, 1, 1], [256, 1, 1])));
        assert_eq!(grid([10, 100, 1, 1]), Some(([4, 1, 1], [256, 1, 1])));
        assert_eq!(grid([10, 0, 1, 1]), None);
        let shape = Shape { width: 4, ..shape };
        let found = shape.geometry(&[10, 500, 1, 1]).map(|Geometry { grid, block }| (grid, block));
        assert_eq!(found, Some(([5, 1, 1], [256, 1, 1])));
    }

    #[test]
    fn an_empty_launch_has_none() {
        assert_eq!(geometry(2, [0, 5, 1, 1]), None);
    }

    #[test]
    fn the_threads_that_hold_tiles_are_all_of_a_block() {
        let shape = Shape { rank: 3, max_threads: 128, is_tiled: true, ..PLAIN };
        let found = shape.geometry(&[6, 5, 128, 1]).map(|Geometry { grid, block }| (grid, block));
        assert_eq!(found, Some(([1, 5, 6], [128, 1, 1])));
    }
}
