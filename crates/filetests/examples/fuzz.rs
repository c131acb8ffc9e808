//! Runs random programs every way there is and compares the bits, for a given time.
//!
//!     cargo run --release -p gridstride-filetests --example fuzz -- [SECONDS] [SEED]
//!
//! Kernels: interpreted, thread by thread, and in gangs of 4, 8 and 16. Functions: interpreted before and after each
//! pass, and compiled. Prints how many it ran; on a difference, the smallest program found that still differs, and ends
//! with 1.

use gridstride_filetests::lanes::{Array, Launch};
use gridstride_filetests::run::{interpret, on_cpu};
use interp::InterpValue;
use ir::arbitrary::{self, kernels, scalar_constant};
use ir::{FuncRef, Module, Type};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

fn main() {
    let number = |i: usize, or: u64| std::env::args().nth(i).and_then(|text| text.parse().ok()).unwrap_or(or);
    let (seconds, seed) = (number(1, 60), number(2, std::process::id().into()));
    let (start, time) = (Instant::now(), Duration::from_secs(seconds));
    let mut random = Random(seed.wrapping_mul(2).wrapping_add(1));
    let (mut n_kernels, mut n_gangs, mut n_functions) = (0u64, 0, 0u64);
    println!("seed {seed}");
    let mut reported = start;
    while start.elapsed() < time {
        let numbers: Vec<u32> = (0..random.next() % 300).map(|_| random.next()).collect();
        let contents: Vec<u32> = (0..97).map(|_| random.next()).collect();
        let try_out: Try = if random.next().is_multiple_of(3) { function } else { kernel };
        match guarded(try_out, &numbers, &contents) {
            Ok(0) => n_functions += 1,
            Ok(gangs) => (n_kernels, n_gangs) = (n_kernels + 1, n_gangs + gangs - 1),
            Err(what) => {
                println!("{what}\n\nsmaller:");
                let numbers = smallest(numbers, |numbers| guarded(try_out, numbers, &contents).is_err());
                println!("{}", guarded(try_out, &numbers, &contents).err().unwrap_or_default());
                std::process::exit(1);
            }
        }
        if reported.elapsed() > Duration::from_secs(60) {
            reported = Instant::now();
            println!("{:?} {n_kernels} kernels {n_gangs} gangs {n_functions} functions", start.elapsed());
        }
    }
    println!("{n_kernels} kernels, {n_gangs} ways in gangs, {n_functions} functions: no difference in {seconds} s");
}

/// Runs a program; a panic is a difference too.
fn guarded(try_out: Try, numbers: &[u32], contents: &[u32]) -> Result<u64, String> {
    let outcome = catch_unwind(AssertUnwindSafe(|| try_out(numbers, contents)));
    outcome.unwrap_or_else(|_| Err("a panic".into()))
}

/// 0 for a function, else 1 and the number of ways in gangs.
type Try = fn(&[u32], &[u32]) -> Result<u64, String>;

fn kernel(numbers: &[u32], contents: &[u32]) -> Result<u64, String> {
    let module = kernels::kernel(numbers);
    let mut contents = contents.iter().copied().cycle();
    let mut next = move |scalar| scalar_constant(scalar, contents.next().unwrap_or(0)).0;
    let elem = |param: &ir::func::Param| param.ty.as_array().map_or(Type::i32(), |(elem, _)| elem);
    let arrays = module.funcs[0].params.iter().map(|param| Array::fill(elem(param), kernels::EXTENT, &mut next));
    let launch = Launch { arrays: arrays.collect(), n_elements: kernels::EXTENT, n_threads: kernels::MAX_THREADS };
    launch.compare(&module).map(|gangs| gangs + 1).map_err(|what| format!("{what}\n{module}"))
}

fn function(numbers: &[u32], contents: &[u32]) -> Result<u64, String> {
    let mut module = arbitrary::module(numbers);
    module.fast_math = false;
    let main = module.find("main").unwrap_or(FuncRef(0));
    let mut contents = contents.iter().copied().cycle();
    let args: Vec<InterpValue> =
        module.func(main).params.iter().map(|param| argument(param.ty, &mut contents)).collect();
    let expected = interpret(&module, main, &args);
    let found = on_cpu(&module, main, &args)?;
    if found != expected {
        return Err(format!("compiled: {found} where {expected} is due\n{module}"));
    }
    let _ = transform::inline_calls(&mut module);
    for (name, pass) in transform::PASSES.into_iter().chain(transform::PASSES) {
        let before: Module = module.clone();
        for func in &mut module.funcs {
            let _ = pass(func);
        }
        let found = interpret(&module, main, &args);
        if found != expected {
            return Err(format!("{name}: {found} where {expected} is due\n{before}"));
        }
    }
    Ok(0)
}

/// An argument of a type without arrays, from numbers.
fn argument(ty: Type, numbers: &mut impl Iterator<Item = u32>) -> InterpValue {
    if let Some(scalar) = ty.as_scalar() {
        return InterpValue::constant(scalar, scalar_constant(scalar, numbers.next().unwrap_or(0)));
    }
    let components: Vec<InterpValue> =
        (0..ty.n_components()).filter_map(|i| ty.component(i)).map(|ty| argument(ty, numbers)).collect();
    InterpValue::composite(ty, &components)
}

/// Leaves out numbers, then makes them smaller, as long as the program still fails; not for ever.
fn smallest(mut numbers: Vec<u32>, fails: impl Fn(&[u32]) -> bool) -> Vec<u32> {
    let start = Instant::now();
    let is_late = || start.elapsed() > Duration::from_secs(60);
    let mut size = numbers.len();
    while size > 0 {
        let mut at = 0;
        while at < numbers.len() && !is_late() {
            let mut fewer = numbers.clone();
            fewer.drain(at..(at + size).min(numbers.len()));
            if fails(&fewer) { numbers = fewer } else { at += size }
        }
        size /= 2;
    }
    for i in (0..numbers.len()).take_while(|_| !is_late()) {
        let mut smaller = numbers.clone();
        smaller[i] = 0;
        if fails(&smaller) {
            numbers = smaller;
        }
    }
    numbers
}

/// xorshift64*.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as u32
    }
}
