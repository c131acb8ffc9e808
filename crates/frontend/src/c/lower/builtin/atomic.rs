//! Atomic functions: one step each; they give what was there.

use super::{Call, Row, row};
use crate::c::ast::{Expr, ExprKind, Unary};
use crate::c::lower::Result;
use crate::c::lower::body::{Body, Rvalue};
use crate::c::lower::place::{Access, Place, PlaceKind};
use crate::c::types::CType;
use diagnostics::Span;
use ir::{AtomicOp, Attr, Op, Scalar, Type, Value};

pub(super) const ROWS: &[Row] = &[
    row("atomicAdd", 2, |body, call| simple(body, call, AtomicOp::Add)),
    row("atomicSub", 2, |body, call| simple(body, call, AtomicOp::Sub)),
    row("atomicMin", 2, |body, call| simple(body, call, AtomicOp::Min)),
    row("atomicMax", 2, |body, call| simple(body, call, AtomicOp::Max)),
    row("atomicAnd", 2, |body, call| simple(body, call, AtomicOp::And)),
    row("atomicOr", 2, |body, call| simple(body, call, AtomicOp::Or)),
    row("atomicXor", 2, |body, call| simple(body, call, AtomicOp::Xor)),
    row("atomicExch", 2, |body, call| simple(body, call, AtomicOp::Exchange)),
    row("atomicAdd_block", 2, |body, call| simple(body, call, AtomicOp::Add)),
    row("atomicAdd_system", 2, |body, call| simple(body, call, AtomicOp::Add)),
    row("atomicCAS", 3, compare_and_swap),
    row("atomicInc", 2, |body, call| wrapped(body, call, true)),
    row("atomicDec", 2, |body, call| wrapped(body, call, false)),
];

impl Body<'_, '_, '_> {
    /// What a pointer leads to; `&s[i].x` may lead into an element here.
    pub(super) fn pointee_place(&mut self, arg: &Expr, span: Span) -> Result<Place> {
        if let ExprKind::Unary(Unary::Address, operand) = &arg.kind {
            return self.place(operand);
        }
        let deref = Expr { kind: ExprKind::Unary(Unary::Deref, Box::new(arg.clone())), span: arg.span };
        let place = self.place(&deref)?;
        Ok(Place { span, ..place })
    }
}

/// The cell that the first argument leads to, of a type that has the operation.
fn cell(body: &mut Body<'_, '_, '_>, call: &Call<'_>, for_ints: bool) -> Result<(Access, Scalar)> {
    let place = body.pointee_place(&call.args[0], call.args[0].span)?;
    body.require_assignable(&place)?;
    let scalar = place.ty.as_scalar().filter(|scalar| scalar.size() >= 4 && !(for_ints && scalar.is_float()));
    match (place.kind, scalar) {
        (PlaceKind::Memory(access), Some(scalar)) => Ok((access, scalar)),
        _ => {
            let message = format!("`{}` cannot be used on `{}`", call.name, place.ty.name());
            let help = match for_ints {
                true => "it takes a pointer to int, unsigned int, long long or unsigned long long",
                false => "it takes a pointer to int, unsigned int, long long, unsigned long long, float or double",
            };
            Err(body.error("argument-type", call.args[0].span, message, help))
        }
    }
}

fn simple(body: &mut Body<'_, '_, '_>, call: &Call<'_>, op: AtomicOp) -> Result<Rvalue> {
    let for_ints = matches!(op, AtomicOp::And | AtomicOp::Or | AtomicOp::Xor);
    let (access, scalar) = cell(body, call, for_ints)?;
    let value = body.number_arg(call, 1, scalar)?;
    let (base, indices) = body.checked(&access, call.args[0].span);
    let old = body.b().atomic(op, base, &indices, &access.path, &access.path_indices, value);
    Ok(Rvalue::scalar(scalar, old))
}

fn swap(body: &mut Body<'_, '_, '_>, access: &Access, at: (Value, &[Value]), old: Value, new: Value) -> Value {
    let operands = [&[at.0], at.1, &access.path_indices, &[old, new]].concat();
    let ty = body.func.ty(old);
    body.b().push1(Op::AtomicCas, &operands, Attr::Path(access.path.clone().into()), ty)
}

fn compare_and_swap(body: &mut Body<'_, '_, '_>, call: &Call<'_>) -> Result<Rvalue> {
    let (access, scalar) = cell(body, call, true)?;
    let (old, new) = (body.number_arg(call, 1, scalar)?, body.number_arg(call, 2, scalar)?);
    let (base, indices) = body.checked(&access, call.args[0].span);
    let seen = swap(body, &access, (base, &indices), old, new);
    Ok(Rvalue::scalar(scalar, seen))
}

/// `atomicInc`: one more, 0 after the bound. `atomicDec`: one less, the bound after 0 and where it was above.
fn wrapped(body: &mut Body<'_, '_, '_>, call: &Call<'_>, is_inc: bool) -> Result<Rvalue> {
    let (access, scalar) = cell(body, call, true)?;
    if scalar != Scalar::U32 {
        let name = CType::Scalar(scalar).name();
        let message = format!("`{}` cannot be used on `{name}`", call.name);
        return Err(body.error("argument-type", call.args[0].span, message, "it takes a pointer to unsigned int"));
    }
    let bound = body.number_arg(call, 1, scalar)?;
    let (base, indices) = body.checked(&access, call.args[0].span);
    let load = |body: &mut Body<'_, '_, '_>| body.b().load(base, &indices, &access.path, &access.path_indices);
    let region = body.in_region(&[Type::scalar(scalar)], |body| {
        let old = load(body);
        let new = body.b().wrapped_step(scalar, old, bound, is_inc);
        let seen = swap(body, &access, (base, &indices), old, new);
        let is_done = body.b().compare(Op::Eq, seen, old);
        let (done, ()) = body.in_region(&[], |body| body.b().break_(&[seen]));
        let (again, ()) = body.in_region(&[], |body| body.b().yield_(&[]));
        body.b().push(Op::If, &[is_done], Attr::None, &[done, again], &[]);
        body.b().continue_(&[seen]);
    });
    let start = body.b().int(scalar, 0);
    let inst = body.b().push(Op::Loop, &[start], Attr::None, &[region.0], &[Type::scalar(scalar)]);
    Ok(Rvalue::scalar(scalar, body.func.inst(inst).result()))
}
