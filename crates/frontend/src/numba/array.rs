//! Attributes, subscripts and methods of arrays, tuples, records and numbers; assignment to slices.

use super::types::Number;
use super::{blocks, complex, create, extend, record, warps};
use crate::walk::call::Args;
use crate::walk::closure;
use crate::walk::lower::{Lower, Result};
use crate::walk::operand::Operand;
use crate::walk::subscript::{Access, Index, PieceKind, Place};
use crate::{HostValue, TypePattern};
use diagnostics::Span;
use ir::{Attr, Const, Op, PathElem, Scalar, Type, TypeKind, Value};
use ruff_python_ast::ExprAttribute;

/// What `...` in a subscript is while it is read.
pub(super) const ELLIPSIS: &str = "...";

pub(crate) fn attribute(
    lower: &mut Lower<'_, '_>,
    base: &Place,
    name: &str,
    expr: &ExprAttribute,
) -> Result<Option<Place>> {
    let span = lower.span_of(expr);
    if let Place::Operand(Operand::Static(value)) | Place::Name(_, Operand::Static(value)) = base {
        let found = match value {
            HostValue::Object(object) => {
                let found = lower.unit.host.attribute(*object, name);
                (found == Some(HostValue::Builtin("cuda.laneid".into()))).then(|| warps::lane(lower))
            }
            HostValue::Builtin(builtin) => match blocks::position(lower, &builtin.clone(), name) {
                Some(found) => Some(found),
                None => Some(Operand::Method(Box::new(Operand::Static(value.clone())), name.to_owned())),
            },
            HostValue::Type(TypePattern::Is(ty)) if name == "itemsize" => Some(Operand::int(i128::from(ty.size()))),
            HostValue::Type(_) if matches!(name, "dtype" | "type") => Some(Operand::Static(value.clone())),
            _ => None,
        };
        if found.is_some() {
            return Ok(found.map(Place::Operand));
        }
    }
    let Some(ty) = lower.place_type(base) else { return Ok(None) };
    if let (Some(number), "real" | "imag") = (Number::of(ty), name) {
        let operand = lower.read(base.clone())?;
        let value = lower.value(&operand, span)?;
        let part = match number {
            Number::Complex(_) => lower.b().extract(value, u32::from(name == "imag")),
            Number::Real(_) if name == "real" => value,
            Number::Real(scalar) => lower.b().constant(scalar, ir::Const(0)),
        };
        return Ok(Some(Place::Operand(Operand::Value(part))));
    }
    let is_record = record::of_view(ty).is_some() || record::is_record(ty);
    if is_record {
        return record::field(lower, base, &Operand::Static(HostValue::Str(name.to_owned())), span);
    }
    let Some((elem, rank)) = ty.as_array() else { return Ok(None) };
    let operand = lower.read(base.clone())?;
    let array = lower.value(&operand, span)?;
    if let Some(found) = fact(lower, array, elem, rank, name) {
        return Ok(Some(Place::Operand(found)));
    }
    // One field of all elements: read and written element by element, where it is indexed.
    let part = part_of(elem, name);
    if part.is_none()
        && let Some(found) = extend::attribute(lower, &Operand::Value(array), name, span)
    {
        return found.map(|found| Some(Place::Operand(found)));
    }
    Ok(part.map(|_| Place::Operand(Operand::Method(Box::new(Operand::Value(array)), format!("{PART}{name}")))))
}

/// Marks an array of one field of another array's elements.
const PART: char = '.';

/// The field of an element that a name means, or the part of a complex number.
fn part_of(elem: Type, name: &str) -> Option<(u32, Type)> {
    let TypeKind::Struct(s) = elem.kind() else { return None };
    let index = s.fields.iter().position(|(field, _)| field == name)?;
    Some((index as u32, s.fields[index].1))
}

/// The array behind an operand that is one field of all its elements, with the field.
pub(super) fn parted(lower: &Lower<'_, '_>, operand: &Operand) -> Option<(Value, u32, Type)> {
    let Operand::Method(base, name) = operand else { return None };
    let array = base.as_value()?;
    let (elem, _) = lower.ty(array).as_array()?;
    let (index, ty) = part_of(elem, name.strip_prefix(PART)?)?;
    Some((array, index, ty))
}

/// What an array says of itself.
fn fact(lower: &mut Lower<'_, '_>, array: Value, elem: Type, rank: u32, name: &str) -> Option<Operand> {
    Some(match name {
        "shape" => Operand::Tuple((0..rank).map(|dim| Operand::Value(lower.extent_of(array, dim))).collect()),
        "strides" => Operand::Tuple((0..rank).map(|dim| Operand::Value(stride(lower, array, dim))).collect()),
        "ndim" => Operand::int(i128::from(rank)),
        "itemsize" => Operand::int(i128::from(elem.size())),
        "size" => Operand::Value(size(lower, array, rank)),
        "nbytes" => {
            let (n, bytes) = (size(lower, array, rank), lower.b().int(Scalar::I64, i128::from(elem.size())));
            Operand::Value(lower.b().binary(Op::Mul, n, bytes))
        }
        "dtype" => Operand::Static(HostValue::Type(TypePattern::Is(elem))),
        "flat" if rank == 1 => Operand::Value(array),
        "T" if rank == 1 => Operand::Value(array),
        _ => return None,
    })
}

fn size(lower: &mut Lower<'_, '_>, array: Value, rank: u32) -> Value {
    let first = lower.b().extent(array, 0);
    (1..rank).fold(first, |n, dim| {
        let extent = lower.b().extent(array, dim);
        lower.b().binary(Op::Mul, n, extent)
    })
}

/// Bytes from an element to the next along a dimension: the distance of two views.
fn stride(lower: &mut Lower<'_, '_>, array: Value, dim: u32) -> Value {
    let ty = lower.ty(array);
    let (zero, one) = (lower.b().int(Scalar::I64, 0), lower.b().int(Scalar::I64, 1));
    let next = lower.b().push1(Op::Subarray, &[array, one, zero, one], Attr::Index(dim), ty);
    let u64 = Type::scalar(Scalar::U64);
    let (from, to) = (
        lower.b().push1(Op::Address, &[array], Attr::None, u64),
        lower.b().push1(Op::Address, &[next], Attr::None, u64),
    );
    let distance = lower.b().binary(Op::Sub, to, from);
    lower.b().cast(distance, Scalar::I64)
}

/// An index as a list: tuples of any kind are taken apart.
pub(super) fn flat(lower: &mut Lower<'_, '_>, operand: &Operand, span: Span) -> Result<Vec<Index>> {
    let is_tuple = match operand {
        Operand::Tuple(_) | Operand::Static(HostValue::Tuple(_)) => true,
        Operand::Value(value) => matches!(lower.ty(*value).kind(), TypeKind::Tuple(_)),
        _ => false,
    };
    if !is_tuple {
        return Ok(vec![(operand.clone(), span)]);
    }
    Ok(lower.items(operand, span)?.into_iter().map(|item| (item, span)).collect())
}

pub(crate) fn subscript(
    lower: &mut Lower<'_, '_>,
    base: &Place,
    indices: &[Index],
    name: &str,
    span: Span,
) -> Result<Option<Place>> {
    if let Place::Operand(operand) | Place::Name(_, operand) = base
        && let Some((array, index, ty)) = parted(lower, operand)
    {
        let mut list = Vec::new();
        for (index, at) in indices {
            list.extend(flat(lower, index, *at)?);
        }
        let place = lower.array_place(array, &list, name, span)?;
        return Ok(Some(lower.piece(place, PieceKind::Component(index), ty)));
    }
    if let Place::Operand(Operand::Static(HostValue::Object(class))) = base
        && let [(Operand::Static(HostValue::Str(member)), _)] = indices
        && let Some(found) = lower.unit.host.member(*class, member)
    {
        return Ok(Some(Place::Operand(Operand::Static(found))));
    }
    let Some(ty) = lower.place_type(base) else { return Ok(None) };
    if let ([(Operand::Static(HostValue::Str(field)), _)], Some((elem, _))) = (indices, ty.as_array())
        && part_of(elem, field).is_some()
    {
        let operand = lower.read(base.clone())?;
        return Ok(Some(Place::Operand(Operand::Method(Box::new(operand), format!("{PART}{field}")))));
    }
    if let ([(key, at)], true) = (indices, record::of_view(ty).is_some() || record::is_record(ty)) {
        return record::field(lower, base, key, *at);
    }
    let Some((_, rank)) = ty.as_array() else { return Ok(None) };
    let mut list = Vec::new();
    for (index, at) in indices {
        list.extend(flat(lower, index, *at)?);
    }
    let is_ellipsis = |(index, _): &Index| *index == Operand::Static(HostValue::Builtin(ELLIPSIS.into()));
    if let Some(at) = list.iter().position(is_ellipsis) {
        let span = list[at].1;
        let whole = Operand::Slice(Box::new([Operand::NONE, Operand::NONE, Operand::NONE]));
        let missing = (rank as usize + 1).saturating_sub(list.len());
        list.splice(at..=at, vec![(whole, span); missing]);
    } else if list.is_empty() && rank == 1 {
        // An array without dimensions arrives as one of one element: `a[()]` is that element.
        list.push((Operand::int(0), span));
    }
    let operand = lower.read(base.clone())?;
    let array = lower.value(&operand, span)?;
    lower.array_place(array, &list, name, span).map(Some)
}

pub(crate) fn method(lower: &mut Lower<'_, '_>, base: &Operand, name: &str, args: Args, span: Span) -> Result<Operand> {
    if let (Operand::Static(HostValue::Builtin(group)), "sync") = (base, name)
        && group == blocks::GRID_GROUP
    {
        return warps::grid_sync(lower);
    }
    if let Some(result) = closure::call(lower, base, name, &args, span) {
        return result;
    }
    let ty = lower.type_of(base);
    match (ty.map(Type::kind), ty.and_then(Number::of), name) {
        (_, Some(Number::Complex(_)), "conjugate") => {
            let value = lower.value(base, span)?;
            return Ok(Operand::Value(complex::conjugate(lower, value)));
        }
        (_, Some(Number::Real(scalar)), "bit_count") if scalar.is_int() => {
            let value = lower.value(base, span)?;
            return Ok(Operand::Value(warps::bit_count(lower, value)));
        }
        (_, Some(Number::Real(_)), "conjugate" | "item") => return Ok(base.clone()),
        (Some(TypeKind::Array { elem, rank }), _, _) => {
            let array = lower.value(base, span)?;
            if let Some(result) = array_method(lower, array, (*elem, *rank), name, &args, span) {
                return result;
            }
            if let Some(result) = create::method(lower, base, array, name, &args, span) {
                return result;
            }
        }
        _ => {}
    }
    if let Some(result) = extend::method(lower, base, name, &args, span) {
        return result;
    }
    let what = lower.describe(base);
    Err(lower.error("unknown-method", span, format!("{what} has no method `{name}` in a kernel")))
}

/// `ravel`, `reshape` and `view` of contiguous arrays: the same memory seen another way.
fn array_method(
    lower: &mut Lower<'_, '_>,
    array: Value,
    (elem, rank): (Type, u32),
    name: &str,
    args: &Args,
    span: Span,
) -> Option<Result<Operand>> {
    let n = size(lower, array, rank);
    let i64 = Scalar::I64;
    let (elem, extents) = match name {
        "ravel" | "flatten" => (elem, vec![n]),
        "reshape" => {
            let mut extents = Vec::new();
            for operand in &args.positional {
                for (item, at) in flat(lower, operand, span).ok()? {
                    extents.push(lower.index(&item, at).ok()?);
                }
            }
            (elem, extents)
        }
        "view" => {
            let Some(Operand::Static(HostValue::Type(TypePattern::Is(ty)))) = args.positional.first() else {
                return None;
            };
            let mut extents: Vec<Value> = (0..rank).map(|dim| lower.b().extent(array, dim)).collect();
            let last = extents.pop()?;
            let (from, to) = (lower.b().int(i64, elem.size().into()), lower.b().int(i64, ty.size().into()));
            let bytes = lower.b().binary(Op::Mul, last, from);
            extents.push(lower.b().binary(Op::Div, bytes, to));
            (*ty, extents)
        }
        _ => return None,
    };
    if extents.is_empty() || extents.len() > 4 {
        return Some(Err(lower.error("argument-type", span, "an array has 1 to 4 dimensions")));
    }
    let address = lower.b().push1(Op::Address, &[array], Attr::None, Type::scalar(Scalar::U64));
    let ty = Type::array(elem, extents.len() as u32);
    let operands = [vec![address], extents].concat();
    Some(Ok(Operand::Value(lower.b().push1(Op::ArrayFromAddress, &operands, Attr::None, ty))))
}

/// Writes that the walk does not know: `a[i:j] = x`, `a[:] = b`, a record as a whole.
pub(crate) fn write(lower: &mut Lower<'_, '_>, place: &Place, value: &Operand, span: Span) -> Result<bool> {
    let target = match place {
        Place::Memory(access) => Some(access.array),
        Place::Operand(operand) => operand.as_value(),
        _ => None,
    };
    if target.is_some_and(|array| lower.constants.contains(&array)) {
        let report = lower.report("not-assignable", span, "this array is a constant: the kernel takes it from outside");
        return Err(lower.emit(report.help("pass it to the kernel as an argument, or write to `.copy()` of it")));
    }
    if let (Place::Memory(access), Some(source)) = (place, lower.type_of(value).filter(|ty| ty.is_array())) {
        return nested(lower, access, value, source, span);
    }
    if let (Place::Memory(access), Operand::Static(value)) = (place, value)
        && let TypeKind::Vector { elem, len } = *access.ty.kind()
        && let Some(codes) = text_codes(value, elem)
    {
        return text(lower, access, &codes, (elem, len as usize), span);
    }
    let Place::Operand(Operand::Value(target)) = place else { return Ok(false) };
    if let Some(Place::Memory(access)) = record::whole(lower, *target) {
        let value = lower.value_as(value, access.ty, span)?;
        lower.store(&access, value);
        return Ok(true);
    }
    let Some((elem, rank)) = lower.ty(*target).as_array() else { return Ok(false) };
    match lower.type_of(value).and_then(Type::as_array) {
        None => {
            let value = lower.value_as(value, elem, span)?;
            each(lower, *target, rank, &mut Vec::new(), &mut |lower, indices| {
                lower.b().store(*target, indices, &[], &[], value);
                Ok(())
            })?;
        }
        Some((_, n)) if n <= rank => {
            let source = lower.value(value, span)?;
            each(lower, *target, rank, &mut Vec::new(), &mut |lower, indices| {
                let at = &indices[(rank - n) as usize..];
                let item = lower.b().load(source, at, &[], &[]);
                let item = lower.value_as(&Operand::Value(item), elem, span)?;
                lower.b().store(*target, indices, &[], &[], item);
                Ok(())
            })?;
        }
        Some((_, n)) => {
            let message = format!("an array of {n} dimensions does not fit a slice of {rank}");
            return Err(lower.error("type-mismatch", span, message));
        }
    }
    Ok(true)
}

/// The elements of a text of NumPy's: code points of `<U12`, bytes of `S12`.
fn text_codes(value: &HostValue, elem: Scalar) -> Option<Vec<i128>> {
    match (value, elem) {
        (HostValue::Str(text), Scalar::U32) => Some(text.chars().map(|char| u32::from(char).into()).collect()),
        (HostValue::Tuple(bytes), Scalar::U8) => {
            bytes.iter().map(|byte| if let HostValue::Int(byte) = byte { Some(*byte) } else { None }).collect()
        }
        _ => None,
    }
}

/// Assigns a constant text, zeros behind it; as NumPy does, one that is too long is cut.
fn text(
    lower: &mut Lower<'_, '_>,
    access: &Access,
    codes: &[i128],
    (elem, len): (Scalar, usize),
    span: Span,
) -> Result<bool> {
    let mut leaves: Vec<Const> = codes.iter().take(len).map(|&code| Const::int(elem, code)).collect();
    leaves.resize(len, Const(0));
    let value = lower.value(&Operand::Static(HostValue::Composite(access.ty, leaves)), span)?;
    lower.store(access, value);
    Ok(true)
}

/// Assigns an array to a field that is an array of a constant shape.
fn nested(lower: &mut Lower<'_, '_>, access: &Access, value: &Operand, source: Type, span: Span) -> Result<bool> {
    let shape = match *access.ty.kind() {
        TypeKind::Vector { len, .. } => vec![len],
        TypeKind::Matrix { rows, cols, .. } => vec![rows, cols],
        _ => return Ok(false),
    };
    let (Some((_, rank)), Some(elem)) = (source.as_array(), access.ty.element().map(Type::scalar)) else {
        return Ok(false);
    };
    if rank as usize != shape.len() {
        return Ok(false);
    }
    let source = lower.value(value, span)?;
    let width = *shape.last().unwrap_or(&1);
    for k in 0..shape.iter().product::<u32>() {
        let at = if rank == 1 { vec![k] } else { vec![k / width, k % width] };
        let at: Vec<Value> = at.iter().map(|&index| lower.b().int(Scalar::I64, index.into())).collect();
        let item = lower.b().load(source, &at, &[], &[]);
        let item = lower.value_as(&Operand::Value(item), elem, span)?;
        lower.store(&access.clone().step(PathElem::Static(k), &[], elem), item);
    }
    Ok(true)
}

/// Runs `body` for every index of an array, in loops of the IR.
pub(super) fn each(
    lower: &mut Lower<'_, '_>,
    array: Value,
    rank: u32,
    indices: &mut Vec<Value>,
    body: &mut dyn FnMut(&mut Lower<'_, '_>, &[Value]) -> Result<()>,
) -> Result<()> {
    let dim = indices.len() as u32;
    if dim == rank {
        return body(lower, indices);
    }
    let (zero, one) = (lower.b().int(Scalar::I64, 0), lower.b().int(Scalar::I64, 1));
    let extent = lower.b().extent(array, dim);
    let (region, result) = lower.in_region(&[Type::i64()], |lower| {
        indices.push(lower.func.region(lower.region).params[0]);
        let result = each(lower, array, rank, indices, body);
        indices.pop();
        lower.b().continue_(&[]);
        result
    });
    result?;
    lower.b().push(Op::For, &[zero, extent, one], Attr::None, &[region], &[]);
    Ok(())
}
