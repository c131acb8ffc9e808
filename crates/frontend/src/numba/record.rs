//! Elements of record arrays: references into the array, whose fields are read and written in place.
//!
//! A reference is a struct named `record` of an array of one element, `at`:
//!
//! ```text
//! r = a[i]; r.x = 1.0    ->    v4 = subarray a, v3, 1, 1 {0};  v5: record = construct v4
//!                              v6 = extract v5 {0};  store v6[0].x, v7
//! ```

use super::types::Number;
use crate::HostValue;
use crate::walk::lower::{Lower, Result};
use crate::walk::operand::Operand;
use crate::walk::subscript::{Access, PieceKind, Place};
use diagnostics::Span;
use ir::{Attr, Op, PathElem, Scalar, Type, TypeKind, Value};

/// The name of the type of references.
pub(super) const VIEW: &str = "record";

/// The type of references to records of type `elem`.
pub(super) fn view_of(elem: Type) -> Type {
    Type::structure(VIEW, vec![("at".to_owned(), Type::array(elem, 1))])
}

/// The type of the record behind a reference.
pub(super) fn of_view(ty: Type) -> Option<Type> {
    match ty.kind() {
        TypeKind::Struct(s) if s.name == VIEW => s.fields.first()?.1.as_array().map(|(elem, _)| elem),
        _ => None,
    }
}

/// Whether values of a type are records: structs that are no numbers.
pub(super) fn is_record(ty: Type) -> bool {
    matches!(ty.kind(), TypeKind::Struct(_)) && Number::of(ty).is_none() && of_view(ty).is_none()
}

/// Reading a whole element of a record array gives a reference.
pub(crate) fn read(lower: &mut Lower<'_, '_>, place: &Place) -> Result<Option<Operand>> {
    let Place::Memory(access) = place else { return Ok(None) };
    if !access.path.is_empty() || !is_record(access.ty) {
        return Ok(None);
    }
    let Some((&last, first)) = access.indices.split_last() else { return Ok(None) };
    let mut array = access.array;
    for &index in first {
        array = lower.b().row(array, index, 0);
    }
    let one = lower.b().int(Scalar::I64, 1);
    let ty = lower.ty(array);
    let at = lower.b().push1(Op::Subarray, &[array, last, one, one], Attr::Index(0), ty);
    Ok(Some(Operand::Value(lower.b().construct(view_of(access.ty), &[at]))))
}

/// The field of a record that an index or attribute names.
pub(super) fn field(lower: &mut Lower<'_, '_>, base: &Place, key: &Operand, span: Span) -> Result<Option<Place>> {
    let Some(ty) = lower.place_type(base) else { return Ok(None) };
    let record = of_view(ty).unwrap_or(ty);
    if !is_record(record) {
        return Ok(None);
    }
    let TypeKind::Struct(s) = record.kind() else { return Ok(None) };
    let found = match key {
        Operand::Static(HostValue::Str(name)) => s.fields.iter().position(|(field, _)| field == name),
        _ => key.as_int().and_then(|k| {
            let n = s.fields.len() as i128;
            usize::try_from(if k < 0 { k + n } else { k }).ok().filter(|&k| k < s.fields.len())
        }),
    };
    let Some(index) = found else {
        let what = lower.describe(key);
        let fields: Vec<String> = s.fields.iter().map(|(name, _)| format!("`{name}`")).collect();
        let report = lower.report("unknown-attribute", span, format!("this record has no field {what}"));
        return Err(lower.emit(report.help(format!("its fields: {}", fields.join(", ")))));
    };
    let (k, ty) = (index as u32, s.fields[index].1);
    if of_view(lower.place_type(base).unwrap_or(ty)).is_none() {
        return Ok(Some(lower.piece(base.clone(), PieceKind::Component(k), ty)));
    }
    let reference = lower.read(base.clone())?;
    let reference = lower.value(&reference, span)?;
    Ok(Some(Place::Memory(first_of(lower, reference, record).step(PathElem::Static(k), &[], ty))))
}

/// The record itself, as memory.
fn first_of(lower: &mut Lower<'_, '_>, reference: Value, record: Type) -> Access {
    let array = lower.b().extract(reference, 0);
    let zero = lower.b().int(Scalar::I64, 0);
    Access {
        array,
        indices: vec![zero],
        path: Vec::new(),
        path_indices: Vec::new(),
        ty: record,
        name: "record".to_owned(),
        span: lower.span,
    }
}

/// The record behind a reference as a place that can be written as a whole.
pub(super) fn whole(lower: &mut Lower<'_, '_>, reference: Value) -> Option<Place> {
    let record = of_view(lower.ty(reference))?;
    Some(Place::Memory(first_of(lower, reference, record)))
}
