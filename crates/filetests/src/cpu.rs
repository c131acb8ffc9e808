//! Running IR on the CPU as users' kernels run: optimized, compiled, loaded, launched on the pool.
//!
//! A plain function is put into a kernel that calls it and stores each result to an array.

use codegen::CpuOptions;
use interp::InterpValue;
use ir::{Attr, Builder, FuncRef, Function, FunctionKind, Module, Op, Param, Scalar, Type};
use runtime::{BlockBounds, Fault, LaunchBounds, Sums};
use runtime_cpu::{Code, Pool};

/// Launches a kernel.
pub fn launch(
    module: &Module,
    kernel: FuncRef,
    args: &[InterpValue],
    bounds: &LaunchBounds,
    fault: &Fault,
) -> Result<(), String> {
    let name = module.func(kernel).name.clone();
    let mut module = module.clone();
    transform::optimize(&mut module);
    let kernel = module.find(&name).ok_or("the kernel is gone")?;
    let rank = bounds.extents.iter().rposition(|&extent| extent != 1).map_or(1, |dim| dim as u32 + 1);
    let options = CpuOptions { rank, ..CpuOptions::default() };
    let object = codegen::compile(&module, kernel, &options).map_err(|error| error.to_string())?;
    let loaded = codegen::load(&object, &codegen::symbol(&module, kernel)).map_err(|error| error.to_string())?;
    let packed = pack(args);
    let sums = Sums::of(module.func(kernel));
    let code = Code { entry: loaded.entry(), sums: sums.as_ref() };
    // SAFETY: the arguments are of the parameters' types; `lay_out` and `call` keep what their arrays point to.
    unsafe { Pool::global().launch(code, packed.as_ptr(), bounds, fault) };
    Ok(())
}

/// Launches a kernel over thread blocks. Reports of the program's own sites are left out of `module`, so the program
/// comes back.
pub fn launch_blocks(
    module: &Module,
    kernel: FuncRef,
    args: &[InterpValue],
    bounds: &BlockBounds,
    fault: &Fault,
) -> Result<Module, String> {
    let name = module.func(kernel).name.clone();
    let mut module = module.clone();
    transform::optimize(&mut module);
    let _ = transform::fission_barriers(&mut module).map_err(|refused| refused.to_string())?;
    transform::optimize(&mut module);
    let kernel = module.find(&name).ok_or("the kernel is gone")?;
    let object = codegen::compile(&module, kernel, &CpuOptions::default()).map_err(|error| error.to_string())?;
    let loaded = codegen::load(&object, &codegen::symbol(&module, kernel)).map_err(|error| error.to_string())?;
    let packed = pack(args);
    let waits_for_grid = module.func(kernel).insts.iter().any(|inst| inst.op == Op::GridBarrier);
    // SAFETY: as in `launch`.
    unsafe {
        let (pool, entry) = (Pool::global(), loaded.block_entry());
        if waits_for_grid {
            pool.launch_grid(entry, packed.as_ptr(), bounds, fault).map_err(|error| error.to_string())?;
        } else {
            pool.launch_blocks(entry, packed.as_ptr(), bounds, fault);
        }
    }
    Ok(module)
}

/// Calls a function; `None` where a result is an array, which has no place to be stored.
pub fn call(
    module: &Module,
    func: FuncRef,
    args: &[InterpValue],
    fault: &Fault,
) -> Result<Option<Vec<InterpValue>>, String> {
    let types = module.func(func).results.clone();
    if types.iter().any(|ty| ty.leaves().iter().any(|leaf| !matches!(leaf.kind, ir::LeafKind::Scalar(_)))) {
        return Ok(None);
    }
    let mut with_kernel = module.clone();
    let kernel = wrap(module, func);
    with_kernel.funcs.push(kernel);
    let kernel = FuncRef(module.funcs.len() as u32);
    let mut memory: Vec<Vec<u64>> = types.iter().map(|ty| vec![0; (ty.size() as usize).div_ceil(8).max(1)]).collect();
    let mut args = args.to_vec();
    for (words, &ty) in memory.iter_mut().zip(&types) {
        args.push(InterpValue::array(ty, words.as_mut_ptr() as u64, &[1]));
    }
    launch(&with_kernel, kernel, &args, &LaunchBounds::new([1; 4]), fault)?;
    let read = |(words, &ty): (&Vec<u64>, &Type)| {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        InterpValue::from_bytes(ty, &bytes[..ty.size() as usize])
    };
    Ok(Some(memory.iter().zip(&types).map(read).collect()))
}

/// `kernel @"call of f"(parameters, an array for each result) { store call @f(parameters) }`.
pub fn wrap(module: &Module, func: FuncRef) -> Function {
    let callee = module.func(func);
    let mut params = callee.params.clone();
    let out = |ty: &Type| Param { name: "out".into(), ty: Type::array(*ty, 1) };
    params.extend(callee.results.iter().map(out));
    let mut kernel = Function::new(format!("call of {}", callee.name), FunctionKind::Kernel, params, Vec::new());
    let mut b = Builder::new(&mut kernel);
    let all = b.func.region(b.func.body).params.clone();
    let (args, outs) = all.split_at(callee.params.len());
    let call = b.push(Op::Call, args, Attr::Func(func), &[], &callee.results);
    let zero = b.int(Scalar::I64, 0);
    for (i, &out) in outs.iter().enumerate() {
        let result = b.func.inst(call).results[i];
        b.store(out, &[zero], &[], &[], result);
    }
    b.ret(&[]);
    kernel
}

/// Arguments one after the other, each aligned to 8 bytes.
pub fn pack(args: &[InterpValue]) -> Vec<u8> {
    let mut packed = Vec::new();
    for arg in args {
        packed.resize(packed.len().next_multiple_of(8), 0);
        packed.extend(arg.to_bytes());
    }
    packed
}
