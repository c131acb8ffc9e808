//! Memory for what a gradient keeps of loops whose length only the launch shows.
//!
//! In: an adjoint kernel with tapes that its threads share. Out: it has run. A kernel that only counts runs first, over
//! copies of what it writes to, and says how much each thread will keep; then the launch runs in pieces of as many
//! threads as fit the budget. On the CPU a piece is a range of threads; elsewhere all threads are launched, and those of
//! other pieces are told to leave by a part that begins below zero.

use crate::cuda::{self, Queue};
use crate::launch::{Device, Job, Prepared};
use crate::pack::{Signature, Words};
use crate::plan::{CpuKey, UnitKey};
use crate::tape::watch;
use ir::Type;
use pipeline::{Part, Unit};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use runtime_cuda::{Allocation, MemoryKind, RawStream};
use std::ops::Range;
use std::sync::Arc;
use tape::Saved;

/// Bytes that tapes take at a time, unless one thread needs more: of the host's memory, and of a device's.
const BUDGET: u64 = 256 << 20;
const DEVICE_BUDGET: u64 = 4 << 30;
/// Where a thread's part begins that has none.
const NOWHERE: u64 = -1i64 as u64;

/// Runs the adjoint kernel of `job`. `signature` gives those of its parts with further parameters.
pub(crate) fn run(
    job: &Prepared<'_, '_>,
    unit: &Unit,
    key: UnitKey,
    signature: &dyn Fn(Part, &[Type]) -> Arc<Signature>,
) -> PyResult<()> {
    let stream = match job.device {
        Device::Cuda(ordinal) => Some(Queue::current(cuda::device(ordinal)?).stream),
        _ => None,
    };
    let numbers = Type::array(Type::i64(), 1);
    let (n_threads, n_tapes) = (job.grid.n_threads as usize, unit.tapes.len());
    let starts = Memory::zeroed(stream, n_threads, n_tapes as u64)?;
    let measure = signature(Part::Measure, &[numbers]);
    let mut words = further(job.words, &[(&starts, 8)]);
    let measuring = measure.variants.unit(job.kernel, &measure.types, key)?;
    let written = &measuring.summary().written;
    let copies = take_apart(&measure, &mut words, &written[..written.len() - 1])?;
    Prepared { signature: &measure, words: &words, ..*job }.run()?;
    drop(copies);
    let mut counts = starts.read(job.kernel.py())?;

    let sizes: Vec<u64> = unit.tapes.iter().map(|ty| ty.size()).collect();
    let usual = if stream.is_some() { DEVICE_BUDGET } else { BUDGET };
    let pieces = pieces(&counts, &sizes, budget(job.options)?.unwrap_or(usual));
    let mut capacities = vec![0; n_tapes];
    for piece in &pieces {
        let totals = begins(&mut counts[piece.start * n_tapes..piece.end * n_tapes], n_tapes);
        capacities.iter_mut().zip(totals).for_each(|(capacity, total)| *capacity = total.max(*capacity));
    }
    let tapes = capacities.iter().zip(&sizes);
    let tapes: Vec<(Memory, u64)> = tapes
        .map(|(&n, &size)| Ok((Memory::zeroed(stream, (n as usize).max(1), size.div_ceil(8))?, size)))
        .collect::<PyResult<_>>()?;
    let mut types = vec![numbers];
    types.extend(unit.tapes.iter().map(|&ty| Type::array(ty, 1)));
    let memory: Vec<(&Memory, u64)> =
        std::iter::once((&starts, 8)).chain(tapes.iter().map(|(tape, size)| (tape, *size))).collect();
    let words = further(job.words, &memory);
    let signature = signature(Part::Adjoint, &types);
    let job = Prepared { signature: &signature, words: &words, ..*job };
    if pieces.len() == 1 {
        starts.write(&counts)?;
        return job.run().map(drop);
    }
    if job.device == Device::Cpu {
        starts.write(&counts)?;
        let cpu = CpuKey::usual(signature.is_contiguous(&words));
        let ready = signature.variants.code(job.kernel, &signature.types, key, cpu, job.options)?;
        let run = Job { kernel: job.kernel.get(), signature: &signature, words: &words, grid: &job.grid };
        let part = |piece: Range<usize>| run.run_part(job.kernel.py(), &ready, piece.start as i64..piece.end as i64);
        return pieces.into_iter().try_for_each(part);
    }
    let mut own = vec![NOWHERE; counts.len()];
    for piece in pieces {
        let range = piece.start * n_tapes..piece.end * n_tapes;
        own[range.clone()].copy_from_slice(&counts[range.clone()]);
        starts.write(&own)?;
        job.run()?;
        own[range].fill(NOWHERE);
    }
    Ok(())
}

/// Puts copies in the place of arrays that a kernel writes to: of what it leaves there no one may see anything. No other
/// argument shares their memory.
fn take_apart(signature: &Signature, words: &mut Words, written: &[bool]) -> PyResult<Vec<Saved>> {
    let mut copies = Vec::new();
    for place in signature.places().iter().filter(|place| written.get(place.param) == Some(&true)) {
        let Some(span) = place.span(words) else { continue };
        // SAFETY: the arguments are alive.
        let copy = unsafe { Saved::new(watch::memory_of(span), span) }.map_err(watch::out_of_memory)?;
        words[place.word] = copy.moved(words[place.word]);
        copies.push(copy);
    }
    Ok(copies)
}

fn budget(options: Option<&Bound<'_, PyDict>>) -> PyResult<Option<u64>> {
    let given = options.map(|options| options.get_item("gradient_memory")).transpose()?.flatten();
    given.map(|bytes| bytes.extract()).transpose()
}

/// Ranges of threads whose tapes fit the budget, from how much each thread needs.
fn pieces(counts: &[u64], sizes: &[u64], budget: u64) -> Vec<Range<usize>> {
    let (mut pieces, mut begin, mut held) = (Vec::new(), 0, 0);
    let threads = counts.chunks(sizes.len());
    let n = threads.len();
    for (thread, counts) in threads.enumerate() {
        let bytes: u64 = counts.iter().zip(sizes).map(|(count, size)| count * size).sum();
        if thread > begin && held + bytes > budget {
            pieces.push(begin..thread);
            (begin, held) = (thread, 0);
        }
        held += bytes;
    }
    pieces.push(begin..n);
    pieces
}

/// Turns the length of each thread's part into its begin; gives the lengths of the tapes.
fn begins(counts: &mut [u64], n_tapes: usize) -> Vec<u64> {
    let mut totals = vec![0; n_tapes];
    for thread in counts.chunks_mut(n_tapes) {
        for (count, total) in thread.iter_mut().zip(&mut totals) {
            let begin = *total;
            *total += *count;
            *count = begin;
        }
    }
    totals
}

/// Arguments with arrays of one dimension behind them: memory, and the size of an element.
fn further(words: &[u64], arrays: &[(&Memory, u64)]) -> Words {
    let mut all = Words::from_slice(words);
    for (memory, size) in arrays {
        all.extend([memory.address(), memory.n_words() as u64 * 8 / size, *size]);
    }
    all
}

/// Words where the kernel runs.
enum Memory {
    /// Written to by kernels while the host looks away: only ever reached by its address.
    Host(std::cell::UnsafeCell<Vec<u64>>),
    Device(Allocation, RawStream),
}

impl Memory {
    /// Memory of `n` times `n_words` words, of a device where there is a stream. Fails as Python does where there is none.
    fn zeroed(stream: Option<RawStream>, n: usize, n_words: u64) -> PyResult<Memory> {
        let none = || PyMemoryError::new_err("no memory for what a gradient keeps of a loop");
        let n = n.checked_mul(n_words as usize).filter(|&n| n <= isize::MAX as usize / 8).ok_or_else(none)?;
        let Some(stream) = stream else {
            let mut memory = Vec::new();
            memory.try_reserve_exact(n).map_err(|_| none())?;
            memory.resize(n, 0);
            return Ok(Memory::Host(memory.into()));
        };
        let memory = stream.device().allocate(MemoryKind::Device, (n * 8).max(1)).map_err(cuda::raised)?;
        // SAFETY: the memory has that many bytes.
        unsafe { stream.fill(memory.ptr(), 0, n * 8) }.map_err(cuda::raised)?;
        Ok(Memory::Device(memory, stream))
    }

    fn address(&self) -> u64 {
        match self {
            // SAFETY: no reference to the words lives.
            Memory::Host(words) => unsafe { (*words.get()).as_mut_ptr() as u64 },
            Memory::Device(memory, _) => memory.ptr(),
        }
    }

    fn n_words(&self) -> usize {
        match self {
            // SAFETY: as above.
            Memory::Host(words) => unsafe { (*words.get()).len() },
            Memory::Device(memory, _) => memory.n_bytes() / 8,
        }
    }

    /// What kernels have left there.
    fn read(&self, py: Python<'_>) -> PyResult<Vec<u64>> {
        match self {
            // SAFETY: as above; no kernel runs.
            Memory::Host(words) => Ok(unsafe { (*words.get()).clone() }),
            Memory::Device(memory, stream) => {
                let mut words = vec![0u64; memory.n_bytes() / 8];
                let (to, from, n_bytes) = (words.as_mut_ptr() as usize, memory.ptr(), memory.n_bytes());
                // SAFETY: as many bytes on both sides; they are there when the stream has been waited for.
                py.detach(|| unsafe {
                    stream.download(to as *mut u8, from, n_bytes).and_then(|()| stream.synchronize())
                })
                .map_err(cuda::raised)?;
                Ok(words)
            }
        }
    }

    /// Puts words there, for kernels that run from now on.
    fn write(&self, new: &[u64]) -> PyResult<()> {
        match self {
            // SAFETY: as in `read`.
            Memory::Host(words) => unsafe { (*words.get()).copy_from_slice(new) },
            Memory::Device(memory, stream) => {
                // SAFETY: as many bytes on both sides; the driver has copied pageable memory before it returns.
                unsafe { stream.upload(memory.ptr(), new.as_ptr().cast(), new.len() * 8) }.map_err(cuda::raised)?;
            }
        }
        Ok(())
    }
}
