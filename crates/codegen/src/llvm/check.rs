//! Checks that may end the thread with a report, and printing: what a kernel says to the host.

use super::Lowering;
use super::arithmetic::element;
use super::types::{self, Leaf};
use super::value::as_int;
use crate::{Error, Result};
use inkwell::IntPredicate;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::basic_block::BasicBlock;
use inkwell::module::Linkage;
use inkwell::types::BasicMetadataTypeEnum;
use inkwell::values::{FunctionValue, IntValue, PointerValue};
use ir::{Attr, Class, Inst, Op, Scalar};
use smallvec::SmallVec;

/// Words of the failing thread's index, then of the values: a check of four indices reports eight.
const FAULT_WORDS: u64 = 4 + 8;

impl<'c> Lowering<'c, '_> {
    pub(crate) fn check(&mut self, inst: &Inst) -> Result<()> {
        let Attr::Site(site) = inst.attr else {
            return Err(Error::Invalid(format!("`{}` without a site", inst.op.name())));
        };
        let first = inst.operands[0];
        let mut values = SmallVec::<[IntValue<'c>; 8]>::new();
        let ok = match inst.op {
            Op::CheckBounds => {
                let array = self.array(first)?;
                let mut ok = self.builder.build_is_not_null(array.base, "")?;
                for (&index, &extent) in inst.operands[1..].iter().zip(&array.extents) {
                    let index = self.int(index)?;
                    values.push(index);
                    ok = self.builder.build_and(ok, self.below(index, extent)?, "")?;
                }
                values.extend(array.extents);
                ok
            }
            Op::CheckIndex => {
                values.extend([self.int(first)?, self.int(inst.operands[1])?]);
                self.below(values[0], values[1])?
            }
            Op::CheckConverged => {
                values.extend([self.int(inst.operands[1])?, self.int(inst.operands[2])?]);
                self.int(first)?
            }
            Op::CheckNonZero => {
                let any = self.any_component(first, |this, leaf| {
                    let x = as_int(leaf)?;
                    Ok(this.builder.build_int_compare(IntPredicate::EQ, x, x.get_type().const_zero(), "")?)
                })?;
                self.builder.build_not(any, "")?
            }
            Op::CheckFinite => {
                let elem = element(self.func.ty(first))?;
                let any = self.any_component(first, |this, leaf| {
                    let finite = this.is_finite(this.widen(elem, leaf)?)?;
                    Ok(this.builder.build_not(finite, "")?)
                })?;
                self.builder.build_not(any, "")?
            }
            _ => self.int(first)?,
        };
        if self.device.is_some() {
            return self.report_unless(ok, site.0, &values);
        }
        self.fail_unless(ok, u64::from(site.0), &values)
    }

    /// 0 <= index < extent, in one comparison: a negative index is a huge unsigned one.
    fn below(&self, index: IntValue<'c>, extent: IntValue<'c>) -> Result<IntValue<'c>> {
        let b = &self.builder;
        let small = b.build_int_compare(IntPredicate::ULT, index, extent, "")?;
        // An extent below zero has no index in range.
        let not_negative = b.build_int_compare(IntPredicate::SGE, extent, extent.get_type().const_zero(), "")?;
        Ok(b.build_and(small, not_negative, "")?)
    }

    fn fail_unless(&mut self, ok: IntValue<'c>, site: u64, values: &[IntValue<'c>]) -> Result<()> {
        if values.len() as u64 > FAULT_WORDS - 4 {
            return Err(Error::Invalid("a check reports too many values".into()));
        }
        let words = self.fault_words()?;
        let (go_on, fail) = (self.block(), self.block());
        self.branch_likely(ok, go_on, fail)?;
        self.builder.position_at_end(fail);
        for (i, &word) in (0u64..).zip(&self.reported_index()?) {
            self.builder.build_store(self.at_byte(words, 8 * i)?, word)?;
        }
        for (i, &word) in (4u64..).zip(values) {
            self.builder.build_store(self.at_byte(words, 8 * i)?, word)?;
        }
        let report = self.report_function();
        let number = |n: u64| self.ctx.i32_type().const_int(n, false).into();
        let at_values = self.at_byte(words, 32)?;
        let args =
            [self.thread.fault.into(), number(site), words.into(), at_values.into(), number(values.len() as u64)];
        self.builder.build_call(report, &args, "")?;
        self.builder.build_unconditional_branch(self.thread.end)?;
        self.builder.position_at_end(go_on);
        Ok(())
    }

    /// Branches to `go_on` nearly always.
    pub(crate) fn branch_likely(
        &self,
        ok: IntValue<'c>,
        go_on: BasicBlock<'c>,
        otherwise: BasicBlock<'c>,
    ) -> Result<()> {
        let branch = self.builder.build_conditional_branch(ok, go_on, otherwise)?;
        let weight = |n: u64| self.ctx.i32_type().const_int(n, false).into();
        let weights = [self.ctx.metadata_string("branch_weights").into(), weight(1 << 20), weight(1)];
        let kind = self.ctx.get_kind_id("prof");
        branch
            .set_metadata(self.ctx.metadata_node(&weights), kind)
            .map_err(|error| Error::llvm("branch weights", error))
    }

    /// Memory for a report; a thread fails only once, so that one place serves every check.
    fn fault_words(&mut self) -> Result<PointerValue<'c>> {
        if let Some(words) = self.fault_words {
            return Ok(words);
        }
        let words = self.reserve(8 * FAULT_WORDS)?;
        self.fault_words = Some(words);
        Ok(words)
    }

    /// `gs_fault(fault, site, thread, values, n_values)` of `runtime::abi`.
    fn report_function(&self) -> FunctionValue<'c> {
        let (ptr, int) = (types::pointer(self.ctx).into(), self.ctx.i32_type().into());
        self.runtime_function("gs_fault", &[ptr, int, ptr, ptr, int], &["nounwind", "cold"])
    }

    fn runtime_function(
        &self,
        name: &str,
        params: &[BasicMetadataTypeEnum<'c>],
        attributes: &[&str],
    ) -> FunctionValue<'c> {
        self.llvm.get_function(name).unwrap_or_else(|| {
            let function = self.llvm.add_function(name, self.ctx.void_type().fn_type(params, false), None);
            for attribute in attributes {
                let kind = Attribute::get_named_enum_kind_id(attribute);
                function.add_attribute(AttributeLoc::Function, self.ctx.create_enum_attribute(kind, 0));
            }
            function
        })
    }

    /// `gs_print(format, format_len, args, n_args)`: every scalar as a 64-bit word.
    pub(crate) fn print(&mut self, inst: &Inst) -> Result<()> {
        let Attr::Text(text) = &inst.attr else { return Err(Error::Invalid("`print` without a text".into())) };
        let mut words = Vec::new();
        for &operand in &inst.operands {
            let scalar = self.func.ty(operand).as_scalar();
            let scalar = scalar.ok_or_else(|| Error::Invalid("`print` of what is no scalar".into()))?;
            words.push(self.print_word(scalar, self.leaf(operand)?)?);
        }
        if self.device.is_some() {
            return self.device_print(text, &words);
        }
        let args = self.reserve(8 * words.len() as u64)?;
        for (i, &word) in (0u64..).zip(&words) {
            self.builder.build_store(self.at_byte(args, 8 * i)?, word)?;
        }
        let bytes = self.ctx.const_string(text.as_bytes(), false);
        let global = self.llvm.add_global(bytes.get_type(), None, "");
        global.set_initializer(&bytes);
        global.set_linkage(Linkage::Private);
        global.set_constant(true);
        global.set_unnamed_addr(true);
        let (ptr, word) = (types::pointer(self.ctx).into(), self.ctx.i64_type().into());
        let function = self.runtime_function("gs_print", &[ptr, word, ptr, word], &["nounwind"]);
        let (len, n) = (self.i64(text.len() as u64), self.i64(words.len() as u64));
        let args = [global.as_pointer_value().into(), len.into(), args.into(), n.into()];
        self.builder.build_call(function, &args, "")?;
        Ok(())
    }

    fn print_word(&self, scalar: Scalar, x: Leaf<'c>) -> Result<IntValue<'c>> {
        let wide = match scalar.class() {
            Class::Float => self.cast(scalar, Scalar::F64, x)?,
            _ if scalar.is_signed() => self.cast(scalar, Scalar::I64, x)?,
            _ => self.cast(scalar, Scalar::U64, x)?,
        };
        as_int(self.builder.build_bit_cast(wide, self.ctx.i64_type(), "")?)
    }
}
