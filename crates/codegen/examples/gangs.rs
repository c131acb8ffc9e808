//! Measures gangs beside the scalar path and C, one thread, in interleaved rounds; prints medians and ratios.
//!
//!     cargo run --release -p gridstride-codegen --example gangs

use codegen::{CpuOptions, Gang, LoadedModule};
use ir::FuncRef;
use runtime::{Fault, LaunchBounds};
use std::ffi::{CString, c_char, c_int, c_void};
use std::time::Instant;

const KERNELS: &str = include_str!("gangs.ir");
const REFERENCE: &str = include_str!("gangs.c");

unsafe extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

struct Case {
    name: &'static str,
    extents: Vec<i64>,
    /// Arguments as words, arrays as index into `arrays`.
    args: Vec<u64>,
    work: f64,
    unit: &'static str,
}

fn compiled(name: &str, rank: u32, gang: Gang) -> LoadedModule {
    let mut module = ir::parse::parse_module(KERNELS).expect("the kernels parse");
    module.funcs.retain(|func| func.name == name);
    let options = CpuOptions { contiguous: true, rank, gang, ..CpuOptions::default() };
    if gang == Gang::Auto {
        for note in codegen::explain(&module, FuncRef(0), &options) {
            println!("    {}", note.text);
        }
        if std::env::args().nth(2).is_some() {
            println!("{}", codegen::assembly(&module, FuncRef(0), &options).expect("assembly"));
        }
    }
    let object = codegen::compile_timed(&module, FuncRef(0), &options).expect("the kernel compiles");
    println!("    {gang:?} {:?}", object.timings);
    codegen::load(&object.bytes, &codegen::symbol(&module, FuncRef(0))).expect("the object loads")
}

fn array(words: &mut Vec<u64>, base: *mut f32, extents: &[i64], elem: i64) {
    words.push(base as u64);
    words.extend(extents.iter().map(|&n| n as u64));
    let mut strides = vec![elem; extents.len()];
    for d in (1..extents.len()).rev() {
        strides[d - 1] = strides[d] * extents[d];
    }
    words.extend(strides.iter().map(|&n| n as u64));
}

fn floats(n: usize, scale: f32) -> Vec<f32> {
    let mut state = 12345u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as f32 / (1u64 << 24) as f32 * scale
    };
    (0..n).map(|_| next()).collect()
}

fn reference() -> *mut c_void {
    let dir = std::env::temp_dir();
    let (source, object) = (dir.join("gangs.c"), dir.join("gangs.so"));
    std::fs::write(&source, REFERENCE).expect("a temporary file");
    let gcc = std::process::Command::new("gcc")
        .args([
            "-O3",
            "-march=native",
            "-ffp-contract=off",
            "-fopenmp-simd",
            "-fno-math-errno",
            "-shared",
            "-fPIC",
            "-o",
        ])
        .arg(&object)
        .arg(&source)
        .arg("-lm")
        .status();
    assert!(gcc.is_ok_and(|status| status.success()), "gcc");
    let name = CString::new(object.to_string_lossy().as_bytes()).expect("a path");
    // SAFETY: the library was just made and runs no code when loaded.
    unsafe { dlopen(name.as_ptr(), 2) }
}

fn main() {
    let library = reference();
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let n = 10_000_000usize;
    let (mut x, mut y) = (floats(n, 1.0), floats(n, 1.0));
    let side = 4096i64;
    let (mut a, mut b) = (floats((side * side) as usize, 1.0), floats((side * side) as usize, 1.0));
    let bodies = 10_000usize;
    let (mut p, mut acc) = (floats(3 * bodies, 1.0), floats(3 * bodies, 1.0));
    let np = 50_000usize;
    let (mut pos, mut vel) = (floats(3 * np, 1.0), floats(3 * np, 0.5));
    let word = |x: f32| u64::from(x.to_bits());
    let mut cases = Vec::new();
    let mut case = |name, extents: &[i64], args: Vec<u64>, work, unit| {
        cases.push(Case { name, extents: extents.to_vec(), args, work, unit });
    };
    let ni = n as i64;
    for (name, small) in [("saxpy", ni), ("saxpy", 16384)] {
        let mut args = vec![word(0.5)];
        array(&mut args, x.as_mut_ptr(), &[small], 4);
        array(&mut args, y.as_mut_ptr(), &[small], 4);
        case(name, &[small], args, 12e-9 * small as f64, "GB/s");
    }
    let mut args = vec![n as u64];
    array(&mut args, x.as_mut_ptr(), &[ni], 4);
    array(&mut args, y.as_mut_ptr(), &[ni], 4);
    case("stencil", &[ni], args, 8e-9 * n as f64, "GB/s");
    let mut args = vec![side as u64];
    array(&mut args, a.as_mut_ptr(), &[side, side], 4);
    array(&mut args, b.as_mut_ptr(), &[side, side], 4);
    case("jacobi", &[side, side], args, 1e-6 * (side * side) as f64, "Mcells/s");
    let mut args = vec![];
    array(&mut args, pos.as_mut_ptr(), &[np as i64], 12);
    array(&mut args, vel.as_mut_ptr(), &[np as i64], 12);
    args.extend([word(0.005), word(-9.81), word(0.999), word(0.7)]);
    case("particles", &[np as i64], args, 1e-6 * np as f64, "M/s");
    let mut args = vec![bodies as u64];
    array(&mut args, p.as_mut_ptr(), &[bodies as i64], 12);
    array(&mut args, acc.as_mut_ptr(), &[bodies as i64], 12);
    args.push(word(1e-3));
    case("nbody", &[bodies as i64], args, 1e-9 * (bodies * bodies) as f64, "Ginter/s");

    for case in cases.iter().filter(|case| case.name.starts_with(&wanted)) {
        println!("{} {:?}", case.name, case.extents);
        let rank = case.extents.len() as u32;
        let gang = compiled(case.name, rank, Gang::Auto);
        let scalar = compiled(case.name, rank, Gang::Off);
        let symbol = CString::new(case.name).expect("a name");
        // SAFETY: the library exports one function a case, with the arguments of a kernel.
        let c: runtime::EntryPoint = unsafe { std::mem::transmute(dlsym(library, symbol.as_ptr())) };
        let mut extents = [1; 4];
        extents[..case.extents.len()].copy_from_slice(&case.extents);
        let (bounds, fault) = (LaunchBounds::new(extents), Fault::default());
        let total: i64 = case.extents.iter().product();
        let repeats = if case.name == "nbody" { 1 } else { (2_000_000 / total).max(1) };
        let time = |entry: runtime::EntryPoint| {
            let start = Instant::now();
            for _ in 0..repeats {
                // SAFETY: the arrays outlive the run and have the extents that the arguments say.
                unsafe { entry(case.args.as_ptr().cast(), &bounds, 0, total, &fault) };
            }
            start.elapsed().as_secs_f64() / repeats as f64
        };
        let entries = [gang.entry(), scalar.entry(), c];
        let mut times = [const { Vec::new() }; 3];
        for _ in 0..if case.name == "nbody" { 5 } else { 15 } {
            for (entry, times) in entries.iter().zip(&mut times) {
                times.push(time(*entry));
            }
        }
        let [gang, scalar, c] = times.map(|mut times| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        });
        println!(
            "  gang {:.1} scalar {:.1} C {:.1} {}   gang/C {:.2}  gang/scalar {:.2}",
            case.work / gang,
            case.work / scalar,
            case.work / c,
            case.unit,
            c / gang,
            scalar / gang
        );
    }
}
