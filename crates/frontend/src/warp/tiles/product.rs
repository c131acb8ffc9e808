//! Products of matrices.

use super::{Tile, shape_text};
use crate::walk::lower::Result;
use crate::walk::{Lower, Operand};
use crate::warp::builtins::{Arg, Call, Row, own};
use ir::{Attr, Class, Const, Op, Scalar, Type, Value};

pub(super) const ROWS: &[Row] =
    &[own("tile_matmul", "a, b, out?, alpha?, beta?, precision?", matmul), own("tile_diag_add", "a, d", diag_add)];

/// `tile_matmul(a, b)`, or `tile_matmul(a, b, out, alpha, beta)`: out = alpha a b + beta out.
fn matmul(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let (a, b) = (lower.tile_argument(call, call.arg(0))?, lower.tile_argument(call, call.arg(1))?);
    let (&[m, k], &[inner, n]) = (a.extents, b.extents) else {
        return Err(lower.wrong_type(call, call.arg(0), "tiles of two dimensions"));
    };
    for (tile, arg) in [(a, call.arg(0)), (b, call.arg(1))] {
        if tile.elem.as_scalar().is_none_or(|scalar| scalar.class() == Class::Bool) {
            return Err(lower.wrong_type(call, arg, "a tile of numbers"));
        }
    }
    let (x, y) = (shape_text(a.extents), shape_text(b.extents));
    if k != inner {
        let message = format!("`tile_matmul` cannot multiply tiles of shapes {x} and {y}");
        let report = lower.report("tile-shape", call.span, message);
        return Err(lower.emit(report.help("the columns of the first are the rows of the second")));
    }
    let out = call.get(2).filter(|arg| lower.type_of(&arg.operand).is_some_and(|ty| ty.as_tile().is_some())).cloned();
    // Without `out`, numbers in its place are alpha.
    let shift = usize::from(out.is_none() && call.get(2).is_some_and(|arg| !arg.operand.is_none()));
    let out = out.map(|arg| lower.tile_argument(call, &arg)).transpose()?;
    let elem = out.map_or(a.elem, |out| out.elem);
    let scalar = elem.as_scalar().unwrap_or(Scalar::F32);
    if let Some(out) = out.filter(|out| out.extents != [m, n]) {
        let found = shape_text(out.extents);
        let message = format!("the product of {x} and {y} has the shape ({m}, {n}), and `out` has {found}");
        return Err(lower.error("tile-shape", call.span, message));
    }
    let alpha = lower.factor(call, call.get(3 - shift), scalar)?;
    let beta = if out.is_some() { lower.factor(call, call.get(4), scalar)? } else { None };
    let ty = Type::tile(elem, vec![m, n]);
    let zero = lower.b().constant(scalar, Const::int(scalar, 0));
    let zeros = lower.fill(zero, vec![m, n]);
    let zeros = lower.value(&zeros, call.span)?;
    let product = |lower: &mut Lower<'_, '_>, start: Value| {
        lower.b().push1(Op::TileMatMul, &[a.value, b.value, start], Attr::None, ty)
    };
    // What is multiplied by 0 is not read: it may hold anything.
    let ignores_out = call.get(4).is_some_and(|arg| is_zero(&arg.operand));
    let Some(out) = out else {
        let made = product(lower, zeros);
        return lower.scaled_sum(made, alpha, None, None, call);
    };
    let changed = if alpha.is_none() && beta.is_none() {
        Operand::Value(product(lower, out.value))
    } else {
        let made = product(lower, zeros);
        lower.scaled_sum(made, alpha, Some(out).filter(|_| !ignores_out), beta.filter(|_| !ignores_out), call)?
    };
    let changed = lower.value(&changed, call.span)?;
    lower.change_tile(out.value, changed);
    Ok(Operand::NONE)
}

impl Lower<'_, '_> {
    /// `alpha` or `beta`; nothing where it is 1.
    fn factor(&mut self, call: &Call<'_>, arg: Option<&Arg>, scalar: Scalar) -> Result<Option<Value>> {
        let Some(arg) = arg.filter(|arg| !arg.operand.is_none()).cloned() else { return Ok(None) };
        if let Operand::Static(crate::HostValue::Float(x)) = arg.operand
            && x == 1.0
        {
            return Ok(None);
        }
        if self.type_of(&arg.operand).and_then(Type::as_scalar).is_none() {
            return Err(self.wrong_type(call, &arg, "a number"));
        }
        if let Operand::Static(crate::HostValue::Float(x)) = arg.operand {
            return Ok(Some(self.b().constant(scalar, Const::float(scalar, x))));
        }
        let value = self.arg_value(&arg)?;
        Ok(Some(self.b().cast(value, scalar)))
    }

    /// alpha product + beta out.
    fn scaled_sum(
        &mut self,
        product: Value,
        alpha: Option<Value>,
        out: Option<Tile>,
        beta: Option<Value>,
        call: &Call<'_>,
    ) -> Result<Operand> {
        if alpha.is_none() && out.is_none() {
            return Ok(Operand::Value(product));
        }
        let span = call.span;
        let given: Vec<Value> = [Some(product), alpha, out.map(|out| out.value), beta].into_iter().flatten().collect();
        let operands: Vec<Operand> = given.into_iter().map(Operand::Value).collect();
        self.map_values("scaled", &operands, span, &mut |lower, args| {
            let values = args.iter().map(|arg| lower.value(arg, span)).collect::<Result<Vec<_>>>()?;
            let mut rest = values.into_iter();
            let mut next = || rest.next().ok_or(crate::walk::Reported);
            let mut total = next()?;
            if alpha.is_some() {
                let alpha = next()?;
                total = lower.b().binary(Op::Mul, alpha, total);
            }
            if out.is_some() {
                let before = next()?;
                let alone = total;
                let Some(beta) = beta.map(|_| next()).transpose()? else {
                    return Ok(Operand::Value(lower.b().binary(Op::Add, total, before)));
                };
                let mut b = lower.b();
                let scaled = b.binary(Op::Mul, beta, before);
                total = b.binary(Op::Add, total, scaled);
                if b.ty(before).as_scalar().is_some_and(Scalar::is_float) {
                    // What is multiplied by 0 counts for nothing, whatever it is.
                    let zero = b.float(b.ty(beta).as_scalar().unwrap_or(Scalar::F32), 0.0);
                    let (is_zero, is_finite) =
                        (b.compare(Op::Eq, beta, zero), b.push1(Op::IsFinite, &[before], Attr::None, Type::bool()));
                    let is_wild = b.unary(Op::Not, is_finite);
                    let is_nothing = b.binary(Op::And, is_zero, is_wild);
                    total = b.select(is_nothing, alone, total);
                }
            }
            Ok(Operand::Value(total))
        })
    }
}

fn is_zero(operand: &Operand) -> bool {
    match operand {
        Operand::Static(crate::HostValue::Float(x)) => *x == 0.0,
        Operand::Static(crate::HostValue::Scalar(scalar, x)) if scalar.is_float() => x.as_float(*scalar) == 0.0,
        operand => operand.as_int() == Some(0),
    }
}

fn diag_add(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let (a, d) = (lower.tile_argument(call, call.arg(0))?, lower.tile_argument(call, call.arg(1))?);
    if !matches!((a.extents, d.extents), ([m, n], [k]) if m == n && n == k) {
        let (x, y) = (shape_text(a.extents), shape_text(d.extents));
        let message =
            format!("`tile_diag_add` needs a square tile and as many numbers as it has rows, found {x} and {y}");
        return Err(lower.error("tile-shape", call.span, message));
    }
    lower.require_same_elements(call, a.elem, d.elem, call.arg(1).span)?;
    let span = call.span;
    let n = u64::from(d.extents[0]);
    let start = lower.tile_index(0);
    let diagonal = lower.view(a.value, start, vec![n + 1], d.extents.to_vec());
    let sum = lower.map_values("diagonal", &[diagonal, d.value].map(Operand::Value), span, &mut |lower, args| {
        let (x, y) = (lower.value(&args[0], span)?, lower.value(&args[1], span)?);
        Ok(Operand::Value(lower.sum_of(x, y)))
    })?;
    let sum = lower.value(&sum, span)?;
    let ty = a.ty();
    let attr = Attr::Extents([n + 1].into());
    Ok(Operand::Value(lower.b().push1(Op::TilePut, &[a.value, sum, start], attr, ty)))
}
