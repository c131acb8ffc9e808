//! Functions and operators on the elements of tiles.

use super::{Tile, shape_text};
use crate::HostValue;
use crate::walk::call::Args;
use crate::walk::closure;
use crate::walk::lower::Result;
use crate::walk::operator::Sides;
use crate::walk::{Lower, Operand, Reported};
use crate::warp::builtins::{Call, Row, own};
use diagnostics::Span;
use ir::op::Effect;
use ir::{Attr, FuncRef, Op, Type, Value};
use ruff_python_ast::{Operator, UnaryOp};

pub(super) const ROWS: &[Row] = &[own("tile_map", "op, *args", map), own("tile_astype", "t, dtype", as_type)];

/// What makes an element of the result.
pub(super) type Element<'a> = &'a mut dyn FnMut(&mut Lower<'_, '_>, &[Operand]) -> Result<Operand>;

fn map(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let callee = call.arg(0).operand.clone();
    let mut first: Option<Tile> = None;
    for arg in &call.rest {
        let Some(tile) = arg.operand.as_value().and_then(|value| lower.tile_of(value)) else { continue };
        match first {
            Some(known) => lower.require_same_shape(call, known, tile, arg.span)?,
            None => first = Some(tile),
        }
    }
    if first.is_none() {
        let arg = call.rest.first().unwrap_or(call.arg(0)).clone();
        return Err(lower.wrong_type(call, &arg, "at least one tile"));
    }
    let operands: Vec<Operand> = call.rest.iter().map(|arg| arg.operand.clone()).collect();
    let span = call.span;
    lower
        .map_values("map", &operands, span, &mut |lower, args| lower.apply(&callee, Args::positional(args, span), span))
}

fn as_type(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let tile = lower.tile_argument(call, call.arg(0))?;
    let scalar = lower.scalar_argument(call, call.arg(1))?;
    let Some(ty) = tile.elem.with_element(scalar) else {
        return Err(lower.wrong_type(call, call.arg(0), "a tile of numbers"));
    };
    let cast = if ty == tile.elem { lower.copied(tile) } else { lower.tile_as(tile, ty, call.span)? };
    Ok(Operand::Value(cast))
}

impl Lower<'_, '_> {
    /// A tile whose elements are converted to a type of the same shape.
    pub(super) fn tile_as(&mut self, tile: Tile, ty: Type, span: Span) -> Result<Value> {
        let (Some(scalar), true) = (ty.element(), tile.elem != ty) else { return Ok(tile.value) };
        let cast = self.map_values("astype", &[Operand::Value(tile.value)], span, &mut |lower, args| {
            let x = lower.value(&args[0], span)?;
            Ok(Operand::Value(lower.b().cast(x, scalar)))
        });
        cast.and_then(|cast| self.value(&cast, span))
    }

    /// Calls what may stand for a function.
    pub(super) fn apply(&mut self, callee: &Operand, args: Args, span: Span) -> Result<Operand> {
        match callee {
            Operand::Static(HostValue::Func(func)) => self.call_function(*func, args, span),
            Operand::Static(HostValue::Builtin(name)) => self.builtin(name, args, span),
            Operand::Static(HostValue::Type(pattern)) => self.construct(pattern, args, span),
            Operand::Derivative(of) => self.call_derivative(of, args, span),
            Operand::Method(base, mark) => match closure::call(self, base, mark, &args, span) {
                Some(result) => result,
                None => Err(self.not_a_function(callee, span)),
            },
            _ => Err(self.not_a_function(callee, span)),
        }
    }

    fn not_a_function(&mut self, callee: &Operand, span: Span) -> Reported {
        let what = self.describe(callee);
        let report = self.report("not-callable", span, format!("{what} cannot be called for each element of a tile"));
        self.emit(report.help("give a function decorated with `@wp.func`, or a builtin such as `wp.sin`"))
    }

    /// The tile of what `element` gives for each element of the tiles among the operands.
    pub(super) fn map_values(
        &mut self,
        name: &str,
        operands: &[Operand],
        span: Span,
        element: Element<'_>,
    ) -> Result<Operand> {
        let whole = vec![false; operands.len()];
        self.map_elements(name, operands, &whole, span, element)
    }

    /// As `map_values`; where `whole` says so, every call gets the whole tile.
    pub(super) fn map_elements(
        &mut self,
        name: &str,
        operands: &[Operand],
        whole: &[bool],
        span: Span,
        element: Element<'_>,
    ) -> Result<Operand> {
        let mut extents = None;
        let mut values = Vec::new();
        let mut types = Vec::new();
        // Which operands the function has as its parameters; the others are known while compiling.
        let mut params = Vec::new();
        for (operand, &is_whole) in operands.iter().zip(whole) {
            let is_known = self.type_of(operand).is_none() || Self::is_literal(operand);
            params.push(!is_known);
            if is_known {
                continue;
            }
            let value = self.value(operand, span)?;
            let ty = self.ty(value);
            types.push(match ty.as_tile() {
                Some((elem, found)) if !is_whole => {
                    extents.get_or_insert(found);
                    elem
                }
                _ => ty,
            });
            values.push(value);
        }
        let Some(extents) = extents else { return Err(self.error("tile-shape", span, "there is no tile here")) };
        let func = self.unit.wrapper(&format!("tile_{name}"), &types, |lower, args| {
            let mut given = args.positional.into_iter();
            let args: Vec<Operand> = (operands.iter().zip(&params))
                .map(
                    |(operand, &is_param)| {
                        if is_param { given.next().unwrap_or(Operand::NONE) } else { operand.clone() }
                    },
                )
                .collect();
            element(lower, &args)
        })?;
        let result = self.element_result(func, span)?;
        let ty = Type::tile(result, extents.to_vec());
        Ok(Operand::Value(self.b().push1(Op::TileMap, &values, Attr::Func(func), ty)))
    }

    /// The type that a function of elements gives: one value, and it changes nothing.
    pub(super) fn element_result(&mut self, func: FuncRef, span: Span) -> Result<Type> {
        let made = self.unit.module.func(func);
        let results = made.results.clone();
        if self.changes_something(func) {
            let message = "a function of a tile's elements cannot store, print, or touch arrays";
            let report = self.report("tile-function", span, message);
            return Err(self.emit(report.help("return a value; `tile_store` and `tile_atomic_add` write tiles")));
        }
        match results[..] {
            [ty] if !ty.is_array() && ty.as_tile().is_none() => Ok(ty),
            _ => {
                let message = "a function of a tile's elements must give one number, vector, matrix or struct";
                Err(self.error("tile-function", span, message))
            }
        }
    }

    fn changes_something(&self, func: FuncRef) -> bool {
        let made = self.unit.module.func(func);
        let mut listed = made.regions.iter().flat_map(|region| &region.insts).map(|&id| made.inst(id));
        listed.any(|inst| match (&inst.attr, inst.op.effect()) {
            (_, Effect::Write | Effect::Sync | Effect::Print | Effect::Read) => {
                inst.operands.first().is_none_or(|&array| {
                    // An array of the thread's own is nobody else's.
                    !matches!(made.def(array), ir::ValueDef::Result(id, _) if made.inst(id).op == Op::LocalArray)
                })
            }
            (Attr::Func(callee), _) => self.changes_something(*callee),
            _ => false,
        })
    }

    /// An operator with a tile on one side at least.
    pub(crate) fn tile_binary(
        &mut self,
        op: Operator,
        a: &Operand,
        b: &Operand,
        sides: Sides,
    ) -> Option<Result<Operand>> {
        let tile = |this: &Self, operand: &Operand| operand.as_value().and_then(|value| this.tile_of(value));
        let (x, y) = (tile(self, a), tile(self, b));
        if x.is_none() && y.is_none() {
            return None;
        }
        if let (Some(x), Some(y)) = (x, y)
            && x.extents != y.extents
        {
            let (m, n) = (shape_text(x.extents), shape_text(y.extents));
            let message = format!("`{}` needs tiles of one shape, found {m} and {n}", op.as_str());
            let report = self.report("tile-shape", sides.whole, message);
            let help = match op {
                Operator::MatMult => "`tile_matmul` multiplies matrices",
                _ => "`tile_broadcast` spreads a tile over a larger shape",
            };
            return Some(Err(self.emit(report.help(help))));
        }
        Some(self.map_values("operator", &[a.clone(), b.clone()], sides.whole, &mut |lower, args| {
            // Tiles multiply element by element, vectors as `*` does not.
            let is_vectors = args.iter().all(|arg| lower.type_of(arg).is_some_and(Type::is_composite));
            if op == Operator::Mult && is_vectors && lower.type_of(&args[0]) == lower.type_of(&args[1]) {
                let name = "cw_mul";
                if matches!(lower.type_of(&args[0]).map(Type::kind), Some(ir::TypeKind::Vector { .. })) {
                    return lower.builtin(name, Args::positional(args, sides.whole), sides.whole);
                }
            }
            lower.binary_at(op, &args[0], &args[1], Sides::at(sides.whole))
        }))
    }

    pub(crate) fn tile_unary(&mut self, op: UnaryOp, operand: &Operand, span: Span) -> Option<Result<Operand>> {
        operand.as_value().and_then(|value| self.tile_of(value))?;
        Some(self.map_values("operator", std::slice::from_ref(operand), span, &mut |lower, args| {
            lower.unary(op, &args[0], span)
        }))
    }
}
