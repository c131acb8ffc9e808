//! Expressions.

use super::body::{Body, Held, Memory, Rvalue};
use super::place::{Place, is_element};
use super::{Result, operator};
use crate::c::ast::{Binary, Expr, ExprKind, TypeExpr, Unary};
use crate::c::types::{self, CType};
use diagnostics::Span;
use ir::{Attr, Op, Scalar, Type};

impl Body<'_, '_, '_> {
    /// Evaluates an expression; the ops it appends get its span.
    pub(super) fn expr(&mut self, expr: &Expr) -> Result<Rvalue> {
        let outer = std::mem::replace(&mut self.span, expr.span);
        let value =
            if is_place(expr) { self.place(expr).and_then(|place| self.read(&place)) } else { self.value_of(expr) };
        self.span = outer;
        value
    }

    /// The value of an expression that is no place.
    pub(super) fn value_of(&mut self, expr: &Expr) -> Result<Rvalue> {
        let span = expr.span;
        match &expr.kind {
            ExprKind::Int(value, scalar) => {
                let value = self.b().int(*scalar, *value);
                Ok(Rvalue::scalar(*scalar, value))
            }
            ExprKind::Float(value, scalar) => {
                let value = self.b().float(*scalar, *value);
                Ok(Rvalue::scalar(*scalar, value))
            }
            ExprKind::Bool(value) => {
                let value = self.b().bool(*value);
                Ok(Rvalue::value(CType::BOOL, value))
            }
            ExprKind::Null => {
                let base = self.zero_of(Type::array(Type::scalar(Scalar::U8), 1));
                Ok(Rvalue::pointer(CType::Void, false, Memory { base, at: None }))
            }
            ExprKind::Str(_) => {
                let help = "strings are formats of `printf`, and messages of `assert`";
                Err(self.error("not-a-value", span, "a string is not a value that a kernel can hold", help))
            }
            ExprKind::Unary(op, operand) => self.unary(*op, operand, span),
            ExprKind::Binary(op, x, y) => {
                // Both sides are read even when the first is wrong: each has mistakes of its own.
                let (left, right) = (self.expr(x), self.expr(y));
                self.binary(*op, left?, right?, operator::Sides { left: x.span, right: y.span, whole: span })
            }
            ExprKind::Logical(is_and, x, y) => self.logical(*is_and, x, y),
            ExprKind::Assign(op, target, value) => self.assign(*op, target, value, span),
            ExprKind::Step(is_up, is_before, target) => self.step(*is_up, *is_before, target, span),
            ExprKind::Conditional(test, x, y) => self.conditional(test, x, y),
            ExprKind::Comma(x, y) => {
                self.expr(x)?;
                self.expr(y)
            }
            ExprKind::Call(name, template, args) => self.call(name, template, args, span),
            ExprKind::Method(base, name, args) => self.method(base, name, args, span),
            ExprKind::Cast(ty, operand) => {
                let ty = self.resolve(ty)?;
                let value = self.expr(operand)?;
                self.cast(value, &ty, span)
            }
            ExprKind::Construct(ty, args) => self.construct(ty, args, span),
            ExprKind::Braces(_) => {
                let help = "write the type before it: `float4{…}`";
                Err(self.error("c-syntax", span, "a list in braces has no type here", help))
            }
            ExprKind::SizeOf(ty) => {
                let size = self.resolve(ty)?.size();
                let value = self.b().int(Scalar::U64, size.into());
                Ok(Rvalue::scalar(Scalar::U64, value))
            }
            ExprKind::SizeOfValue(operand) => {
                let size = self.type_of(operand)?.size();
                let value = self.b().int(Scalar::U64, size.into());
                Ok(Rvalue::scalar(Scalar::U64, value))
            }
            ExprKind::Name(_) | ExprKind::Index(..) | ExprKind::Member(..) => {
                let place = self.place(expr)?;
                self.read(&place)
            }
        }
    }

    pub(super) fn resolve(&mut self, ty: &TypeExpr) -> Result<CType> {
        let bindings = self.bindings.clone();
        self.compile.resolve(ty, &bindings)
    }

    fn unary(&mut self, op: Unary, operand: &Expr, span: Span) -> Result<Rvalue> {
        if op == Unary::Address {
            return self.address_of(operand, span);
        }
        let value = self.expr(operand)?;
        match op {
            Unary::Not => {
                let truth = self.truth(&value, operand.span)?;
                let value = self.b().unary(Op::Not, truth);
                Ok(Rvalue::value(CType::BOOL, value))
            }
            Unary::Plus | Unary::Minus | Unary::Complement => {
                let scalar = value.ty.as_scalar().filter(|scalar| op != Unary::Complement || !scalar.is_float());
                let Some(scalar) = scalar else {
                    let sign = if op == Unary::Minus { "-" } else { "~" };
                    let message = format!("cannot apply `{sign}` to `{}`", value.ty.name());
                    return Err(self.error("type-mismatch", span, message, "it is for numbers; `~` for integers"));
                };
                let scalar = types::promoted(scalar);
                let value = self.converted(value, &CType::Scalar(scalar), operand.span)?;
                let found = match op {
                    Unary::Minus => self.b().unary(Op::Neg, value.one()),
                    Unary::Complement => self.b().unary(Op::Not, value.one()),
                    _ => return Ok(value),
                };
                // The constant -1 is one, not an operation.
                let found = self.folded(found, scalar);
                Ok(Rvalue::scalar(scalar, found))
            }
            Unary::Deref | Unary::Address => Ok(value),
        }
    }

    /// The constant that a negation of a constant gives, so that `-1` is one for who asks.
    fn folded(&mut self, value: ir::Value, scalar: Scalar) -> ir::Value {
        let ir::ValueDef::Result(inst, _) = self.func.def(value) else { return value };
        let inst = self.func.inst(inst);
        let (op, operand) = (inst.op, inst.operands[0]);
        match (op, self.func.as_const(operand)) {
            (Op::Neg, Some(constant)) if scalar.is_int() => self.b().int(scalar, -constant.as_int(scalar)),
            _ => value,
        }
    }

    fn assign(&mut self, op: Option<Binary>, target: &Expr, value: &Expr, span: Span) -> Result<Rvalue> {
        let Some(op) = op else {
            // The right side first: `x[i] = f(i++)` has no order in C, and this one is that of C++17.
            let found = match &value.kind {
                ExprKind::Braces(_) => {
                    let ty = self.type_of(target)?;
                    self.initial(value, &ty)
                }
                _ => self.expr(value),
            };
            let place = self.place(target);
            let (found, place) = (found?, place?);
            self.require_assignable(&place)?;
            return self.write_at(&place, found, value.span);
        };
        let found = self.expr(value);
        let place = self.place(target);
        let (found, place) = (found?, place?);
        self.require_assignable(&place)?;
        let old = self.read(&place)?;
        let sides = operator::Sides { left: target.span, right: value.span, whole: span };
        let new = self.binary(op, old, found, sides)?;
        self.write_at(&place, new, span)
    }

    /// As `write`, with mistakes of the value told where it stands.
    fn write_at(&mut self, place: &Place, value: Rvalue, span: Span) -> Result<Rvalue> {
        let value = match place.ty {
            CType::Array(..) => value,
            _ => self.converted(value, &place.ty, span)?,
        };
        self.write(place, value)
    }

    /// `++x`, `x--`.
    fn step(&mut self, is_up: bool, is_before: bool, target: &Expr, span: Span) -> Result<Rvalue> {
        let place = self.place(target)?;
        self.require_assignable(&place)?;
        let old = self.read(&place)?;
        let one = self.b().int(Scalar::I32, 1);
        let op = if is_up { Binary::Add } else { Binary::Sub };
        let sides = operator::Sides { left: target.span, right: span, whole: span };
        let new = self.binary(op, old.clone(), Rvalue::value(CType::INT, one), sides)?;
        let new = self.write_at(&place, new, span)?;
        Ok(if is_before { new } else { old })
    }

    /// `float(x)`, `float4(x, y, z, w)`, `S{1, 2}`.
    fn construct(&mut self, ty: &TypeExpr, args: &[Expr], span: Span) -> Result<Rvalue> {
        let ty = self.resolve(ty)?;
        match (&ty, args) {
            (CType::Vector(..) | CType::Struct(_), args) => {
                // `dim3(n)` and a copy.
                if let [one] = args
                    && self.type_of(one)? == ty
                {
                    return self.expr(one);
                }
                let braces = Expr { kind: ExprKind::Braces(args.to_vec()), span };
                self.initial(&braces, &ty)
            }
            (_, []) => {
                let zero = self.zero_of(ty.cell());
                Ok(Rvalue::value(ty, zero))
            }
            (_, [one]) => {
                let value = self.expr(one)?;
                self.cast(value, &ty, span)
            }
            _ => {
                let message = format!("`{}` is made from one value, found {}", ty.name(), args.len());
                Err(self.error("argument-count", span, message, "give one value"))
            }
        }
    }

    /// Methods: those of the arrays that generated kernels take.
    fn method(&mut self, base: &Expr, name: &str, args: &[Expr], span: Span) -> Result<Rvalue> {
        if let (ExprKind::Name(index), "size", []) = (&base.kind, name, args)
            && matches!(&**index, "_ind" | "_in_ind" | "_out_ind")
            && self.find(index).is_none()
        {
            let size = self.launch_size();
            return Ok(Rvalue::scalar(Scalar::I64, size));
        }
        let place = self.place(base)?;
        if let (CType::Elements(_, rank, _), "size" | "shape") = (&place.ty, name) {
            let rank = *rank;
            let array = self.read(&place)?.one();
            let extent = match args {
                [] if name == "size" => {
                    let first = self.b().extent(array, 0);
                    (1..rank).fold(first, |size, dim| {
                        let extent = self.b().extent(array, dim);
                        self.b().binary(Op::Mul, size, extent)
                    })
                }
                [dim] if name == "shape" => match self.constant(dim)? {
                    dim if (0..i128::from(rank)).contains(&dim) => self.b().extent(array, dim as u32),
                    dim => {
                        let message = format!("the array has {rank} dimensions, and none of number {dim}");
                        return Err(self.error("index-range", span, message, "count them from 0"));
                    }
                },
                _ => {
                    let help = "write `x.size()` or `x.shape(0)`";
                    return Err(self.error("argument-count", span, format!("`{name}` is called in another way"), help));
                }
            };
            return Ok(Rvalue::scalar(Scalar::I64, extent));
        }
        let message = format!("`{}` has no method `{name}`", place.ty.name());
        Err(self.error("unknown-method", span, message, "call a function: methods are not read"))
    }

    /// `a.here()`: the element of an array at the index of the thread; `a.at(i, j)`: at an index for each dimension.
    pub(super) fn element_method(&mut self, base: &Expr, name: &str, args: &[Expr], span: Span) -> Result<Place> {
        let place = self.place(base)?;
        let CType::Elements(_, rank, _) = place.ty else {
            let message = format!("`{}` has no method `{name}`", place.ty.name());
            return Err(self.error("unknown-method", span, message, "index it: `x[i]`"));
        };
        let array = self.read(&place)?;
        let mut indices = Vec::new();
        if name == "here" {
            indices = (0..rank).map(|dim| self.thread(dim)).collect();
        }
        for arg in args {
            let index = self.expr(arg)?;
            indices.push(self.index(&index, arg.span)?);
        }
        if indices.len() != rank as usize {
            let message = format!("`{name}` takes {rank} indices, found {}", indices.len());
            return Err(self.error("argument-count", span, message, "give one for each dimension"));
        }
        Ok(self.element(&array, &indices, span))
    }

    /// The index of the thread along a dimension of a launch over elements.
    pub(super) fn thread(&mut self, dim: u32) -> ir::Value {
        self.b().push1(Op::Tid, &[], Attr::Index(dim), Type::i64())
    }

    /// Threads of a launch over elements.
    pub(super) fn launch_size(&mut self) -> ir::Value {
        let rank = self.compile.unit.options.launch_rank;
        let extent = |body: &mut Self, dim| body.b().push1(Op::LaunchExtent, &[], Attr::Index(dim), Type::i64());
        let first = extent(self, 0);
        (1..rank).fold(first, |size, dim| {
            let next = extent(self, dim);
            self.b().binary(Op::Mul, size, next)
        })
    }

    /// The number of the thread in a launch over elements, rows first.
    pub(super) fn launch_index(&mut self) -> ir::Value {
        let rank = self.compile.unit.options.launch_rank;
        let first = self.thread(0);
        (1..rank).fold(first, |index, dim| {
            let extent = self.b().push1(Op::LaunchExtent, &[], Attr::Index(dim), Type::i64());
            let next = self.thread(dim);
            let index = self.b().binary(Op::Mul, index, extent);
            self.b().binary(Op::Add, index, next)
        })
    }

    /// Indices of the element of a given number, rows first.
    pub(super) fn unravel(&mut self, array: ir::Value, index: ir::Value, rank: u32) -> Vec<ir::Value> {
        let mut rest = index;
        let mut indices = Vec::new();
        for dim in (1..rank).rev() {
            let extent = self.b().extent(array, dim);
            indices.push(self.b().binary(Op::Rem, rest, extent));
            rest = self.b().binary(Op::Div, rest, extent);
        }
        indices.push(rest);
        indices.reverse();
        indices
    }

    /// An array as a pointer to its first element.
    pub(super) fn decayed(&mut self, value: Rvalue) -> Rvalue {
        match (&value.ty, &value.held) {
            (CType::Array(elem, _), Held::Pointer(memory)) => Rvalue::pointer((**elem).clone(), false, memory.clone()),
            _ => value,
        }
    }
}

/// Whether an expression leads to something that lies somewhere.
fn is_place(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Name(_) | ExprKind::Index(..) | ExprKind::Member(..) | ExprKind::Unary(Unary::Deref, _) => true,
        ExprKind::Method(_, name, _) => is_element(name),
        _ => false,
    }
}
