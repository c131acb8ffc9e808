//! What is known when compiling: lengths of arrays, labels, arguments of templates.

use super::body::Body;
use super::{Bindings, Bound, Result, Text};
use crate::c::ast::{Binary, Expr, ExprKind, Name, Storage, TypeExpr, TypeKind, Unary};
use crate::c::types::{self, CType};
use ir::{Const, Scalar};

/// Constant variables in scope.
pub(super) type Constants = Vec<(Name, i128, CType)>;

impl Text<'_> {
    /// The integer that an expression is.
    pub(super) fn constant(&mut self, expr: &Expr, bindings: &Bindings, known: &[(Name, i128, CType)]) -> Result<i128> {
        match self.evaluated(expr, bindings, known) {
            Some((value, _)) => Ok(value),
            None => {
                let text =
                    self.text.get(expr.span.start as usize..expr.span.end as usize).unwrap_or_default().to_owned();
                let message = format!("`{text}` is not known when compiling");
                let help =
                    "write an integer, a macro, a `const` or `constexpr` integer, or a parameter of the template";
                Err(self.error("static-index", expr.span, message, help))
            }
        }
    }

    /// The integer and its type; nothing where it is not known.
    pub(super) fn evaluated(
        &mut self,
        expr: &Expr,
        bindings: &Bindings,
        known: &[(Name, i128, CType)],
    ) -> Option<(i128, Scalar)> {
        match &expr.kind {
            ExprKind::Int(value, scalar) => Some((*value, *scalar)),
            ExprKind::Bool(value) => Some((i128::from(*value), Scalar::Bool)),
            ExprKind::Name(name) => self.named(name, bindings, known),
            ExprKind::Unary(op, operand) => {
                let (value, scalar) = self.evaluated(operand, bindings, known)?;
                let scalar = types::promoted(scalar);
                let value = match op {
                    Unary::Plus => value,
                    Unary::Minus => -value,
                    Unary::Complement => !value,
                    Unary::Not => return Some((i128::from(value == 0), Scalar::Bool)),
                    Unary::Deref | Unary::Address => return None,
                };
                Some((wrapped(value, scalar), scalar))
            }
            ExprKind::Binary(op, x, y) => {
                let x = self.evaluated(x, bindings, known)?;
                let y = self.evaluated(y, bindings, known)?;
                binary(*op, x, y)
            }
            ExprKind::Logical(is_and, x, y) => {
                let (x, _) = self.evaluated(x, bindings, known)?;
                if (x != 0) != *is_and {
                    return Some((i128::from(!is_and), Scalar::Bool));
                }
                let (y, _) = self.evaluated(y, bindings, known)?;
                Some((i128::from(y != 0), Scalar::Bool))
            }
            ExprKind::Conditional(test, x, y) => {
                let (test, _) = self.evaluated(test, bindings, known)?;
                self.evaluated(if test != 0 { x } else { y }, bindings, known)
            }
            ExprKind::SizeOf(ty) => Some((self.quietly(ty, bindings)?.size().into(), Scalar::U64)),
            ExprKind::Cast(ty, operand) => self.cast(ty, operand, bindings, known),
            ExprKind::Construct(ty, args) => match args.as_slice() {
                [one] => self.cast(ty, one, bindings, known),
                _ => None,
            },
            _ => None,
        }
    }

    fn cast(
        &mut self,
        ty: &TypeExpr,
        operand: &Expr,
        bindings: &Bindings,
        known: &[(Name, i128, CType)],
    ) -> Option<(i128, Scalar)> {
        let scalar = self.quietly(ty, bindings)?.as_scalar().filter(|scalar| !scalar.is_float())?;
        let (value, _) = self.evaluated(operand, bindings, known)?;
        Some((wrapped(value, scalar), scalar))
    }

    /// A type, without a report where it is none.
    pub(super) fn quietly(&mut self, ty: &TypeExpr, bindings: &Bindings) -> Option<CType> {
        let n_before = self.diagnostics.len();
        let found = self.resolve(ty, bindings).ok();
        self.diagnostics.truncate(n_before);
        found
    }

    fn named(&mut self, name: &Name, bindings: &Bindings, known: &[(Name, i128, CType)]) -> Option<(i128, Scalar)> {
        if let Some((_, value, ty)) = known.iter().rev().find(|(known, ..)| known == name) {
            return Some((*value, ty.as_scalar()?));
        }
        if let Some((_, Bound::Value(value, ty))) = bindings.iter().find(|(known, _)| known == name) {
            return Some((*value, ty.as_scalar()?));
        }
        if &**name == "warpSize" {
            return Some((32, Scalar::I32));
        }
        let program = self.program.clone();
        let global =
            program.globals.iter().find(|global| global.storage == Storage::Constant && global.name == *name)?;
        if self.open.contains(name) {
            return None;
        }
        self.open.push(name.clone());
        let ty = if let TypeKind::Array(..) = global.ty.kind { None } else { self.quietly(&global.ty, &Vec::new()) };
        let scalar = ty.and_then(|ty| ty.as_scalar()).filter(|scalar| !scalar.is_float());
        let value = scalar.and_then(|scalar| {
            let (value, _) = self.evaluated(global.init.as_ref()?, &Vec::new(), &[])?;
            Some((wrapped(value, scalar), scalar))
        });
        self.open.pop();
        value
    }
}

impl Body<'_, '_, '_> {
    /// The constant variables in scope.
    pub(super) fn constants(&self) -> Constants {
        let known = |(name, id): &(Name, usize)| {
            let var = &self.vars[*id];
            Some((name.clone(), var.constant?, var.ty.clone()))
        };
        self.names.iter().filter_map(known).collect()
    }

    pub(super) fn constant(&mut self, expr: &Expr) -> Result<i128> {
        let (bindings, constants) = (self.bindings.clone(), self.constants());
        self.compile.text().constant(expr, &bindings, &constants)
    }

    /// The integer that an expression is, where it is known when compiling. A variable hides a constant of its name.
    pub(super) fn known(&mut self, expr: &Expr) -> Option<i128> {
        let mut is_hidden = false;
        super::scan::in_expr(expr, &mut |expr| {
            if let ExprKind::Name(name) = &expr.kind {
                is_hidden |= self.find(name).is_some_and(|id| self.vars[id].constant.is_none());
            }
        });
        if is_hidden {
            return None;
        }
        let (bindings, constants) = (self.bindings.clone(), self.constants());
        self.compile.text().evaluated(expr, &bindings, &constants).map(|(value, _)| value)
    }
}

/// What the items of an initializer are, and how many there may be: the braces of inner arrays may be left out.
pub(super) fn unnested<'a>(elem: &'a CType, len: u64, items: &[Expr]) -> (&'a CType, u64) {
    match (elem, items.first()) {
        (CType::Array(inner, count), Some(first)) if !matches!(first.kind, ExprKind::Braces(_)) => {
            unnested(inner, len * count, items)
        }
        _ => (elem, len),
    }
}

fn wrapped(value: i128, scalar: Scalar) -> i128 {
    Const::int(scalar, value).as_int(scalar)
}

fn binary(op: Binary, (x, s): (i128, Scalar), (y, t): (i128, Scalar)) -> Option<(i128, Scalar)> {
    let is_shift = matches!(op, Binary::Shl | Binary::Shr);
    let scalar = if is_shift { types::promoted(s) } else { types::common(s, t) };
    let (x, y) = (wrapped(x, scalar), wrapped(y, scalar));
    let shift = u32::try_from(y).ok().filter(|y| *y < 64);
    let value = match op {
        Binary::Add => x + y,
        Binary::Sub => x - y,
        Binary::Mul => x * y,
        Binary::Div => x.checked_div(y)?,
        Binary::Rem => x.checked_rem(y)?,
        Binary::And => x & y,
        Binary::Or => x | y,
        Binary::Xor => x ^ y,
        Binary::Shl => x << shift?,
        Binary::Shr => x >> shift?,
        Binary::Eq => return Some((i128::from(x == y), Scalar::Bool)),
        Binary::Ne => return Some((i128::from(x != y), Scalar::Bool)),
        Binary::Lt => return Some((i128::from(x < y), Scalar::Bool)),
        Binary::Le => return Some((i128::from(x <= y), Scalar::Bool)),
        Binary::Gt => return Some((i128::from(x > y), Scalar::Bool)),
        Binary::Ge => return Some((i128::from(x >= y), Scalar::Bool)),
    };
    Some((wrapped(value, scalar), scalar))
}
