//! Indices in 32 bits, where the launch has found every array to have fewer than 2^31 elements.
//!
//! In: a lowering whose arguments are such arrays. Out: what `wrap_index`, the remainder by an extent and the address
//! of an element take of 32-bit instructions: a GPU's integers have that many bits, and 64 take two or three each.

use crate::llvm::Lowering;
use crate::llvm::control::Frame;
use crate::llvm::lanes::n_lanes;
use crate::llvm::memory::Array;
use crate::{Error, Result};
use inkwell::IntPredicate;
use inkwell::intrinsics::Intrinsic;
use inkwell::values::{BasicValue, InstructionOpcode, IntValue};
use ir::op::Effect;
use ir::{Function, Inst, Op, Scalar, Type, Value, ValueDef};
use std::collections::HashSet;

/// What is known of array parameters.
#[derive(Default)]
pub(crate) struct Short {
    /// All have fewer than 2^31 elements.
    pub is_given: bool,
    /// Those that every thread reads or writes, so that they have elements.
    nonempty: HashSet<Value>,
    /// Elements are numbered in 32 bits. In loops one address a row is better: what is added to it is known then.
    numbers_elements: bool,
}

impl Short {
    pub(super) fn of(func: &Function, is_given: bool, is_coarsened: bool) -> Short {
        if !is_given {
            return Short::default();
        }
        let has_loop = !transform::exits::all(func, func.body, transform::exits::is_loop).is_empty();
        Short { is_given, nonempty: nonempty(func), numbers_elements: !has_loop && !is_coarsened }
    }

    /// The least extent of a parameter.
    pub(super) fn least_extent(&self, param: Value) -> u64 {
        self.nonempty.contains(&param).into()
    }
}

/// Parameters that all threads access, before anything could end them.
fn nonempty(func: &Function) -> HashSet<Value> {
    let mut found = HashSet::new();
    for &id in &func.region(func.body).insts {
        let inst = func.inst(id);
        match (inst.op, inst.op.effect()) {
            (Op::Load | Op::Store | Op::Atomic | Op::AtomicCas, _) => {
                found.insert(inst.operands[0]);
            }
            (_, Effect::Pure) | (Op::LocalArray, _) => {}
            _ => break,
        }
    }
    found
}

impl<'c> Lowering<'c, '_> {
    fn short(&self) -> Option<&Short> {
        self.device.as_ref().map(|device| &device.short).filter(|short| short.is_given && self.gang.is_none())
    }

    /// Whether an array is a parameter, or a row of one.
    fn is_short(&self, array: Value) -> bool {
        match self.func.def(array) {
            ValueDef::Param(region, _) => region == self.func.body,
            ValueDef::Result(id, _) => {
                let inst = self.func.inst(id);
                inst.op == Op::Row && self.is_short(inst.operands[0])
            }
        }
    }

    /// The i32 that an index was.
    fn index_before_cast(&self, index: Value) -> Result<Option<IntValue<'c>>> {
        let cast = self.def(index).filter(|def| def.op == Op::Cast && self.func.ty(def.operands[0]) == Type::i32());
        let Some(cast) = cast else { return Ok(None) };
        Ok(Some(self.int(cast.operands[0])?).filter(|x| n_lanes(x).is_none()))
    }

    /// `wrap_index` of an i32.
    pub(crate) fn short_wrap(&self, inst: &Inst, extent: IntValue<'c>) -> Result<Option<IntValue<'c>>> {
        if self.short().is_none() || !self.is_short(inst.operands[0]) {
            return Ok(None);
        }
        let Some(index) = self.index_before_cast(inst.operands[1])? else { return Ok(None) };
        let (b, wide) = (&self.builder, self.ctx.i64_type());
        let rest = self.def(inst.operands[1]).and_then(|cast| self.def(cast.operands[0]));
        if let Some(rest) = rest.filter(|rest| rest.op == Op::Rem && self.is_repeated())
            && let Some((array, n)) = self.divides_by_extent(rest)?
            && self.is_extent_of(rest.operands[1], inst)
        {
            let place = self.wrapped_rest(self.int(rest.operands[0])?, n, array)?;
            return Ok(Some(b.build_int_s_extend(place, wide, "")?));
        }
        let int = self.ctx.i32_type();
        let extent = b.build_int_truncate(extent, int, "")?;
        let is_negative = b.build_int_compare(IntPredicate::SLT, index, int.const_zero(), "")?;
        let wrapped = self.select_int(is_negative, b.build_int_add(index, extent, "")?, index)?;
        Ok(Some(b.build_int_s_extend(wrapped, wide, "")?))
    }

    fn is_repeated(&self) -> bool {
        self.frames.iter().any(|frame| matches!(frame, Frame::Loop { .. }))
    }

    /// Whether a value is the extent that a `wrap_index` adds.
    fn is_extent_of(&self, value: Value, wrap: &Inst) -> bool {
        let extent = self.def(value).and_then(|cast| self.def(cast.operands[0]));
        extent.is_some_and(|extent| extent.operands[0] == wrap.operands[0] && extent.attr == wrap.attr)
    }

    /// The array of a remainder's divisor, and that divisor: an extent cast to i32.
    fn divides_by_extent(&self, inst: &Inst) -> Result<Option<(Value, IntValue<'c>)>> {
        let is_rest = matches!(inst.op, Op::Rem | Op::Mod) && self.func.ty(inst.result()) == Type::scalar(Scalar::I32);
        if self.short().is_none() || !is_rest {
            return Ok(None);
        }
        let cast = self.def(inst.operands[1]).filter(|cast| cast.op == Op::Cast);
        let extent = cast.and_then(|cast| self.def(cast.operands[0])).filter(|def| def.op == Op::Extent);
        let Some(array) = extent.map(|extent| extent.operands[0]).filter(|&array| self.is_short(array)) else {
            return Ok(None);
        };
        let (x, n) = (self.int(inst.operands[0])?, self.int(inst.operands[1])?);
        Ok((n_lanes(&x).is_none() && n_lanes(&n).is_none()).then_some((array, n)))
    }

    /// A divisor that is not 0, and whether the extent was; `None` where it cannot be.
    fn divisor(&self, n: IntValue<'c>, array: Value) -> Result<(IntValue<'c>, Option<IntValue<'c>>)> {
        if self.short().is_some_and(|short| short.nonempty.contains(&array)) {
            return Ok((n, None));
        }
        let one = n.get_type().const_int(1, false);
        let is_empty = self.builder.build_int_compare(IntPredicate::EQ, n, n.get_type().const_zero(), "")?;
        Ok((self.select_int(is_empty, one, n)?, Some(is_empty)))
    }

    /// (2^32 - 1) / n, or 0 where n is 1 and `is_signed`; and -n. They stand where n does: in front of the loop.
    fn reciprocal(&self, n: IntValue<'c>, is_signed: bool) -> Result<[IntValue<'c>; 2]> {
        let b = self.ctx.create_builder();
        let def = n.as_instruction_value().filter(|def| def.get_opcode() != InstructionOpcode::Phi);
        match def.and_then(|def| def.get_next_instruction()) {
            Some(next) => b.position_before(&next),
            None => b.position_at_end(self.current()?),
        }
        let int = n.get_type();
        let mut magic = b.build_int_unsigned_div(int.const_all_ones(), n, "")?;
        if is_signed {
            let is_one = b.build_int_compare(IntPredicate::EQ, n, int.const_int(1, false), "")?;
            magic = b.build_select(is_one, int.const_zero(), magic, "")?.into_int_value();
        }
        Ok([magic, b.build_int_neg(n, "")?])
    }

    /// x mod n, n where x is negative and n the extent that it is wrapped by: the place of element x rem n.
    ///
    /// With m = (2^32 - 1) / n rounded down, at most 2^31 - 1, x m / 2^32 rounded down is the quotient, or one off. For
    /// n = 1, whose m is larger, the place is that of x = 0.
    fn wrapped_rest(&self, x: IntValue<'c>, n: IntValue<'c>, array: Value) -> Result<IntValue<'c>> {
        let (divisor, _) = self.divisor(n, array)?;
        let (b, int, wide) = (&self.builder, x.get_type(), self.ctx.i64_type());
        let is_one = b.build_int_compare(IntPredicate::EQ, divisor, int.const_int(1, false), "")?;
        let x = self.select_int(is_one, int.const_zero(), x)?;
        let [magic, minus] = self.reciprocal(divisor, true)?;
        let [long, by] = [b.build_int_s_extend(x, wide, "")?, b.build_int_s_extend(magic, wide, "")?];
        let product = b.build_int_nsw_mul(long, by, "")?;
        let quotient = b.build_right_shift(product, wide.const_int(32, false), true, "")?;
        let quotient = b.build_int_truncate(quotient, int, "")?;
        let rest = b.build_int_add(b.build_int_mul(quotient, minus, "")?, x, "")?;
        // From -n to below 2 n. What is not negative is the lesser without a sign.
        let rest = self.lesser(rest, b.build_int_add(rest, divisor, "")?)?;
        self.lesser(rest, b.build_int_add(rest, minus, "")?)
    }

    fn lesser(&self, x: IntValue<'c>, y: IntValue<'c>) -> Result<IntValue<'c>> {
        let function = Intrinsic::find("llvm.umin")
            .and_then(|intrinsic| intrinsic.get_declaration(self.llvm, &[x.get_type().into()]))
            .ok_or_else(|| Error::llvm("intrinsic", "llvm.umin"))?;
        let call = self.builder.build_call(function, &[x.into(), y.into()], "")?;
        Ok(call.try_as_basic_value().unwrap_basic().into_int_value())
    }

    /// The rest of x >= 0, in 32 bits without a sign.
    fn unsigned_rest(&self, x: IntValue<'c>, n: IntValue<'c>) -> Result<IntValue<'c>> {
        let (b, int, wide) = (&self.builder, x.get_type(), self.ctx.i64_type());
        if !self.is_repeated() {
            return Ok(b.build_int_unsigned_rem(x, n, "")?);
        }
        // x m / 2^32, with m as above, is the quotient or one less.
        let [magic, minus] = self.reciprocal(n, false)?;
        let [long, by] = [b.build_int_z_extend(x, wide, "")?, b.build_int_z_extend(magic, wide, "")?];
        let product = b.build_int_nuw_mul(long, by, "")?;
        let quotient = b.build_right_shift(product, wide.const_int(32, false), false, "")?;
        let quotient = b.build_int_truncate(quotient, int, "")?;
        let rest = b.build_int_add(b.build_int_mul(quotient, minus, "")?, x, "")?;
        self.lesser(rest, b.build_int_add(rest, minus, "")?)
    }

    /// The rest by an extent, which is not negative: of the absolute value, with the dividend's sign (`rem`) or without
    /// (`mod`).
    pub(crate) fn short_rest(&self, inst: &Inst) -> Result<Option<IntValue<'c>>> {
        let Some((array, n)) = self.divides_by_extent(inst)? else { return Ok(None) };
        let x = self.int(inst.operands[0])?;
        let (divisor, is_empty) = self.divisor(n, array)?;
        let (b, zero) = (&self.builder, x.get_type().const_zero());
        let is_negative = b.build_int_compare(IntPredicate::SLT, x, zero, "")?;
        let size = self.select_int(is_negative, b.build_int_neg(x, "")?, x)?;
        let rest = self.unsigned_rest(size, divisor)?;
        let signed = if inst.op == Op::Rem {
            self.select_int(is_negative, b.build_int_neg(rest, "")?, rest)?
        } else {
            let is_whole = b.build_int_compare(IntPredicate::EQ, rest, zero, "")?;
            let complement = self.select_int(is_whole, zero, b.build_int_sub(divisor, rest, "")?)?;
            self.select_int(is_negative, complement, rest)?
        };
        // x by 0 leaves x.
        Ok(Some(is_empty.map_or(Ok(signed), |is_empty| self.select_int(is_empty, x, signed))?))
    }

    /// How far from an array's base an element lies, in bytes, by its number row by row.
    pub(crate) fn short_offset(&self, inst: &Inst, array: &Array<'c>) -> Result<Option<IntValue<'c>>> {
        let rank = array.extents.len();
        let is_param =
            matches!(self.func.def(inst.operands[0]), ValueDef::Param(region, _) if region == self.func.body);
        if rank < 2 || !is_param || !self.short().is_some_and(|short| short.numbers_elements) {
            return Ok(None);
        }
        let (b, int) = (&self.builder, self.ctx.i32_type());
        let mut number = int.const_zero();
        for (dim, &index) in inst.operands[1..=rank].iter().enumerate() {
            let index = self.int(index)?;
            if n_lanes(&index).is_some() {
                return Ok(None);
            }
            let index = b.build_int_truncate(index, int, "")?;
            let row = b.build_int_mul(number, b.build_int_truncate(array.extents[dim], int, "")?, "")?;
            number = if dim == 0 { index } else { b.build_int_add(row, index, "")? };
        }
        let number = b.build_int_z_extend(number, self.ctx.i64_type(), "")?;
        Ok(Some(b.build_int_nuw_mul(number, self.i64(array.elem.size()), "")?))
    }
}
