//! Runs steps.

use crate::block::Seat;
use crate::code::{
    Access, ArrayFromAddress, AtomicAccess, CallStep, Check, Code, DynamicComponent, ForEnter, LocalArray, MatMul, Step,
};
use crate::code::{SyncKind, ThreadSlots};
use crate::shadow::Touch;
use crate::{MAX_CALL_DEPTH, UNCHECKED, memory};
use runtime::FaultRecord;
use runtime::abi::MAX_RANK;

/// Why a thread ends early, or for the time being.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    Fault(Box<FaultRecord>),
    TooDeep,
    /// It waits for other threads of its block.
    Wait,
}

/// A function in the middle of which a thread waits.
pub(crate) struct Paused {
    pub(crate) callee: u32,
    pub(crate) frame: Vec<u64>,
    pub(crate) pc: usize,
}

/// One thread of a launch, or one call.
pub(crate) struct Thread<'p> {
    codes: &'p [Code],
    pub(crate) tid: [i64; MAX_RANK],
    pub(crate) extents: [i64; MAX_RANK],
    depth: usize,
    /// Memory of local arrays; it lives until the thread ends.
    locals: Vec<Box<[u64]>>,
    /// Where the thread is, in a launch over thread blocks.
    pub(crate) seat: Option<Seat<'p>>,
    /// Where its chunk adds up what all threads of the launch do.
    pub(crate) accumulators: Option<memory::Accumulators>,
    /// Whether accesses are looked at before they happen.
    pub(crate) is_checked: bool,
    /// Where the kernel's own function waits or has ended: the step after.
    pub(crate) pc: usize,
    /// The functions that it has called when it waits, innermost first.
    pub(crate) paused: Vec<Paused>,
}

impl<'p> Thread<'p> {
    pub(crate) fn new(codes: &'p [Code], extents: [i64; MAX_RANK]) -> Thread<'p> {
        let (tid, locals, paused) = ([0; MAX_RANK], Vec::new(), Vec::new());
        let (seat, accumulators) = (None, None);
        Thread { codes, tid, extents, depth: 0, locals, seat, accumulators, is_checked: false, pc: 0, paused }
    }

    /// Ends the thread; the next one may use the same frame.
    pub(crate) fn end(&mut self, code: &Code, frame: &mut [u64]) {
        for &slot in &code.local_arrays {
            frame[slot as usize] = 0;
        }
        self.locals.clear();
        self.depth = 0;
        self.pc = 0;
    }

    pub(crate) fn fault(&self, site: u32, values: Vec<i64>) -> Stop {
        Stop::Fault(Box::new(FaultRecord { site, thread: self.tid, values }))
    }

    /// Whether an address lies in a local array.
    pub(crate) fn is_local(&self, address: u64) -> bool {
        self.locals.iter().any(|words| {
            let start = words.as_ptr() as u64;
            (start..start + 8 * words.len() as u64).contains(&address)
        })
    }

    /// Runs `code` from step `pc` on until it returns, or waits.
    ///
    /// # Safety
    /// Descriptors of arrays in the frame, and of those that memory holds, are true (`memory`).
    pub(crate) unsafe fn run(&mut self, code: &Code, frame: &mut [u64]) -> Result<(), Stop> {
        let frame = &mut frame[..code.template.len()];
        let mut pc = self.pc;
        loop {
            let step = &code.steps[pc];
            pc += 1;
            match step {
                Step::Unary { function, dst, a } => frame[*dst as usize] = function(frame[*a as usize]),
                Step::Binary { function, dst, a, b } => {
                    frame[*dst as usize] = function(frame[*a as usize], frame[*b as usize]);
                }
                Step::Ternary { function, dst, a, b, c } => {
                    frame[*dst as usize] = function(frame[*a as usize], frame[*b as usize], frame[*c as usize]);
                }
                Step::Move1 { dst, src } => frame[*dst as usize] = frame[*src as usize],
                Step::Select1 { dst, condition, a, b } => {
                    let src = if frame[*condition as usize] != 0 { a } else { b };
                    frame[*dst as usize] = frame[*src as usize];
                }
                Step::Jump { target } => pc = *target as usize,
                Step::JumpUnless { condition, target } => {
                    if frame[*condition as usize] == 0 {
                        pc = *target as usize;
                    }
                }
                Step::ForEnter(enter) => {
                    if !enter_for(enter, frame) {
                        pc = enter.exit as usize;
                    }
                }
                Step::ForNext { counter, step, remaining, bits, body } => {
                    let left = frame[*remaining as usize] - 1;
                    frame[*remaining as usize] = left;
                    if left > 0 {
                        let next = frame[*counter as usize].wrapping_add(frame[*step as usize]);
                        frame[*counter as usize] = next & mask(*bits);
                        pc = *body as usize;
                    }
                }
                // SAFETY: the caller's promise.
                Step::Load(access) => unsafe { self.load(access, frame)? },
                // SAFETY: the caller's promise.
                Step::Store(access) => unsafe { self.store(access, frame)? },
                // SAFETY: the caller's promise.
                Step::Atomic(access) => unsafe { self.atomic(access, frame)? },
                Step::WrapIndex { dst, index, extent } => {
                    let (index, extent) = (frame[*index as usize], frame[*extent as usize]);
                    frame[*dst as usize] = if (index as i64) < 0 { index.wrapping_add(extent) } else { index };
                }
                Step::Tid { dst, dim } => frame[*dst as usize] = self.tid[*dim as usize] as u64,
                Step::LaunchExtent { dst, dim } => frame[*dst as usize] = self.extents[*dim as usize] as u64,
                Step::Check { check, site } => {
                    if let Some(values) = failure(check, frame) {
                        return Err(self.fault(*site, values));
                    }
                }
                Step::Return => {
                    self.pc = pc;
                    return Ok(());
                }
                Step::Sync(sync) if sync.kind == SyncKind::Fence => self.fence(),
                Step::Sync(_) => {
                    self.pc = pc;
                    return Err(Stop::Wait);
                }
                Step::ThreadsEnter => self.begin_threads(),
                Step::ThreadsNext { body } => {
                    if self.sit_next() {
                        pc = *body as usize;
                    }
                }
                Step::Call(call) => {
                    // SAFETY: the caller's promise holds for what it passes on.
                    let called = unsafe { self.call(call, frame) };
                    if called == Err(Stop::Wait) {
                        // The call goes on where it waits when this step runs again.
                        self.pc = pc - 1;
                    }
                    called?;
                }
                Step::Unreachable => return Err(self.fault(UNCHECKED, Vec::new())),
                // SAFETY: the caller's promise.
                step => unsafe { self.rare(step, frame)? },
            }
        }
    }

    /// # Safety
    /// As for [`Thread::run`].
    #[inline]
    unsafe fn load(&self, access: &Access, frame: &mut [u64]) -> Result<(), Stop> {
        if self.is_checked {
            self.watch(&access.place, Touch::Load(access), frame)?;
        }
        // SAFETY: the caller's promise.
        let done = unsafe { memory::load(access, frame) };
        done.ok_or_else(|| self.fault(UNCHECKED, access.place.values(frame)))
    }

    /// # Safety
    /// As for [`Thread::run`].
    #[inline]
    unsafe fn store(&self, access: &Access, frame: &[u64]) -> Result<(), Stop> {
        if self.is_checked {
            self.watch(&access.place, Touch::Store(access), frame)?;
        }
        // SAFETY: the caller's promise.
        let done = unsafe { memory::store(access, frame) };
        done.ok_or_else(|| self.fault(UNCHECKED, access.place.values(frame)))
    }

    /// # Safety
    /// As for [`Thread::run`].
    #[inline]
    unsafe fn atomic(&self, access: &AtomicAccess, frame: &mut [u64]) -> Result<(), Stop> {
        if self.is_checked {
            self.watch(&access.place, Touch::Atomic(access), frame)?;
        }
        // SAFETY: the caller's promise.
        let done = unsafe { memory::atomic(access, frame, self.accumulators.as_ref()) };
        done.ok_or_else(|| self.fault(UNCHECKED, access.place.values(frame)))
    }

    /// Steps that no inner loop is made of, or that do much each. The match is exhaustive over what is left.
    ///
    /// # Safety
    /// As for [`Thread::run`].
    #[inline(never)]
    unsafe fn rare(&mut self, step: &Step, frame: &mut [u64]) -> Result<(), Stop> {
        match step {
            Step::UnaryN { function, dst, a, n } => {
                for i in 0..*n {
                    frame[(dst + i) as usize] = function(frame[(a + i) as usize]);
                }
            }
            Step::BinaryN { function, dst, a, b, n } => {
                for i in 0..*n {
                    frame[(dst + i) as usize] = function(frame[(a + i) as usize], frame[(b + i) as usize]);
                }
            }
            Step::TernaryN(t) => {
                for i in 0..t.n {
                    let [a, b, c] = [t.a, t.b, t.c].map(|slot| frame[(slot + i) as usize]);
                    frame[(t.dst + i) as usize] = (t.function)(a, b, c);
                }
            }
            Step::Mask(m) => {
                let bit = |i: u32| (m.function)(frame[(m.a + i) as usize], frame[(m.b + i) as usize]) << i;
                frame[m.dst as usize] = (0..m.n).fold(0, |mask, i| mask | bit(i));
            }
            Step::MaskSelect(m) => {
                for i in 0..m.n {
                    let from = if frame[m.mask as usize] >> i & 1 == 1 { m.a } else { m.b };
                    frame[(m.dst + i) as usize] = frame[(from + i) as usize];
                }
            }
            Step::Move(m) => frame.copy_within(m.src as usize..(m.src + m.n) as usize, m.dst as usize),
            Step::Select { dst, condition, a, b, n } => {
                let src = if frame[*condition as usize] != 0 { *a } else { *b };
                frame.copy_within(src as usize..(src + n) as usize, *dst as usize);
            }
            Step::Fill { dst, src, n } => {
                let word = frame[*src as usize];
                frame[*dst as usize..(dst + n) as usize].fill(word);
            }
            Step::ExtractDyn(step) => {
                let place = dynamic_component(step, frame).map_or(0, |at| frame[step.src as usize + at]);
                frame[step.dst as usize] = place;
            }
            Step::InsertDyn(step) => {
                let component = step.component.map_or(0, |slot| frame[slot as usize]);
                let at = dynamic_component(step, frame);
                frame.copy_within(step.src as usize..(step.src + step.n) as usize, step.dst as usize);
                if let Some(at) = at {
                    frame[step.dst as usize + at] = component;
                }
            }
            Step::MatMul(step) => matmul(step, frame),
            Step::Transpose { dst, src, rows, cols } => {
                for row in 0..*rows {
                    for col in 0..*cols {
                        frame[(dst + col * rows + row) as usize] = frame[(src + row * cols + col) as usize];
                    }
                }
            }
            Step::IsNull { dst, array } => frame[*dst as usize] = u64::from(frame[*array as usize] == 0),
            Step::View(view) => memory::view(view, frame),
            Step::LocalArray(local) => self.local_array(local, frame)?,
            Step::ArrayFromAddress(step) => array_from_address(step, frame),
            Step::Print(print) => {
                let args: Vec<u64> = print.args.iter().map(|(slot, widen)| widen(frame[*slot as usize])).collect();
                runtime::format::print(&print.format, &args);
            }
            Step::Position { dst, position } => frame[*dst as usize] = self.position(*position) as u64,
            Step::SharedArray { pointer, offset } => frame[*pointer as usize] = self.shared() + offset,
            Step::DynamicShared { dst, offset, elem_size } => {
                let (address, extent) = self.dynamic_shared(frame[*offset as usize] as i64, *elem_size);
                frame[*dst as usize..][..3].copy_from_slice(&[address, extent, *elem_size]);
            }
            Step::ThreadSlots(slots) => self.thread_slots(slots, frame)?,
            Step::Unary { .. }
            | Step::Binary { .. }
            | Step::Ternary { .. }
            | Step::Move1 { .. }
            | Step::Select1 { .. }
            | Step::Load(_)
            | Step::Store(_)
            | Step::Atomic(_)
            | Step::WrapIndex { .. }
            | Step::Tid { .. }
            | Step::LaunchExtent { .. }
            | Step::Check { .. }
            | Step::Jump { .. }
            | Step::JumpUnless { .. }
            | Step::ForEnter(_)
            | Step::ForNext { .. }
            | Step::Call(_)
            | Step::Sync(_)
            | Step::ThreadsEnter
            | Step::ThreadsNext { .. }
            | Step::Return
            | Step::Unreachable => unreachable!("run handles {step:?}"),
        }
        Ok(())
    }

    /// # Safety
    /// As for [`Thread::run`].
    unsafe fn call(&mut self, call: &CallStep, frame: &mut [u64]) -> Result<(), Stop> {
        if self.depth >= MAX_CALL_DEPTH {
            return Err(Stop::TooDeep);
        }
        let codes = self.codes;
        let callee = &codes[call.callee as usize];
        let mut inner = match self.paused.pop() {
            Some(paused) => {
                self.pc = paused.pc;
                paused.frame
            }
            None => {
                self.pc = 0;
                let mut inner = callee.template.clone();
                for m in &call.args {
                    let (dst, src, n) = (m.dst as usize, m.src as usize, m.n as usize);
                    inner[dst..dst + n].copy_from_slice(&frame[src..src + n]);
                }
                inner
            }
        };
        self.depth += 1;
        // SAFETY: the caller's promise.
        let ran = unsafe { self.run(callee, &mut inner) };
        self.depth -= 1;
        match ran {
            Ok(()) => {}
            Err(Stop::Wait) => {
                self.paused.push(Paused { callee: call.callee, frame: inner, pc: self.pc });
                return Err(Stop::Wait);
            }
            Err(stop) => return Err(stop),
        }
        for m in &call.results {
            let (dst, src, n) = (m.dst as usize, m.src as usize, m.n as usize);
            frame[dst..dst + n].copy_from_slice(&inner[src..src + n]);
        }
        Ok(())
    }

    /// Memory for each thread of the block, the same each time the op runs.
    fn thread_slots(&mut self, slots: &ThreadSlots, frame: &mut [u64]) -> Result<(), Stop> {
        // Space of two warps besides, as the op says.
        let n_threads = self.n_threads() + 64;
        let mut stride = slots.elem_size;
        let (at, rank) = (slots.pointer as usize, slots.extents.len() + 1);
        for dim in (0..rank).rev() {
            let extent = slots.extents.get(dim).copied().unwrap_or(n_threads);
            frame[at + 1 + dim] = extent;
            frame[at + 1 + rank + dim] = stride;
            stride = stride.saturating_mul(extent);
        }
        let n_words = usize::try_from(stride.div_ceil(8)).ok();
        self.local_array(&LocalArray { pointer: slots.pointer, n_words }, frame)
    }

    /// Zeroed memory, the same each time the op runs in one frame.
    fn local_array(&mut self, local: &LocalArray, frame: &mut [u64]) -> Result<(), Stop> {
        let n_words = local.n_words.unwrap_or(usize::MAX).max(1);
        let pointer = &mut frame[local.pointer as usize];
        if *pointer != 0 {
            // SAFETY: this op put the address there: `n_words` words that `locals` owns until the thread ends.
            unsafe { (*pointer as *mut u64).write_bytes(0, n_words) };
            return Ok(());
        }
        let mut words = Vec::new();
        if words.try_reserve_exact(n_words).is_err() {
            return Err(self.fault(UNCHECKED, Vec::new()));
        }
        words.resize(n_words, 0u64);
        let mut memory = words.into_boxed_slice();
        *pointer = memory.as_mut_ptr() as u64;
        self.locals.push(memory);
        Ok(())
    }
}

fn mask(bits: u32) -> u64 {
    u64::MAX >> (64 - bits)
}

/// Counts the rounds once, so that the counter never passes the end of its type. Gives whether there are any.
fn enter_for(enter: &ForEnter, frame: &mut [u64]) -> bool {
    let number = |slot: u32| {
        let (word, unused) = (frame[slot as usize], 64 - enter.bits);
        if enter.is_signed { i128::from((word << unused) as i64 >> unused) } else { i128::from(word) }
    };
    let (lo, hi, step) = (number(enter.lo), number(enter.hi), number(enter.step));
    let distance = if step > 0 { hi - lo } else { lo - hi };
    let rounds = if step != 0 && distance > 0 { (distance - 1) / step.abs() + 1 } else { 0 };
    frame[enter.counter as usize] = frame[enter.lo as usize];
    // At most 2^64 - 1: the distance of two values of a 64-bit type.
    frame[enter.remaining as usize] = rounds as u64;
    rounds > 0
}

/// The values to report where the check fails.
fn failure(check: &Check, frame: &[u64]) -> Option<Vec<i64>> {
    match check {
        Check::Bounds { array, rank, indices } => {
            let extents = &frame[*array as usize + 1..(array + 1 + rank) as usize];
            let in_range = |(&slot, &extent): (&u32, &u64)| (0..extent as i64).contains(&(frame[slot as usize] as i64));
            let is_good = frame[*array as usize] != 0 && indices.iter().zip(extents).all(in_range);
            (!is_good).then(|| memory::bounds_values(frame, *array, *rank, indices))
        }
        Check::Index { index, extent } => {
            let (index, extent) = (frame[*index as usize] as i64, frame[*extent as usize] as i64);
            (!(0..extent).contains(&index)).then(|| vec![index, extent])
        }
        Check::Converged { holds, thread, place } => {
            let word = |slot: u32| frame[slot as usize];
            (word(*holds) == 0).then(|| vec![word(*thread) as i64, word(*place) as i64])
        }
        Check::Each { value, n, test } => {
            let words = &frame[*value as usize..(value + n) as usize];
            words.iter().any(|&word| test(word) == 0).then(Vec::new)
        }
    }
}

/// Which word of the value the indices name, where it has one there.
fn dynamic_component(step: &DynamicComponent, frame: &[u64]) -> Option<usize> {
    step.indices.iter().try_fold(0, |at, &(slot, extent, stride)| {
        let index = frame[slot as usize];
        (index < extent).then(|| at + (index * stride) as usize)
    })
}

fn matmul(step: &MatMul, frame: &mut [u64]) {
    for row in 0..step.rows {
        for col in 0..step.cols {
            let product = |k: u32| {
                let a = frame[(step.a + row * step.inner + k) as usize];
                (step.mul)(a, frame[(step.b + k * step.cols + col) as usize])
            };
            let sum = (1..step.inner).fold(product(0), |sum, k| (step.add)(sum, product(k)));
            frame[(step.dst + row * step.cols + col) as usize] = sum;
        }
    }
}

fn array_from_address(step: &ArrayFromAddress, frame: &mut [u64]) {
    let rank = step.extents.len();
    let dst = step.dst as usize;
    frame[dst] = frame[step.address as usize];
    let mut stride = step.elem_size;
    for (dim, &slot) in step.extents.iter().enumerate().rev() {
        let extent = frame[slot as usize];
        frame[dst + 1 + dim] = extent;
        frame[dst + 1 + rank + dim] = stride;
        stride = stride.wrapping_mul(extent);
    }
}
