//! One kernel, every way to run it: interpreted, thread by thread, and in gangs of several widths. All must leave the
//! same bits in memory; NaNs count as equal.

use crate::cpu::pack;
use codegen::{CpuOptions, Gang, LoadedModule};
use interp::InterpValue;
use ir::{Const, FuncRef, LeafKind, Module, Scalar, Type};
use runtime::{Fault, FaultRecord, LaunchBounds, Sums};
use runtime_cpu::Code;

/// Memory of an array of one dimension.
#[derive(Clone, Debug)]
pub struct Array {
    pub elem: Type,
    pub words: Vec<u64>,
}

impl Array {
    /// `n` elements whose scalars are the bits that `next` gives.
    pub fn fill(elem: Type, n: u64, mut next: impl FnMut(Scalar) -> u64) -> Array {
        let mut bytes = vec![0; ((n * elem.size()) as usize).next_multiple_of(8)];
        for i in 0..n {
            for (offset, scalar) in scalars(elem) {
                let (at, size) = ((i * elem.size() + offset) as usize, scalar.size() as usize);
                bytes[at..at + size].copy_from_slice(&next(scalar).to_le_bytes()[..size]);
            }
        }
        let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        Array { elem, words: bytes.chunks(8).map(word).collect() }
    }

    fn bits(&self) -> Vec<(Scalar, u64)> {
        let bytes: Vec<u8> = self.words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let n = bytes.len() as u64 / self.elem.size().max(1);
        let mut all = Vec::new();
        for i in 0..n {
            for (offset, scalar) in scalars(self.elem) {
                let (at, size) = ((i * self.elem.size() + offset) as usize, scalar.size() as usize);
                let mut word = [0; 8];
                word[..size].copy_from_slice(&bytes[at..at + size]);
                all.push((scalar, u64::from_le_bytes(word)));
            }
        }
        all
    }
}

fn scalars(ty: Type) -> Vec<(u64, Scalar)> {
    let scalar =
        |leaf: ir::Leaf| if let LeafKind::Scalar(scalar) = leaf.kind { Some((leaf.offset, scalar)) } else { None };
    ty.leaves().into_iter().filter_map(scalar).collect()
}

/// How a kernel is launched.
#[derive(Clone, Debug)]
pub struct Launch {
    pub arrays: Vec<Array>,
    /// Elements of each array.
    pub n_elements: u64,
    pub n_threads: u64,
}

impl Launch {
    /// Runs the module's first function, a kernel over arrays of one dimension. Says where a compiled way differs from
    /// the interpreter, or gives the number of ways that ran in gangs.
    pub fn compare(&self, module: &Module) -> Result<u64, String> {
        let mut expanded = module.clone();
        let _ = transform::expand_math(&mut expanded);
        let mut optimized = module.clone();
        transform::optimize(&mut optimized);
        let bounds = self.bounds();
        let expected = self.run(|args, fault| interp::launch(&expanded, FuncRef(0), args, &bounds, fault));
        let gang = |gang| CpuOptions { gang, ..CpuOptions::default() };
        let [scalar, four, eight, sixteen] = [Gang::Off, Gang::Width(4), Gang::Width(8), Gang::Width(16)].map(gang);
        let dense = CpuOptions { contiguous: true, ..eight };
        let ways =
            [(&expanded, scalar), (&optimized, scalar), (&optimized, four), (&optimized, eight), (&optimized, dense)];
        let mut n_gangs = 0;
        let masked = [Gang::Masked(8), Gang::Masked(16)].map(gang).map(|options| (&optimized, options));
        for (module, options) in ways.into_iter().chain([(&optimized, sixteen)]).chain(masked) {
            n_gangs += u64::from(codegen::explain(module, FuncRef(0), &options)[0].text.starts_with("runs"));
            let loaded = load(module, &options).map_err(|error| format!("{options:?}: {error}"))?;
            let sums = Sums::of(&module.funcs[0]);
            let code = Code { entry: loaded.entry(), sums: sums.as_ref() };
            let found = self.run(|args, fault| {
                // SAFETY: the arrays are those that the kernel takes, and the caller's kernel keeps indices inside.
                unsafe { code.run_alone(args.as_ptr(), &bounds, self.n_threads as i64, fault) }
            });
            differ(&found, &expected).map_or(Ok(()), |what| Err(format!("{options:?}: {what}")))?;
        }
        Ok(n_gangs)
    }

    fn bounds(&self) -> LaunchBounds {
        LaunchBounds::new([self.n_threads as i64, 1, 1, 1])
    }

    fn run(&self, launch: impl FnOnce(&[u8], &Fault)) -> Left {
        let mut arrays = self.arrays.clone();
        let n = self.n_elements as i64;
        let args = arrays.iter_mut().map(|array| InterpValue::array(array.elem, array.words.as_mut_ptr() as u64, &[n]));
        let packed = pack(&args.collect::<Vec<_>>());
        let fault = Fault::default();
        launch(&packed, &fault);
        (arrays, fault.take())
    }
}

/// What a launch leaves behind.
type Left = (Vec<Array>, Option<FaultRecord>);

fn differ(found: &Left, expected: &Left) -> Option<String> {
    if found.1 != expected.1 {
        return Some(format!("{:?} where {:?} is due", found.1, expected.1));
    }
    for (i, (found, expected)) in found.0.iter().zip(&expected.0).enumerate() {
        for (k, (x, y)) in found.bits().into_iter().zip(expected.bits()).enumerate() {
            if !is_same(x, y) {
                return Some(format!("array {i}, scalar {k}: {x:x?} where {y:x?} is due"));
            }
        }
    }
    None
}

fn load(module: &Module, options: &CpuOptions) -> Result<LoadedModule, codegen::Error> {
    let object = codegen::compile(module, FuncRef(0), options)?;
    codegen::load(&object, &codegen::symbol(module, FuncRef(0)))
}

fn is_same((scalar, x): (Scalar, u64), (_, y): (Scalar, u64)) -> bool {
    let is_nan = |bits| scalar.is_float() && Const(bits).as_float(scalar).is_nan();
    x == y || is_nan(x) && is_nan(y)
}
