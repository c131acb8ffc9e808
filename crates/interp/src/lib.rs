//! The IR interpreter: what it does is the meaning of every op, and the oracle of all tests.
//!
//! In: a verified module, and either values for a plain function ([`call`]) or packed arguments and a launch's bounds
//! for a kernel ([`launch`]), as compiled code takes them. Out: the results, or the effects on real memory and at
//! most one failure record. A [`Program`] is a module made ready once for many runs.
//!
//! A failed check ends its thread with a record; in a launch the other threads go on. Beyond the checks that the
//! program makes, every access is verified: one that is out of range, through a null array, or atomic and not aligned,
//! touches no memory, and ends its thread with a record whose site is [`UNCHECKED`] and whose values are those of
//! `check_bounds`: indices, then extents. So does `unreachable`, and a local array that memory cannot hold, with no
//! values. `row` and `subarray` never end a thread: a view that reaches outside its array is null.
//!
//! `fast_math` is ignored. Floats are those of the machine: which NaN an op gives is not specified.
//!
//! ```
//! use interp::InterpValue;
//! use ir::{Builder, FuncRef, Function, FunctionKind, Module, Op, Param, Type};
//! let param = |name: &str| Param { name: name.into(), ty: Type::f32() };
//! let mut func = Function::new("f", FunctionKind::Function, vec![param("a"), param("b")], vec![Type::f32()]);
//! let mut b = Builder::new(&mut func);
//! let product = b.binary(Op::Mul, b.param(0), b.param(1));
//! b.ret(&[product]);
//! let module = Module { funcs: vec![func], ..Module::default() };
//! let results = interp::call(&module, FuncRef(0), &[InterpValue::f32(3.0), InterpValue::f32(4.0)]);
//! assert_eq!(results.unwrap(), [InterpValue::f32(12.0)]);
//! ```

mod block;
mod code;
mod lower;
mod memory;
mod run;
pub mod scalar;
mod shadow;
mod value;
mod warp;

use code::Code;
use ir::{FuncRef, FunctionKind, Module, Type};
use run::{Stop, Thread};
use runtime::abi::MAX_RANK;
use runtime::sums::LANES;
use runtime::{Fault, FaultRecord, LaunchBounds, Sites};
use std::ops::Range;

pub use value::InterpValue;

/// The site of a failure that no check op reported.
pub const UNCHECKED: u32 = u32::MAX;

/// The site of a barrier that not all threads of a block reach. Values: the barrier's span (file, start, end), the span
/// of where another thread waits instead, or no span where it has ended, and that thread's linear index.
pub const DIVERGENCE: u32 = u32::MAX - 1;

/// The site of two accesses to one place without order, found in checked launches. Values: the span of the later access,
/// the span of the earlier one, the block and the linear index of the thread that made it.
pub const RACE: u32 = u32::MAX - 2;

/// The site of a read of shared memory that no thread stored to, found in checked launches. Values: the read's span.
pub const UNINITIALIZED: u32 = u32::MAX - 3;

/// Calls nested deeper than this end the thread.
pub const MAX_CALL_DEPTH: usize = 256;

/// Why a call gives no results.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("check failed at site {}, values {:?}", .0.site, .0.values)]
    Fault(FaultRecord),
    #[error("calls nest deeper than {MAX_CALL_DEPTH}")]
    TooDeep,
    #[error("arguments of types {found:?} for parameters of types {expected:?}")]
    WrongArguments { found: Vec<Type>, expected: Vec<Type> },
}

/// A module ready to run, on any number of threads at once.
#[derive(Debug)]
pub struct Program {
    codes: Vec<Code>,
    signatures: Vec<Signature>,
    /// What all threads of a launch add up, of each function that is a kernel.
    sums: Vec<Option<Sites>>,
    /// Bytes of all shared arrays.
    shared: u64,
}

#[derive(Debug)]
struct Signature {
    kind: FunctionKind,
    params: Vec<Type>,
    results: Vec<Type>,
}

/// Calls a function of a module that is used once; see [`Program::call`].
pub fn call(module: &Module, func: FuncRef, args: &[InterpValue]) -> Result<Vec<InterpValue>, Error> {
    Program::new(module).call(func, args)
}

/// Launches a kernel of a module that is used once; see [`Program::launch`].
pub fn launch(module: &Module, func: FuncRef, args: &[u8], bounds: &LaunchBounds, fault: &Fault) {
    Program::new(module).launch(func, args, bounds, fault);
}

impl Program {
    /// Makes a module ready. The verifier accepts it; on any other this panics.
    pub fn new(module: &Module) -> Program {
        let signature = |func: &ir::Function| Signature {
            kind: func.kind,
            params: func.params.iter().map(|param| param.ty).collect(),
            results: func.results.clone(),
        };
        let mut shared = 0;
        let sums: Vec<Option<Sites>> = module.funcs.iter().map(Sites::of).collect();
        let lower =
            |(func, sums): (&ir::Function, &Option<Sites>)| lower::lower(module, func, sums.as_ref(), &mut shared);
        let codes = module.funcs.iter().zip(&sums).map(lower).collect();
        Program { codes, signatures: module.funcs.iter().map(signature).collect(), sums, shared }
    }

    /// Calls a function. Arrays among the arguments are descriptors, which must be true: memory lies behind every
    /// element.
    pub fn call(&self, func: FuncRef, args: &[InterpValue]) -> Result<Vec<InterpValue>, Error> {
        let signature = &self.signatures[func.index()];
        if !args.iter().map(|arg| arg.ty).eq(signature.params.iter().copied()) {
            let found = args.iter().map(|arg| arg.ty).collect();
            return Err(Error::WrongArguments { found, expected: signature.params.clone() });
        }
        let code = &self.codes[func.index()];
        let mut frame = code.template.clone();
        fill(&mut frame, args);
        let mut thread = Thread::new(&self.codes, [1; MAX_RANK]);
        // SAFETY: the caller gives true descriptors (above).
        match unsafe { thread.run(code, &mut frame) } {
            Ok(()) => {}
            Err(Stop::Fault(record)) => return Err(Error::Fault(*record)),
            Err(Stop::TooDeep) => return Err(Error::TooDeep),
            Err(Stop::Wait) => panic!("a function without a block waits for other threads"),
        }
        let mut words = &frame[code.n_param_words..code.n_param_words + code.n_result_words];
        let take = |&ty: &Type| {
            let (taken, rest) = words.split_at(ty.n_leaves());
            words = rest;
            InterpValue { ty, words: taken.to_vec() }
        };
        Ok(signature.results.iter().map(take).collect())
    }

    /// Runs every thread of a launch in order. `args` are the arguments packed as `runtime::abi` says; their array
    /// descriptors must be true. A launch with an extent that is not positive has no threads.
    pub fn launch(&self, func: FuncRef, args: &[u8], bounds: &LaunchBounds, fault: &Fault) {
        if bounds.extents.iter().any(|&extent| extent <= 0) {
            return;
        }
        let n = bounds.n_threads().unwrap_or(i64::MAX);
        let sums = self.sums[func.index()].as_ref().map(|sites| &sites.sums);
        // SAFETY: the caller gives packed arguments.
        let Some(sums) = sums.filter(|sums| unsafe { sums.are_apart(args.as_ptr()) }) else {
            return self.launch_range(func, args, bounds, 0, n, fault);
        };
        let chunk = sums.chunk(n);
        let mut kept = vec![0; sums.n_words()];
        for begin in (0..n).step_by(chunk as usize) {
            let end = begin.saturating_add(chunk).min(n);
            let run = |memory| self.run_threads(func, args, bounds, begin..end, fault, Some(memory));
            // SAFETY: there is room for one chunk, and the code that runs is that of the kernel with these sums, whose
            // addresses are in arrays of the launch.
            unsafe {
                sums.run_chunk(kept.as_mut_ptr(), run);
                sums.add_up(&kept);
            }
        }
    }

    /// Runs threads `begin..end` of a launch, as an `EntryPoint` does. All extents are positive.
    pub fn launch_range(&self, func: FuncRef, args: &[u8], bounds: &LaunchBounds, begin: i64, end: i64, fault: &Fault) {
        self.run_threads(func, args, bounds, begin..end, fault, None);
    }

    /// `sums` is the memory of a chunk's accumulators, where the threads are one.
    fn run_threads(
        &self,
        func: FuncRef,
        args: &[u8],
        bounds: &LaunchBounds,
        threads: Range<i64>,
        fault: &Fault,
        sums: Option<*mut u8>,
    ) {
        let code = &self.codes[func.index()];
        let mut frame = code.template.clone();
        fill(&mut frame, &self.unpack(func, args));
        let mut thread = Thread::new(&self.codes, bounds.extents);
        thread.tid = bounds.index(threads.start);
        for number in 0..threads.end - threads.start {
            thread.accumulators = sums.map(|memory| memory::Accumulators { memory, lane: number as usize % LANES });
            // SAFETY: the caller gives true descriptors (see `launch`).
            match unsafe { thread.run(code, &mut frame) } {
                Ok(()) => {}
                Err(Stop::Fault(record)) => fault.report(*record),
                Err(Stop::Wait) => panic!("a thread without a block waits for others"),
                Err(Stop::TooDeep) => {
                    fault.report(FaultRecord { site: UNCHECKED, thread: thread.tid, values: Vec::new() });
                }
            }
            thread.end(code, &mut frame);
            advance(&mut thread.tid, &bounds.extents);
        }
    }

    fn unpack(&self, func: FuncRef, args: &[u8]) -> Vec<InterpValue> {
        let mut at = 0usize;
        let take = |&ty: &Type| {
            let start = at.next_multiple_of(8);
            at = start + ty.size() as usize;
            InterpValue::from_bytes(ty, &args[start..at])
        };
        self.signatures[func.index()].params.iter().map(take).collect()
    }
}

/// The index of the next thread.
fn advance(index: &mut [i64; MAX_RANK], extents: &[i64; MAX_RANK]) {
    for dim in (0..MAX_RANK).rev() {
        index[dim] += 1;
        if index[dim] < extents[dim] {
            return;
        }
        index[dim] = 0;
    }
}

/// Puts arguments where a frame has its parameters.
fn fill(frame: &mut [u64], args: &[InterpValue]) {
    for (slot, word) in frame.iter_mut().zip(args.iter().flat_map(|arg| &arg.words)) {
        *slot = *word;
    }
}

/// The packed form of arguments: one after the other, each aligned to 8 bytes (`runtime::abi`).
pub fn pack(args: &[InterpValue]) -> Vec<u8> {
    let mut packed = Vec::new();
    for arg in args {
        packed.resize(packed.len().next_multiple_of(8), 0);
        packed.extend(arg.to_bytes());
    }
    packed
}
