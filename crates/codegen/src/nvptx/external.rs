//! Calls of functions of other code, which the driver links with the kernel: `.extern .func`.
//!
//! ```text
//! v5: i32 = call_extern "times2", v3, v4    ->    call (retval0), times2, (param0, param1);
//! ```

use super::function::c_type;
use crate::llvm::Lowering;
use crate::llvm::types::scalar_type;
use crate::llvm::value::as_int;
use crate::{Error, Result};
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::types::{BasicType, FunctionType};
use inkwell::values::{BasicMetadataValueEnum, FunctionValue};
use ir::{Attr, Inst, Scalar, Type, Value};

impl<'c> Lowering<'c, '_> {
    pub(super) fn call_extern(&mut self, inst: &Inst) -> Result<()> {
        let Attr::Text(name) = &inst.attr else {
            return Err(Error::Invalid("`call_extern` names no function".into()));
        };
        let types = |values: &[Value]| -> Vec<Type> { values.iter().map(|&value| self.func.ty(value)).collect() };
        let (given, results) = (types(&inst.operands), types(&inst.results));
        let params = given.iter().map(|&ty| c_type(self.ctx, ty).map(Into::into)).collect::<Result<Vec<_>>>()?;
        let signature = match results.first() {
            Some(&ty) => c_type(self.ctx, ty)?.fn_type(&params, false),
            None => self.ctx.void_type().fn_type(&params, false),
        };
        let function = self.declared(name, signature)?;
        let mut args: Vec<BasicMetadataValueEnum<'c>> = Vec::new();
        for (&value, ty) in inst.operands.iter().zip(&given) {
            let leaf = self.leaf(value)?;
            args.push(match ty.as_scalar() {
                // C's bool is a byte.
                Some(Scalar::Bool) => self.builder.build_int_z_extend(as_int(leaf)?, self.ctx.i8_type(), "")?.into(),
                _ => leaf.into(),
            });
        }
        let call = self.builder.build_call(function, &args, "")?;
        let [result] = inst.results[..] else { return Ok(()) };
        let found = call.try_as_basic_value().basic();
        let mut found = found.ok_or_else(|| Error::llvm("call", format!("`{name}` gives nothing")))?;
        if let Some(scalar @ Scalar::Bool) = self.func.ty(result).as_scalar() {
            let bit = scalar_type(self.ctx, scalar).into_int_type();
            found = self.builder.build_int_truncate(as_int(found)?, bit, "")?.into();
        }
        self.define(result, found.into());
        Ok(())
    }

    /// The declaration of a function by its name. One name has one signature.
    fn declared(&self, name: &str, signature: FunctionType<'c>) -> Result<FunctionValue<'c>> {
        if let Some(known) = self.llvm.get_function(name) {
            if known.get_type() != signature {
                let text = format!("the external function `{name}` is declared with two signatures");
                return Err(Error::Unsupported(text));
            }
            return Ok(known);
        }
        let function = self.llvm.add_function(name, signature, None);
        // It may wait for other threads.
        let convergent = Attribute::get_named_enum_kind_id("convergent");
        function.add_attribute(AttributeLoc::Function, self.ctx.create_enum_attribute(convergent, 0));
        Ok(function)
    }
}
