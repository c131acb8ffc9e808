//! The few functions that code for the GPU calls: `device.ll`, linked into a kernel that needs it.

use crate::{Error, Result};
use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::{Linkage, Module as LlvmModule};

/// Functions that code for the GPU may call, in LLVM's text.
const DEVICE_FUNCTIONS: &str = include_str!("device.ll");

/// Defines the functions of `device.ll` that the module calls.
pub(super) fn link<'c>(ctx: &'c Context, llvm: &LlvmModule<'c>) -> Result<()> {
    if llvm.get_function("gs_fmod").is_none() {
        return Ok(());
    }
    let text = MemoryBuffer::create_from_memory_range_copy(DEVICE_FUNCTIONS.as_bytes(), "device.ll");
    let library = ctx.create_module_from_ir(text).map_err(|error| Error::llvm("device.ll", error.to_string()))?;
    library.set_triple(&llvm.get_triple());
    library.set_data_layout(&llvm.get_data_layout());
    llvm.link_in_module(library).map_err(|error| Error::llvm("linking device.ll", error.to_string()))?;
    if let Some(function) = llvm.get_function("gs_fmod") {
        function.set_linkage(Linkage::Internal);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkwell::targets::FileType;

    /// `device.ll` as machine code of this machine.
    fn fmod() -> (crate::LoadedModule, extern "C" fn(f64, f64) -> f64) {
        let ctx = Context::create();
        let machine = crate::x86::target_machine(crate::Isa::Baseline).expect("this machine");
        let llvm = ctx.create_module("fmod");
        let double = ctx.f64_type();
        llvm.add_function("gs_fmod", double.fn_type(&[double.into(); 2], false), None);
        llvm.set_triple(&machine.get_triple());
        llvm.set_data_layout(&machine.get_target_data().get_data_layout());
        link(&ctx, &llvm).expect("it links");
        llvm.get_function("gs_fmod").expect("it is there").set_linkage(Linkage::External);
        let object = machine.write_to_memory_buffer(&llvm, FileType::Object).expect("an object");
        let loaded = crate::load(object.as_slice(), "gs_fmod").expect("it loads");
        // SAFETY: the symbol is this function, and lives as long as the module beside it.
        let function =
            unsafe { std::mem::transmute::<runtime::EntryPoint, extern "C" fn(f64, f64) -> f64>(loaded.entry()) };
        (loaded, function)
    }

    #[test]
    fn fmod_is_exact() {
        let (_loaded, fmod) = fmod();
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            state ^ (state >> 29)
        };
        let special =
            [0.0, -0.0, 1.0, -1.5, 5e-324, 2.2e-308, f64::MIN_POSITIVE, f64::MAX, f64::INFINITY, f64::NAN, 0.1];
        let mut pairs: Vec<(f64, f64)> = special.iter().flat_map(|&x| special.iter().map(move |&y| (x, y))).collect();
        pairs.extend((0..20_000).map(|_| (f64::from_bits(next()), f64::from_bits(next()))));
        // Close exponents, and subnormal numbers.
        pairs.extend((0..20_000).map(|_| (next() as f64, (next() >> 40) as f64)));
        pairs.extend((0..2_000).map(|_| (f64::from_bits(next() >> 10), f64::from_bits(next() >> 12))));
        for (x, y) in pairs {
            let (found, expected) = (fmod(x, y), x % y);
            assert!(
                found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan(),
                "{x:e} % {y:e} = {found:e}"
            );
        }
    }
}
