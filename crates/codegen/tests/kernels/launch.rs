//! Building a kernel, packing its arguments and running it.

use codegen::CpuOptions;
use ir::{Builder, FuncRef, Function, FunctionKind, Module, Param, Type};
use runtime::{Fault, FaultRecord, LaunchBounds};

/// A module of one kernel whose body `build` appends; the closing `return` is added.
pub(crate) fn kernel(params: &[Type], build: impl FnOnce(&mut Builder<'_>)) -> Module {
    let params = params.iter().enumerate().map(|(i, &ty)| Param { name: format!("p{i}"), ty }).collect();
    let mut func = Function::new("k", FunctionKind::Kernel, params, vec![]);
    let mut b = Builder::new(&mut func);
    build(&mut b);
    if !b.is_terminated() {
        b.ret(&[]);
    }
    Module { funcs: vec![func], ..Module::default() }
}

/// Arguments one after the other, each aligned to 8 bytes.
#[derive(Default)]
pub(crate) struct Packed(pub(crate) Vec<u64>);

impl Packed {
    pub(crate) fn word(mut self, word: u64) -> Packed {
        self.0.push(word);
        self
    }

    /// A contiguous array.
    pub(crate) fn array<T>(self, elements: &mut [T], extents: &[i64]) -> Packed {
        let mut strides = vec![size_of::<T>() as i64; extents.len()];
        for d in (1..extents.len()).rev() {
            strides[d - 1] = strides[d] * extents[d];
        }
        self.strided(elements.as_mut_ptr(), extents, &strides)
    }

    pub(crate) fn strided<T>(mut self, base: *mut T, extents: &[i64], strides: &[i64]) -> Packed {
        self.0.push(base as u64);
        self.0.extend(extents.iter().chain(strides).map(|&n| n as u64));
        self
    }
}

pub(crate) fn bounds(extents: &[i64]) -> LaunchBounds {
    let mut all = [1; 4];
    all[..extents.len()].copy_from_slice(extents);
    LaunchBounds::new(all)
}

/// Compiles and runs all threads of a launch, in `chunks` parts one after the other.
pub(crate) fn run_with(
    module: &Module,
    options: &CpuOptions,
    extents: &[i64],
    args: &Packed,
    chunks: i64,
) -> Option<FaultRecord> {
    let object = codegen::compile(module, FuncRef(0), options).unwrap();
    let loaded = codegen::load(&object, &codegen::symbol(module, FuncRef(0))).unwrap();
    let (bounds, fault) = (bounds(extents), Fault::default());
    let n = bounds.n_threads().unwrap();
    for chunk in 0..chunks {
        let (begin, end) = (n * chunk / chunks, n * (chunk + 1) / chunks);
        // SAFETY: the tests pack what their kernels expect.
        unsafe { loaded.entry()(args.0.as_ptr().cast(), &bounds, begin, end, &fault) };
    }
    fault.take()
}

pub(crate) fn run(module: &Module, extents: &[i64], args: &Packed) -> Option<FaultRecord> {
    let options = CpuOptions { rank: extents.len() as u32, ..CpuOptions::default() };
    run_with(module, &options, extents, args, 1)
}

pub(crate) fn array1(elem: Type) -> Type {
    Type::array(elem, 1)
}
