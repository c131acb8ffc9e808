//! The type of an expression that is not evaluated: of both ways of `?:`, of `sizeof`, of `auto`.

use super::Result;
use super::body::{Body, Holds};
use crate::c::ast::{Expr, ExprKind, Storage, TypeKind, Unary};
use crate::c::types::{self, CType};
use crate::walk::Reported;
use ir::Scalar;

impl Body<'_, '_, '_> {
    pub(super) fn type_of(&mut self, expr: &Expr) -> Result<CType> {
        Ok(match &expr.kind {
            ExprKind::Int(_, scalar) | ExprKind::Float(_, scalar) => CType::Scalar(*scalar),
            ExprKind::Bool(_) | ExprKind::Logical(..) | ExprKind::Unary(Unary::Not, _) => CType::BOOL,
            ExprKind::Null => CType::Pointer(CType::Void.into(), false),
            ExprKind::SizeOf(_) | ExprKind::SizeOfValue(_) => CType::Scalar(Scalar::U64),
            ExprKind::Cast(ty, _) | ExprKind::Construct(ty, _) => self.resolve(ty)?,
            ExprKind::Assign(_, target, _) | ExprKind::Step(_, _, target) => self.type_of(target)?,
            ExprKind::Comma(_, last) => self.type_of(last)?,
            ExprKind::Binary(op, ..) if op.is_comparison() => CType::BOOL,
            ExprKind::Binary(op, x, y) => {
                let is_shift = matches!(op, crate::c::ast::Binary::Shl | crate::c::ast::Binary::Shr);
                match (self.type_of(x)?, self.type_of(y)?) {
                    (CType::Scalar(x), CType::Scalar(_)) if is_shift => CType::Scalar(types::promoted(x)),
                    (CType::Scalar(x), CType::Scalar(y)) => CType::Scalar(types::common(x, y)),
                    (CType::Pointer(..) | CType::Array(..), CType::Pointer(..) | CType::Array(..)) => {
                        CType::Scalar(Scalar::I64)
                    }
                    (CType::Array(elem, _), _) | (_, CType::Array(elem, _)) => CType::Pointer(elem, false),
                    (pointer @ CType::Pointer(..), _) | (_, pointer) => pointer,
                }
            }
            ExprKind::Unary(Unary::Deref, operand) => self.pointee(operand)?,
            ExprKind::Unary(Unary::Address, operand) => CType::Pointer(self.type_of(operand)?.into(), false),
            ExprKind::Unary(_, operand) => match self.type_of(operand)? {
                CType::Scalar(scalar) => CType::Scalar(types::promoted(scalar)),
                other => other,
            },
            ExprKind::Conditional(_, x, y) => match (self.type_of(x)?, self.type_of(y)?) {
                (CType::Scalar(x), CType::Scalar(y)) if x != y => CType::Scalar(types::common(x, y)),
                (left, _) => left,
            },
            ExprKind::Index(base, _) => self.pointee(base)?,
            ExprKind::Name(name) => {
                if let Some(id) = self.find(name) {
                    if let Holds::Failed = self.vars[id].storage {
                        return Err(Reported);
                    }
                    return Ok(self.vars[id].ty.clone());
                }
                let program = self.compile.program.clone();
                let is_it = |one: &&std::rc::Rc<crate::c::ast::Declarator>| {
                    one.storage == Storage::Constant && one.name == *name && !matches!(one.ty.kind, TypeKind::Auto)
                };
                match program.globals.iter().find(is_it) {
                    Some(global) => self.compile.text().declared(global, &Vec::new())?,
                    None => self.tried(expr)?,
                }
            }
            ExprKind::Member(base, name, is_arrow) => {
                let ty = if *is_arrow { self.pointee(base)? } else { self.type_of(base)? };
                match super::pieces::member(&ty, name) {
                    Some((_, ty)) => ty,
                    None => self.tried(expr)?,
                }
            }
            _ => self.tried(expr)?,
        })
    }

    /// What a pointer or an array leads to.
    fn pointee(&mut self, expr: &Expr) -> Result<CType> {
        Ok(match self.type_of(expr)? {
            CType::Pointer(to, _) | CType::Array(to, _) | CType::Elements(to, ..) => (*to).clone(),
            other => other,
        })
    }

    /// The type of what an expression gives, found by lowering it where nothing runs it.
    fn tried(&mut self, expr: &Expr) -> Result<CType> {
        let state = self.state();
        let (_, value) = self.in_region(&[], |body| body.expr(expr));
        self.set_state(&state);
        value.map(|value| value.ty)
    }
}
