//! `make_float4(x, y, z, w)` and its like.

use super::Call;
use crate::c::ast::{Expr, ExprKind};
use crate::c::lower::Result;
use crate::c::lower::body::{Body, Rvalue};
use crate::c::types::{self, CType};

/// A vector from its components; nothing for other names.
pub(super) fn made(body: &mut Body<'_, '_, '_>, call: &Call<'_>) -> Option<Result<Rvalue>> {
    let ty = types::known(call.name.strip_prefix("make_")?)?;
    let CType::Vector(_, len) = ty else { return None };
    if call.args.len() != len as usize {
        return Some(Err(body.wrong_count(call, (len as usize, len as usize))));
    }
    let braces = Expr { kind: ExprKind::Braces(call.args.to_vec()), span: call.span };
    Some(body.initial(&braces, &ty))
}
