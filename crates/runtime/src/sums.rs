//! Sums of floats that all threads of a launch add to, with the same bits in every run: the threads are cut into chunks,
//! each chunk adds up its own part, and the parts are added to memory in the order of the chunks.
//!
//! What the sum is, in full, so that every device on the host gives the same bits: the chunks of [`Sums::chunk`], whose
//! threads are numbered from 0 in each. Thread t of a chunk adds to accumulator t mod [`LANES`], which starts as -0 and
//! takes its threads in order. The accumulators are added up by halves, the second to the first.
//!
//! In: a kernel whose calls are inlined. Out: the memory of a chunk's accumulators, which the kernel's code
//! is given a pointer to ([`crate::LaunchBounds::sums`]), and what is done before and after.
//!
//! ```text
//! bytes of a chunk: address of sum 0, of sum 1, …; from the next multiple of 64 on LANES scalars for each scalar
//! ```
//!
//! An address is null where no thread of the chunk has reached its sum.

use crate::atomics::{Rmw, rmw};
use analysis::LaunchSums;
use ir::{Function, Inst, Scalar, Type, TypeKind};
use std::mem::MaybeUninit;

/// Accumulators of each scalar: the lanes of the widest gang of f32.
pub const LANES: usize = 16;

/// Most bytes of a chunk's accumulators. What does not fit is added to memory at once.
const MAX_BYTES: usize = 4096;

const MAX_CHUNK: i64 = 1 << 14;

/// The sums of one kernel: all that a launch needs to know.
#[derive(Clone, Debug)]
pub struct Sums {
    /// The scalars of each sum: bytes from its address.
    leaves: Vec<Vec<(u64, Scalar)>>,
    parts: Vec<Part>,
    /// First those that have sums.
    arrays: Vec<Array>,
    n_summed: usize,
    has_loops: bool,
}

/// The sums of a kernel, and which of its instructions add to them.
#[derive(Debug)]
pub struct Sites {
    found: LaunchSums,
    pub sums: Sums,
}

/// A scalar of a sum.
#[derive(Clone, Copy, Debug)]
struct Part {
    sum: usize,
    /// Bytes from the sum's address.
    offset: u64,
    scalar: Scalar,
    /// Bytes to its accumulators.
    at: usize,
    add: Rmw,
}

/// Where an array's descriptor lies in the packed arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Array {
    byte: usize,
    rank: usize,
    /// Bytes of an element.
    size: i64,
}

#[repr(C, align(64))]
struct Accumulators(MaybeUninit<[u8; MAX_BYTES]>);

impl Sites {
    /// Of a kernel whose calls are inlined. None where there are none.
    pub fn of(func: &Function) -> Option<Sites> {
        let found = LaunchSums::of(func);
        let (mut arrays, mut others, mut at) = (Vec::new(), Vec::new(), 0);
        for (index, param) in func.params.iter().enumerate() {
            let group = if found.params.contains(&index) { &mut arrays } else { &mut others };
            arrays_of(param.ty, at, group);
            at = (at + param.ty.size() as usize).next_multiple_of(8);
        }
        let n_summed = arrays.len();
        arrays.append(&mut others);
        let leaves = found.sums.iter().map(|sum| sum.leaves.clone()).collect();
        let sums = Sums::new(leaves, arrays, n_summed, found.has_loops)?;
        Some(Sites { found, sums })
    }

    /// Where an atomic operation of the kernel, or of another form of it, has its accumulators: bytes from the start of a
    /// chunk's memory to its sum's address, and to those of each of its scalars.
    pub fn offsets(&self, func: &Function, inst: &Inst) -> Option<(u64, Vec<u64>)> {
        let sum = self.found.sum_of(func, inst)?;
        let parts = self.sums.parts.iter().filter(|part| part.sum == sum);
        let parts: Vec<u64> = parts.map(|part| part.at as u64).collect();
        (!parts.is_empty()).then_some((8 * sum as u64, parts))
    }
}

impl PartialEq for Sums {
    fn eq(&self, other: &Sums) -> bool {
        self.words() == other.words()
    }
}

impl Eq for Sums {}

impl Sums {
    /// As [`Sites::of`], for a launch.
    pub fn of(func: &Function) -> Option<Sums> {
        Sites::of(func).map(|sites| sites.sums)
    }

    fn new(leaves: Vec<Vec<(u64, Scalar)>>, arrays: Vec<Array>, n_summed: usize, has_loops: bool) -> Option<Sums> {
        let (mut parts, mut n_bytes) = (Vec::new(), (8 * leaves.len()).next_multiple_of(64));
        for (sum, leaves) in leaves.iter().enumerate() {
            let bytes: usize = leaves.iter().map(|(_, scalar)| LANES * scalar.size() as usize).sum();
            if n_bytes + bytes > MAX_BYTES {
                continue;
            }
            for &(offset, scalar) in leaves {
                let add = rmw("add", scalar.name())?;
                parts.push(Part { sum, offset, scalar, at: n_bytes, add });
                n_bytes += LANES * scalar.size() as usize;
            }
        }
        let is_any = !parts.is_empty() && n_summed <= arrays.len();
        is_any.then_some(Sums { leaves, parts, arrays, n_summed, has_loops })
    }

    /// All of it as numbers, to be kept beside the code.
    pub fn words(&self) -> Vec<u64> {
        let Sums { leaves, arrays, n_summed, has_loops, .. } = self;
        let mut words = vec![u64::from(*has_loops), *n_summed as u64, arrays.len() as u64];
        words.extend(arrays.iter().flat_map(|array| [array.byte as u64, array.rank as u64, array.size as u64]));
        for leaves in leaves {
            words.push(leaves.len() as u64);
            words.extend(leaves.iter().flat_map(|&(offset, scalar)| [offset, u64::from(scalar == Scalar::F64)]));
        }
        words
    }

    /// What [`Sums::words`] were made of.
    pub fn of_words(words: &[u64]) -> Option<Sums> {
        let (&[has_loops, n_summed, n_arrays], mut rest) = words.split_first_chunk()?;
        let mut arrays = Vec::new();
        for _ in 0..n_arrays {
            let (&[byte, rank, size], others) = rest.split_first_chunk()?;
            arrays.push(Array { byte: byte as usize, rank: rank as usize, size: size as i64 });
            rest = others;
        }
        let mut leaves = Vec::new();
        while let Some((&n, others)) = rest.split_first() {
            let (pairs, others) = others.split_at_checked(usize::try_from(n).ok()?.checked_mul(2)?)?;
            let scalar = |is_double| if is_double == 0 { Scalar::F32 } else { Scalar::F64 };
            leaves.push(pairs.chunks_exact(2).map(|pair| (pair[0], scalar(pair[1]))).collect());
            rest = others;
        }
        Sums::new(leaves, arrays, usize::try_from(n_summed).ok()?, has_loops != 0)
    }

    /// Threads in each chunk of a launch of `n`; the last one may be smaller.
    pub fn chunk(&self, n: i64) -> i64 {
        let ceil = |parts: i64| n / parts + i64::from(n % parts != 0);
        // A thread that loops may be worth a core of its own.
        let least = if self.has_loops { 32.min(ceil(16)) } else { ceil(16).clamp(64, 256) };
        let chunk = ceil(256).max(least).clamp(1, MAX_CHUNK);
        let unit = if chunk >= 64 { 64 } else { LANES as i64 };
        if chunk > 8 { (chunk + unit - 1) & !(unit - 1) } else { chunk }
    }

    /// Whether no other array of a launch shares memory with those that have sums: only then may a launch have
    /// accumulators.
    ///
    /// # Safety
    /// `args` are the kernel's packed arguments.
    pub unsafe fn are_apart(&self, args: *const u8) -> bool {
        // SAFETY: the caller's promise; `new` computed where the descriptors are as the arguments are packed.
        let span = |array: &Array| unsafe { array.span(args) };
        let (summed, others) = self.arrays.split_at(self.n_summed);
        summed.iter().map(span).all(|(start, end)| {
            others.iter().map(span).all(|(other_start, other_end)| end <= other_start || other_end <= start)
        })
    }

    /// Words that are kept of each chunk.
    pub fn n_words(&self) -> usize {
        self.leaves.len() + self.parts.len()
    }

    /// Runs a chunk with accumulators of its own, and keeps what they add up to.
    ///
    /// # Safety
    /// `kept` has room for [`Sums::n_words`]; `run` does with the memory that it is given what the module says.
    pub unsafe fn run_chunk(&self, kept: *mut u64, run: impl FnOnce(*mut u8)) {
        let mut memory = Accumulators(MaybeUninit::uninit());
        let start = memory.0.as_mut_ptr().cast::<u8>();
        // SAFETY: `new` keeps all offsets within the memory, and accumulators start at multiples of 64. `kept` has room by the caller's promise.
        unsafe {
            start.write_bytes(0, 8 * self.leaves.len());
            for part in &self.parts {
                let at = start.add(part.at);
                match part.scalar {
                    Scalar::F64 => at.cast::<[f64; LANES]>().write([-0.0; LANES]),
                    _ => at.cast::<[f32; LANES]>().write([-0.0; LANES]),
                }
            }
            run(start);
            kept.copy_from_nonoverlapping(start.cast(), self.leaves.len());
            for (index, part) in self.parts.iter().enumerate() {
                let at = start.add(part.at);
                kept.add(self.leaves.len() + index).write(match part.scalar {
                    Scalar::F64 => halved(at.cast::<[f64; LANES]>().read(), |x, y| x + y).to_bits(),
                    _ => halved(at.cast::<[f32; LANES]>().read(), |x, y| x + y).to_bits().into(),
                });
            }
        }
    }

    /// Adds what was kept of some chunks to memory, in their order.
    ///
    /// # Safety
    /// The chunks' addresses are those of live scalars, which nobody accesses meanwhile but atomically.
    pub unsafe fn add_up(&self, kept: &[u64]) {
        for words in kept.chunks_exact(self.n_words()) {
            let (addresses, values) = words.split_at(self.leaves.len());
            for (part, &value) in self.parts.iter().zip(values) {
                let address = addresses[part.sum];
                if address != 0 {
                    // SAFETY: the caller's promise.
                    unsafe { (part.add)((address + part.offset) as *mut u8, value) };
                }
            }
        }
    }
}

impl Array {
    /// The addresses that it covers, the end excluded; nothing where it is empty.
    ///
    /// # Safety
    /// As for [`Sums::are_apart`].
    unsafe fn span(&self, args: *const u8) -> (i64, i64) {
        // SAFETY: a descriptor is an address, then extents, then strides.
        let word = |index: usize| unsafe { args.add(self.byte + 8 * index).cast::<i64>().read() };
        let (mut start, mut end) = (word(0), word(0).wrapping_add(self.size));
        for dim in 0..self.rank {
            let (extent, stride) = (word(1 + dim), word(1 + self.rank + dim));
            if extent <= 0 {
                return (0, 0);
            }
            let reach = (extent - 1).wrapping_mul(stride);
            (start, end) = (start.wrapping_add(reach.min(0)), end.wrapping_add(reach.max(0)));
        }
        (start, end)
    }
}

fn arrays_of(ty: Type, byte: usize, found: &mut Vec<Array>) {
    if let TypeKind::Array { elem, rank } = ty.kind() {
        found.push(Array { byte, rank: *rank as usize, size: elem.size() as i64 });
        return;
    }
    for index in 0..ty.n_components() {
        if let Some(part) = ty.component(index).filter(|part| part.element().is_none()) {
            arrays_of(part, byte + ty.offset(index) as usize, found);
        }
    }
}

/// Adds up by halves, the second to the first.
fn halved<T: Copy>(mut lanes: [T; LANES], add: impl Fn(T, T) -> T) -> T {
    let mut n = LANES / 2;
    while n > 0 {
        for lane in 0..n {
            lanes[lane] = add(lanes[lane], lanes[lane + n]);
        }
        n /= 2;
    }
    lanes[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(has_loops: bool) -> Function {
        let add = "v6: f32 = atomic add v2[v4], v5";
        let body =
            if has_loops { format!("for v7: i64 = v4 to v3 step v3 {{\n {add}\n continue\n }}") } else { add.into() };
        let text = format!(
            "kernel @k(v0: array<f32, 1>, v1: i32, v2: array<f32, 1>) {{\n v3: i64 = tid 0\n v4: i64 = const 0\n \
             v5: f32 = load v0[v3]\n {body}\n return\n}}\n"
        );
        ir::parse::parse_module(&text).unwrap_or_else(|errors| panic!("{errors:?}")).funcs.remove(0)
    }

    fn sites(has_loops: bool) -> Sites {
        Sites::of(&kernel(has_loops)).unwrap_or_else(|| panic!("no sums"))
    }

    fn sums(has_loops: bool) -> Sums {
        sites(has_loops).sums
    }

    #[test]
    fn chunks_depend_on_the_number_of_threads_alone() {
        let chunks = |has_loops| [1, 8, 100, 1000, 10_000, 1 << 20, 1 << 30].map(|n| sums(has_loops).chunk(n));
        assert_eq!(chunks(true), [1, 1, 7, 32, 48, 4096, 16384]);
        assert_eq!(chunks(false), [64, 64, 64, 64, 256, 4096, 16384]);
        assert!(sums(true).chunk(i64::MAX) > 0);
    }

    #[test]
    fn what_is_kept_beside_the_code_comes_back() {
        let words = sums(true).words();
        assert_eq!(Sums::of_words(&words), Some(sums(true)));
        assert_eq!(Sums::of_words(&words[..words.len() - 1]), None);
    }

    #[test]
    fn a_chunk_that_reaches_no_sum_leaves_memory_alone() {
        let (sums, mut total) = (sums(false), -0.0f32);
        let mut kept = vec![0u64; 2 * sums.n_words()];
        let address = (&raw mut total) as u64;
        let func = kernel(false);
        let (at, lanes) = func.insts.iter().find_map(|inst| sites(false).offsets(&func, inst)).unwrap_or_default();
        // SAFETY: the offsets are the sums' own, and the address is that of a live float.
        unsafe {
            sums.run_chunk(kept.as_mut_ptr(), |_| ());
            sums.add_up(&kept);
            assert_eq!(total.to_bits(), (-0.0f32).to_bits());
            sums.run_chunk(kept.as_mut_ptr().add(sums.n_words()), |memory| {
                memory.add(at as usize).cast::<u64>().write(address);
                (0..LANES).for_each(|lane| memory.add(lanes[0] as usize).cast::<f32>().add(lane).write(lane as f32));
            });
            sums.add_up(&kept);
        }
        assert_eq!(total, 120.0);
    }

    #[test]
    fn arrays_that_share_memory_are_noticed() {
        let apart = |words: [i64; 7]| {
            // SAFETY: the words are two descriptors with a number between.
            unsafe { sums(false).are_apart(words.as_ptr().cast()) }
        };
        assert!(apart([4096, 10, 4, 0, 8192, 1, 4]));
        assert!(!apart([4096, 10, 4, 0, 4100, 1, 4]));
        assert!(apart([4096, 10, 4, 0, 4136, 1, 4]));
        assert!(!apart([4136, 10, -4, 0, 4100, 1, 4]));
        assert!(apart([4096, 0, 4, 0, 4096, 1, 4]));
    }
}
