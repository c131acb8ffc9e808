//! Gradients against central differences.
//!
//! In: a kernel, its arguments, a launch. The loss is a weighted sum of all floats that the kernel's arrays hold after
//! the launch. Out: what disagrees between the adjoint kernel, on the interpreter and on the CPU, and the change of the
//! loss where an argument moves a little. Every device runs the adjoint kernel with the same arguments, and gives the
//! same bits where no two threads add to one place.

use crate::cpu;
use crate::run::Arg;
use autodiff::{Adjoint, Request, adjoint_params};
use interp::{InterpValue, Program};
use ir::{Const, FuncRef, LeafKind, Module, Scalar, Type};
use runtime::{Fault, LaunchBounds};

/// How near the two must be.
#[derive(Clone, Copy, Debug)]
pub struct Tolerance {
    /// How far an argument is moved, in parts of its size.
    pub step: f64,
    pub relative: f64,
    pub absolute: f64,
}

impl Tolerance {
    /// For kernels of f64.
    pub const DOUBLE: Tolerance = Tolerance { step: 1e-6, relative: 1e-5, absolute: 1e-6 };
}

/// Compares all derivatives; gives how many there were to compare, for near a kink there are none. The error is a report.
pub fn check(
    module: &Module,
    inputs: &[Arg],
    bounds: &LaunchBounds,
    tolerance: Tolerance,
    on_cpu: bool,
) -> Result<usize, String> {
    let Some(kernel) = module.kernel() else { return Err("there is no kernel".into()) };
    let request = Request { wanted: vec![true; inputs.len()], overlap: false, adjoints_overlap: false, rank: 1 };
    let adjoint = autodiff::reverse(module, &[], &request).map_err(|refused| refused[0].message.clone())?;
    let found = adjoints(&adjoint, inputs, bounds, false)?;
    if on_cpu {
        let compiled = adjoints(&adjoint, inputs, bounds, true)?;
        for (at, (a, b)) in found.iter().zip(&compiled).enumerate() {
            let is_near = (a - b).abs() <= tolerance.absolute * 1e-3 + 1e-9 * a.abs().max(b.abs());
            if a.to_bits() != b.to_bits() && !is_near && !(a.is_nan() && b.is_nan()) {
                return Err(format!("adjoint {at}: {a} on interp, {b} on cpu\n{}", adjoint.module));
            }
        }
    }
    check_tangent(module, &request, inputs, bounds, &found)?;
    let mut program = Forward::new(module, kernel, bounds);
    let (mut at, mut n_compared) = (0, 0);
    for index in 0..inputs.len() {
        for leaf in 0..n_floats(&inputs[index]) {
            let expected = program.difference(inputs, index, leaf, tolerance.step)?;
            let found = found[at];
            at += 1;
            let bound = |size: f64| tolerance.absolute + tolerance.relative * size + expected.noise;
            let Some(expected) = expected.settled(0.1 * bound(expected.abs())) else { continue };
            // A step sees nothing of a part of the loss that swings in less than the step.
            if expected.abs().max(found.abs()) > 1.0 / tolerance.step
                || found.is_nan() && overflows(module, &request, inputs, bounds, at - 1)?
            {
                continue;
            }
            let bound = bound(expected.abs().max(found.abs()));
            n_compared += 1;
            // Any other NaN agrees with nothing.
            let agrees = (found - expected).abs() <= bound;
            let is_lost = |rounding: f64| 0.1 * (found - expected).abs() <= rounding / tolerance.step;
            if !agrees && !is_lost(program.rounding(module, inputs)?) {
                let name = &module.func(kernel).params[index].name;
                return Err(format!(
                    "argument {index} `{name}`, float {leaf}: adjoint {found}, difference {expected}\n{module}\n{}",
                    adjoint.module
                ));
            }
        }
    }
    Ok(n_compared)
}

/// Forward mode against reverse mode: the loss's derivative along one direction, both ways.
fn check_tangent(
    module: &Module,
    request: &Request,
    inputs: &[Arg],
    bounds: &LaunchBounds,
    adjoints: &[f64],
) -> Result<(), String> {
    let Ok(tangent) = autodiff::forward(module, &[], request) else { return Ok(()) };
    let found = along(&tangent, inputs, bounds, &direction_of)?;
    let parts = adjoints.iter().enumerate().map(|(at, adjoint)| adjoint * direction_of(at));
    let (expected, size) = parts.fold((0.0, 0.0), |(sum, size), part| (sum + part, size + part.abs()));
    let is_near = (found - expected).abs() <= 1e-9 * (1.0 + size);
    if is_near || !expected.is_finite() || !found.is_finite() {
        return Ok(());
    }
    Err(format!("along a direction: {found} forward, {expected} in reverse\n{module}\n{tangent}"))
}

/// The loss's derivative along a direction, which has a step for each float, by the kernel that computes tangents.
fn along(
    tangent: &Module,
    inputs: &[Arg],
    bounds: &LaunchBounds,
    step_of: &dyn Fn(usize) -> f64,
) -> Result<f64, String> {
    let mut memory = Memory::of(inputs);
    let mut args = memory.args(inputs);
    let (mut directions, mut at) = (Vec::new(), 0);
    for (index, (input, mut direction)) in companions(inputs)?.into_iter().map(|(i, d)| (i, (&inputs[i], d))) {
        for leaf in 0..n_floats(&direction) {
            let (scalar, word) = float_mut(&mut direction, leaf);
            *word = Const::float(scalar, step_of(at)).0;
            at += 1;
        }
        directions.push((index, input, direction));
    }
    let companions: Vec<Arg> = directions.iter().map(|(.., direction)| direction.clone()).collect();
    let mut tangents = Memory::of(&companions);
    args.extend(tangents.args(&companions));
    launch(tangent, &args, bounds, false)?;
    let mut found = 0.0;
    for (at, (index, input, direction)) in directions.iter().enumerate() {
        if let Arg::Array { .. } = input {
            for (leaf, value) in tangents.floats(direction, at).into_iter().enumerate() {
                found += weight(*index, leaf) * value;
            }
        }
    }
    Ok(found)
}

/// Whether a derivative is beyond what a float holds, forward too: then reverse may multiply its infinity by a zero.
fn overflows(
    module: &Module,
    request: &Request,
    inputs: &[Arg],
    bounds: &LaunchBounds,
    float: usize,
) -> Result<bool, String> {
    let Ok(tangent) = autodiff::forward(module, &[], request) else { return Ok(false) };
    let step_of = |at| if at == float { 1.0 } else { 0.0 };
    along(&tangent, inputs, bounds, &step_of).map(|found| !found.is_finite())
}

/// A step along one float, exact in every float type.
fn direction_of(at: usize) -> f64 {
    f64::from((at * 7 % 11) as u32) / 8.0 - 0.625
}

/// For each argument that holds floats: its number, and an array for its adjoint or tangent, of zeros.
fn companions(inputs: &[Arg]) -> Result<Vec<(usize, Arg)>, String> {
    let types: Vec<Type> = inputs.iter().map(Arg::ty).collect();
    let mut found = Vec::new();
    for (index, (input, param)) in inputs.iter().zip(adjoint_params(&types)).enumerate() {
        let Some(param) = param else { continue };
        let (elem, _) = param.as_array().ok_or("a struct of arrays cannot be checked")?;
        let companion = match input {
            Arg::Array { elements, extents, .. } => {
                Arg::Array { elem, extents: extents.clone(), elements: vec![zeros(elem); elements.len()] }
            }
            Arg::Value(_) => Arg::Array { elem, extents: vec![1], elements: vec![zeros(elem)] },
        };
        found.push((index, companion));
    }
    Ok(found)
}

/// A difference quotient, made three times: with the whole step, half of it, a fifth of it.
#[derive(Clone, Copy, Debug)]
struct Quotient {
    whole: f64,
    half: f64,
    fifth: f64,
    /// What the rounding of the loss makes of a difference.
    noise: f64,
}

impl Quotient {
    fn abs(self) -> f64 {
        self.half.abs()
    }

    /// The derivative, unless they disagree: there is a kink or a jump near, or the loss is far from linear.
    fn settled(self, bound: f64) -> Option<f64> {
        [self.whole, self.fifth].iter().all(|other| (other - self.half).abs() <= bound).then_some(self.half)
    }
}

/// The kernel itself, ready to run.
struct Forward<'a> {
    program: Program,
    kernel: FuncRef,
    bounds: &'a LaunchBounds,
}

impl<'a> Forward<'a> {
    fn new(module: &Module, kernel: FuncRef, bounds: &'a LaunchBounds) -> Forward<'a> {
        let name = module.func(kernel).name.clone();
        let mut module = module.clone();
        let _ = transform::expand_math(&mut module);
        let kernel = module.find(&name).unwrap_or(kernel);
        Forward { program: Program::new(&module), kernel, bounds }
    }

    fn loss(&self, inputs: &[Arg]) -> Result<f64, String> {
        let mut memory = Memory::of(inputs);
        let fault = Fault::default();
        self.program.launch(self.kernel, &cpu::pack(&memory.args(inputs)), self.bounds, &fault);
        if let Some(record) = fault.take() {
            return Err(format!("the kernel failed at site {}", record.site));
        }
        Ok(weighted(&memory, inputs))
    }

    /// How far other roundings move the loss, those of `fast_math`. A loop that contracts and then spreads loses a step in
    /// its roundings, and makes more of these than of the step.
    fn rounding(&self, module: &Module, inputs: &[Arg]) -> Result<f64, String> {
        let other = Module { fast_math: true, ..module.clone() };
        let mut memory = Memory::of(inputs);
        launch(&other, &memory.args(inputs), self.bounds, true)?;
        Ok((weighted(&memory, inputs) - self.loss(inputs)?).abs())
    }

    fn difference(&mut self, inputs: &[Arg], index: usize, leaf: usize, step: f64) -> Result<Quotient, String> {
        let at = |offset: f64| {
            let mut moved = inputs.to_vec();
            let (scalar, word) = float_mut(&mut moved[index], leaf);
            let value = Const(*word).as_float(scalar) + offset;
            *word = Const::float(scalar, value).0;
            let reached = Const(*word).as_float(scalar);
            Ok::<_, String>((self.loss(&moved)?, reached))
        };
        let mut inputs_now = inputs.to_vec();
        let (scalar, word) = float_mut(&mut inputs_now[index], leaf);
        let step = step * Const(*word).as_float(scalar).abs().max(1.0);
        let quotient = |step: f64| {
            let ((high, x_high), (low, x_low)) = (at(step)?, at(-step)?);
            let noise = 16.0 * f64::EPSILON * high.abs().max(low.abs()) / (x_high - x_low);
            Ok::<_, String>(((high - low) / (x_high - x_low), noise))
        };
        let ((whole, _), (half, _), (fifth, noise)) = (quotient(step)?, quotient(step / 2.0)?, quotient(step / 5.0)?);
        Ok(Quotient { whole, half, fifth, noise })
    }
}

/// The adjoints of all floats of the arguments, by an adjoint kernel.
pub fn adjoints(adjoint: &Adjoint, inputs: &[Arg], bounds: &LaunchBounds, on_cpu: bool) -> Result<Vec<f64>, String> {
    let mut memory = Memory::of(inputs);
    let mut args = memory.args(inputs);
    let mut seeds = companions(inputs)?;
    for (index, seed) in &mut seeds {
        if matches!(inputs[*index], Arg::Array { .. }) {
            for leaf in 0..n_floats(seed) {
                let (scalar, word) = float_mut(seed, leaf);
                *word = Const::float(scalar, weight(*index, leaf)).0;
            }
        }
    }
    let adjoint_inputs: Vec<Arg> = seeds.iter().map(|(_, seed)| seed.clone()).collect();
    let mut adjoint_memory = Memory::of(&adjoint_inputs);
    args.extend(adjoint_memory.args(&adjoint_inputs));
    if let Some(primer) = &adjoint.primer {
        launch(primer, &args, bounds, on_cpu)?;
    }
    let mut tapes = Vec::new();
    if let Some(measure) = &adjoint.measure {
        // What it writes it writes to copies.
        let mut copies = Memory { arrays: memory.arrays.clone() };
        let mut apart = copies.args(inputs);
        apart.extend_from_slice(&args[inputs.len()..]);
        tapes = measured(adjoint, measure, &apart, bounds, on_cpu)?;
        let elements = std::iter::once(Type::i64()).chain(adjoint.tapes.iter().copied());
        args.extend(tapes.iter_mut().zip(elements).map(|(words, ty)| array(ty, words)));
    }
    launch(&adjoint.module, &args, bounds, on_cpu)?;
    drop(tapes);
    let all = seeds.iter().enumerate().flat_map(|(at, (_, seed))| adjoint_memory.floats(seed, at));
    Ok(all.collect())
}

/// Where each thread's part of the tapes begins, and the tapes.
fn measured(
    adjoint: &Adjoint,
    measure: &Module,
    args: &[InterpValue],
    bounds: &LaunchBounds,
    on_cpu: bool,
) -> Result<Vec<Vec<u64>>, String> {
    let n_tapes = adjoint.tapes.len();
    let mut starts = vec![0u64; bounds.n_threads().unwrap_or(0) as usize * n_tapes];
    let mut args = args.to_vec();
    args.push(array(Type::i64(), &mut starts));
    launch(measure, &args, bounds, on_cpu)?;
    let mut totals = vec![0u64; n_tapes];
    for (at, start) in starts.iter_mut().enumerate() {
        let total = &mut totals[at % n_tapes];
        let count = std::mem::replace(start, *total);
        *total += count;
    }
    let mut memory = vec![starts];
    memory.extend(totals.iter().zip(&adjoint.tapes).map(|(&n, ty)| vec![0; (n * ty.size().div_ceil(8)) as usize + 1]));
    Ok(memory)
}

fn array(elem: Type, words: &mut [u64]) -> InterpValue {
    InterpValue::array(elem, words.as_mut_ptr() as u64, &[(words.len() as u64 * 8 / elem.size()) as i64])
}

fn launch(module: &Module, args: &[InterpValue], bounds: &LaunchBounds, on_cpu: bool) -> Result<(), String> {
    let fault = Fault::default();
    let kernel = module.kernel().ok_or("no kernel")?;
    if on_cpu {
        cpu::launch(module, kernel, args, bounds, &fault)?;
    } else {
        let forward = Forward::new(module, kernel, bounds);
        forward.program.launch(forward.kernel, &cpu::pack(args), bounds, &fault);
    }
    match fault.take() {
        Some(record) => Err(format!("a kernel failed at site {} {:?}\n{module}", record.site, record.values)),
        None => Ok(()),
    }
}

/// The loss: all floats of the arrays, each as it counts.
fn weighted(memory: &Memory, inputs: &[Arg]) -> f64 {
    let arrays = inputs.iter().enumerate().filter(|(_, input)| matches!(input, Arg::Array { .. }));
    let floats = arrays.flat_map(|(index, input)| {
        memory.floats(input, index).into_iter().enumerate().map(move |(leaf, value)| weight(index, leaf) * value)
    });
    floats.sum()
}

/// How much a float of the results counts in the loss.
fn weight(index: usize, leaf: usize) -> f64 {
    let bits = ((index * 1009 + leaf) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44;
    // Few bits, so that it is exact in every float type.
    (bits % 15 + 1) as f64 / 8.0 - 1.0
}

fn zeros(ty: Type) -> InterpValue {
    InterpValue { ty, words: vec![0; ty.n_leaves()] }
}

fn float_leaves(ty: Type) -> Vec<(usize, Scalar)> {
    let leaves = ty.leaves().into_iter().enumerate();
    leaves
        .filter_map(|(at, leaf)| if let LeafKind::Scalar(scalar) = leaf.kind { Some((at, scalar)) } else { None })
        .filter(|(_, scalar)| scalar.is_float())
        .collect()
}

/// Number of floats in an argument.
fn n_floats(input: &Arg) -> usize {
    match input {
        Arg::Value(value) => float_leaves(value.ty).len(),
        Arg::Array { elem, elements, .. } => float_leaves(*elem).len() * elements.len(),
    }
}

/// One of an argument's floats: its type and its bits.
fn float_mut(input: &mut Arg, leaf: usize) -> (Scalar, &mut u64) {
    let value = match input {
        Arg::Value(value) => (leaf, value),
        Arg::Array { elem, elements, .. } => {
            let n = float_leaves(*elem).len();
            (leaf % n, &mut elements[leaf / n])
        }
    };
    let (at, scalar) = float_leaves(value.1.ty)[value.0];
    (scalar, &mut value.1.words[at])
}

/// Memory of arrays, in words so that every element is aligned.
struct Memory {
    arrays: Vec<Vec<u64>>,
}

impl Memory {
    fn of(inputs: &[Arg]) -> Memory {
        let words = |input: &Arg| match input {
            Arg::Value(_) => Vec::new(),
            Arg::Array { elements, .. } => {
                let bytes: Vec<u8> = elements.iter().flat_map(InterpValue::to_bytes).collect();
                let mut words = vec![0u64; bytes.len().div_ceil(8).max(1)];
                for (word, chunk) in words.iter_mut().zip(bytes.chunks(8)) {
                    let mut padded = [0; 8];
                    padded[..chunk.len()].copy_from_slice(chunk);
                    *word = u64::from_le_bytes(padded);
                }
                words
            }
        };
        Memory { arrays: inputs.iter().map(words).collect() }
    }

    fn args(&mut self, inputs: &[Arg]) -> Vec<InterpValue> {
        let arrays = inputs.iter().zip(&mut self.arrays);
        arrays
            .map(|(input, words)| match input {
                Arg::Value(value) => value.clone(),
                Arg::Array { elem, extents, .. } => InterpValue::array(*elem, words.as_mut_ptr() as u64, extents),
            })
            .collect()
    }

    /// The floats that an array holds now.
    fn floats(&self, input: &Arg, index: usize) -> Vec<f64> {
        let Arg::Array { elem, elements, .. } = input else { return Vec::new() };
        let bytes: Vec<u8> = self.arrays[index].iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut found = Vec::new();
        for chunk in bytes.chunks(elem.size() as usize).take(elements.len()) {
            let value = InterpValue::from_bytes(*elem, chunk);
            found.extend(float_leaves(*elem).iter().map(|&(at, scalar)| Const(value.words[at]).as_float(scalar)));
        }
        found
    }
}
