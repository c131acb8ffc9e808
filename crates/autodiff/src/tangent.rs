//! The vector space of a type: zeros and sums of adjoints and tangents, which have the type of their primal value.
//! Only float components count; integers in a struct stay 0, arrays in it null.

use ir::{Attr, Builder, Const, Op, Scalar, Type, TypeKind, Value};

/// Whether a value of this type has float components of its own. What an array leads to is not its own.
pub(crate) fn has_floats(ty: Type) -> bool {
    match ty.kind() {
        TypeKind::Array { .. } => false,
        TypeKind::Struct(_) | TypeKind::Tuple(_) => components(ty).any(has_floats),
        TypeKind::Tile { elem, .. } => has_floats(*elem),
        _ => ty.element().is_some_and(Scalar::is_float),
    }
}

/// Whether a value of this type is or holds arrays.
pub(crate) fn has_arrays(ty: Type) -> bool {
    match ty.kind() {
        TypeKind::Array { .. } => true,
        TypeKind::Struct(_) | TypeKind::Tuple(_) => components(ty).any(has_arrays),
        _ => false,
    }
}

/// Whether a value of this type is or holds arrays of floats.
pub fn leads_to_floats(ty: Type) -> bool {
    match ty.kind() {
        TypeKind::Array { elem, .. } => has_floats(*elem),
        TypeKind::Struct(_) | TypeKind::Tuple(_) => components(ty).any(leads_to_floats),
        _ => false,
    }
}

pub(crate) fn components(ty: Type) -> impl Iterator<Item = Type> {
    (0..ty.n_components()).filter_map(move |index| ty.component(index))
}

fn is_record(ty: Type) -> bool {
    matches!(ty.kind(), TypeKind::Struct(_) | TypeKind::Tuple(_))
}

/// A value made of zeros; an array without memory.
pub(crate) fn zero(b: &mut Builder<'_>, ty: Type) -> Value {
    match ty.kind() {
        TypeKind::Scalar(scalar) => b.constant(*scalar, Const(0)),
        TypeKind::Array { rank, .. } => {
            let address = b.constant(Scalar::U64, Const(0));
            let extent = b.constant(Scalar::I64, Const(0));
            let mut operands = vec![address];
            operands.extend(std::iter::repeat_n(extent, *rank as usize));
            b.push1(Op::ArrayFromAddress, &operands, Attr::None, ty)
        }
        TypeKind::Tile { elem, .. } => {
            let elem = zero(b, *elem);
            b.push1(Op::TileFill, &[elem], Attr::None, ty)
        }
        TypeKind::Struct(_) | TypeKind::Tuple(_) => {
            let parts: Vec<Value> = components(ty).map(|ty| zero(b, ty)).collect();
            b.construct(ty, &parts)
        }
        _ => {
            let zero = b.constant(ty.element().unwrap_or(Scalar::Bool), Const(0));
            b.splat(ty, zero)
        }
    }
}

/// x + y over the float components; the rest is x's.
pub(crate) fn add(b: &mut Builder<'_>, x: Value, y: Value) -> Value {
    let ty = b.ty(x);
    if let Some((_, extents)) = ty.as_tile() {
        let start = b.int(Scalar::I64, 0);
        return b.push1(Op::TileScatter, &[x, y, start], Attr::Extents(row_major(extents)), ty);
    }
    if !is_record(ty) {
        return b.binary(Op::Add, x, y);
    }
    map(b, ty, &mut |b, index| {
        let (x, y) = (b.extract(x, index), b.extract(y, index));
        if has_floats(b.ty(x)) { add(b, x, y) } else { x }
    })
}

/// The strides of a tile's elements, row by row.
pub(crate) fn row_major(extents: &[u32]) -> Box<[u64]> {
    let mut strides = vec![1; extents.len()];
    for dim in (1..extents.len()).rev() {
        strides[dim - 1] = strides[dim] * u64::from(extents[dim]);
    }
    strides.into()
}

/// x where `condition` holds, else zero.
pub(crate) fn only_where(b: &mut Builder<'_>, condition: Value, x: Value) -> Value {
    let ty = b.ty(x);
    let zero = zero(b, ty);
    b.select(condition, x, zero)
}

/// A record from what `part` gives for each component.
fn map(b: &mut Builder<'_>, ty: Type, part: &mut dyn FnMut(&mut Builder<'_>, u32) -> Value) -> Value {
    let parts: Vec<Value> = (0..ty.n_components() as u32).map(|index| part(b, index)).collect();
    b.construct(ty, &parts)
}
