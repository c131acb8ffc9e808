//! A function for other compilers to call: `.visible .func`, with arguments and result as C passes them.
//!
//! In: a kernel over blocks whose first parameter, `returned`, is an array that gets the result; without it the function
//! gives nothing. Named `returned_to`, the result goes to an address that the caller passes first, and what is returned
//! is 0, as Numba's device functions do. Out: PTX. The kernel becomes a function inside, which is written out into the one that packs its
//! arguments, so that nothing of the packing is left:
//!
//! ```text
//! kernel add(returned: array<f32, 1>, v1: f32, v2: f32)    ->    .visible .func (.param .b32 func_retval0) add(…, …)
//! ```

use super::{FLUSHED, Level, Ptx, PtxOptions, build, optimize, target_machine};
use crate::llvm::types::{bits_type, pointer, scalar_type};
use crate::{Error, Result};
use diagnostics::SourceMap;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::context::Context;
use inkwell::module::{Linkage, Module as LlvmModule};
use inkwell::targets::FileType;
use inkwell::types::{BasicType, BasicTypeEnum};
use inkwell::values::{BasicValue, FunctionValue};
use ir::{FuncRef, Function, Module, Scalar, Type};

/// Names of the parameter that stands for the result: C's way to return it, and Numba's.
pub const RETURNED: [&str; 2] = ["returned", "returned_to"];

/// Elements of memory behind a pointer, in bytes: no end is known.
const ENDLESS: u64 = 1 << 62;

/// Compiles a function of numbers and of pointers to device memory.
pub fn compile_function(
    module: &Module,
    kernel: FuncRef,
    options: &PtxOptions,
    sources: Option<&SourceMap>,
) -> Result<String> {
    let ctx = Context::create();
    let options = PtxOptions { aligned: false, is_function: true, ..*options };
    let machine = target_machine(&options)?;
    let func = module.funcs.get(kernel.index()).ok_or_else(|| Error::Invalid("no such function".into()))?;
    let (llvm, facts, level, table) = build(&ctx, &machine, module, kernel, &options, sources)?;
    if facts.has_checks || facts.is_cooperative || facts.shared_bytes > 0 {
        let text = "a function for other compilers has no checks, no shared memory and no barrier of the grid";
        return Err(Error::Unsupported(text.into()));
    }
    let outer = wrap(&ctx, &llvm, func, &facts)?;
    if module.fast_math {
        // As in the kernel that is written out into it: instructions count subnormal f32 as 0.
        let kind = Attribute::get_named_enum_kind_id("denormal_fpenv");
        outer.add_attribute(AttributeLoc::Function, ctx.create_enum_attribute(kind, FLUSHED));
    }
    if let Some(table) = table {
        table.wrap(outer);
    }
    optimize(&llvm, &machine, if level == Level::None { level } else { Level::Full })?;
    let text = machine
        .write_to_memory_buffer(&llvm, FileType::Assembly)
        .map_err(|error| Error::llvm("PTX", error.to_string()))?;
    Ok(String::from_utf8_lossy(text.as_slice()).trim_end_matches('\0').to_string())
}

/// What C passes for a value of a type: a bool is a byte.
pub(super) fn c_type(ctx: &Context, ty: Type) -> Result<BasicTypeEnum<'_>> {
    match (ty.as_scalar(), ty.as_array()) {
        (Some(Scalar::Bool), _) => Ok(ctx.i8_type().into()),
        (Some(scalar @ (Scalar::F16 | Scalar::BF16)), _) => Ok(bits_type(ctx, scalar).into()),
        (Some(scalar), _) => Ok(scalar_type(ctx, scalar)),
        (_, Some((_, 1))) => Ok(pointer(ctx).into()),
        _ => {
            Err(Error::Unsupported("a function for other compilers takes and gives numbers, and takes pointers".into()))
        }
    }
}

/// Adds the function that others call.
fn wrap<'c>(ctx: &'c Context, llvm: &LlvmModule<'c>, func: &Function, facts: &Ptx) -> Result<FunctionValue<'c>> {
    let inner = llvm.get_function(&facts.entry).ok_or_else(|| Error::Invalid("the kernel is gone".into()))?;
    inner.set_call_conventions(0);
    inner.set_linkage(Linkage::Internal);
    for param in 0..2 {
        inner.remove_enum_attribute(AttributeLoc::Param(param), Attribute::get_named_enum_kind_id("byval"));
        inner.remove_string_attribute(AttributeLoc::Param(param), "nvvm.grid_constant");
    }
    for bound in ["nvvm.maxntid", "nvvm.maxnreg", "nvvm.minctasm", "nvvm.maxclusterrank"] {
        inner.remove_string_attribute(AttributeLoc::Function, bound);
    }
    let always = ctx.create_enum_attribute(Attribute::get_named_enum_kind_id("alwaysinline"), 0);
    inner.add_attribute(AttributeLoc::Function, always);

    let types: Vec<Type> = func.params.iter().map(|param| param.ty).collect();
    let result = match (func.params.first(), types.first().and_then(|ty| ty.as_array())) {
        (Some(first), Some((elem, _))) if RETURNED.contains(&first.name.as_str()) => Some(c_type(ctx, elem)?),
        _ => None,
    };
    let by_address = func.params.first().is_some_and(|first| first.name == RETURNED[1]);
    let given = &types[usize::from(result.is_some() && !by_address)..];
    let params = given.iter().map(|&ty| c_type(ctx, ty).map(Into::into)).collect::<Result<Vec<_>>>()?;
    let signature = match result {
        Some(_) if by_address => ctx.i32_type().fn_type(&params, false),
        Some(result) => result.fn_type(&params, false),
        None => ctx.void_type().fn_type(&params, false),
    };
    let outer = llvm.add_function(&func.name.replace('.', "_"), signature, None);
    let b = ctx.create_builder();
    b.position_at_end(ctx.append_basic_block(outer, "entry"));
    let (bytes, word) = (ctx.i8_type(), ctx.i64_type());
    let aligned = |size: u64| -> Result<_> {
        let made = b.build_alloca(bytes.array_type(size as u32), "")?;
        if let Some(inst) = made.as_instruction_value() {
            inst.set_alignment(8).map_err(|error| Error::llvm("alignment", error.to_string()))?;
        }
        Ok(made)
    };
    let (args, bounds) = (aligned(facts.args_bytes)?, aligned(facts.bounds_bytes)?);
    let slot = result.map(|ty| b.build_alloca(ty, "")).transpose()?;
    let mut offset = 0;
    let given = outer.get_param_iter().skip(usize::from(by_address));
    let mut values = slot.map(|slot| slot.as_basic_value_enum()).into_iter().chain(given);
    for &ty in &types {
        let place = |at: u64| -> Result<_> {
            // SAFETY: LLVM's precondition, not Rust's: all arguments lie within `args_bytes`.
            Ok(unsafe { b.build_in_bounds_gep(bytes, args, &[word.const_int(offset + at, false)], "")? })
        };
        let value = values.next().ok_or_else(|| Error::Invalid("an argument is missing".into()))?;
        b.build_store(place(0)?, value)?;
        if let Some((elem, _)) = ty.as_array() {
            let size = elem.size().max(1);
            b.build_store(place(8)?, word.const_int(ENDLESS / size, false))?;
            b.build_store(place(16)?, word.const_int(size, false))?;
        }
        offset = (offset + ty.size()).next_multiple_of(8);
    }
    b.build_call(inner, &[args.into(), bounds.into(), word.const_zero().into()], "")?;
    match (result, slot) {
        (Some(ty), Some(slot)) => {
            let loaded = b.build_load(ty, slot, "")?;
            match outer.get_first_param().filter(|_| by_address) {
                Some(address) => {
                    b.build_store(address.into_pointer_value(), loaded)?;
                    b.build_return(Some(&ctx.i32_type().const_zero()))?;
                }
                None => {
                    b.build_return(Some(&loaded))?;
                }
            }
        }
        _ => {
            b.build_return(None)?;
        }
    }
    Ok(outer)
}
