//! Values that consist of parts: vectors, structs, and arrays inside of structs.

use super::Result;
use super::body::{Body, Rvalue};
use crate::c::types::CType;
use diagnostics::Span;
use ir::{PathElem, Type, Value};

/// One step from a value to a part of it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Static(u32),
    Dynamic(Value),
}

impl Step {
    pub(super) fn path(self) -> PathElem {
        if let Step::Static(index) = self { PathElem::Static(index) } else { PathElem::Dynamic }
    }
}

/// What a field of a struct is in the IR: an array of numbers lies there as a vector.
pub(super) fn held(ty: &CType) -> Type {
    match ty {
        CType::Array(elem, len) => match elem.as_scalar() {
            Some(scalar) => Type::vector(scalar, *len as u32),
            None => elem.cell(),
        },
        _ => ty.cell(),
    }
}

/// The number and type of a member.
pub(super) fn member(ty: &CType, name: &str) -> Option<(u32, CType)> {
    match ty {
        CType::Vector(elem, len) => {
            let index = ["x", "y", "z", "w"].iter().position(|letter| *letter == name)? as u32;
            (index < *len).then_some((index, CType::Scalar(*elem)))
        }
        CType::Struct(ty) => {
            let index = ty.fields.iter().position(|(field, _)| &**field == name)?;
            Some((index as u32, ty.fields[index].1.clone()))
        }
        _ => None,
    }
}

/// The types of the parts that a list in braces gives, in order.
pub(super) fn parts(ty: &CType) -> Vec<CType> {
    match ty {
        CType::Vector(elem, len) => vec![CType::Scalar(*elem); *len as usize],
        CType::Struct(ty) => ty.fields.iter().map(|(_, ty)| ty.clone()).collect(),
        CType::Array(elem, len) => vec![(**elem).clone(); *len as usize],
        _ => Vec::new(),
    }
}

impl Body<'_, '_, '_> {
    /// A vector or struct from values of its parts; what is left out is zero.
    pub(super) fn assemble(&mut self, ty: &CType, values: &[Rvalue], span: Span) -> Result<Rvalue> {
        let parts = parts(ty);
        if values.len() > parts.len() {
            let message = format!("`{}` has {} parts, found {} values", ty.name(), parts.len(), values.len());
            return Err(self.error("argument-count", span, message, "give as many values as it has parts"));
        }
        let mut items = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            items.push(match values.get(index) {
                Some(value) => self.converted(value.clone(), part, span)?.one(),
                None => self.zero_of(held(part)),
            });
        }
        let value = self.b().construct(held(ty), &items);
        Ok(Rvalue::value(ty.clone(), value))
    }

    /// A part of a value.
    pub(super) fn taken(&mut self, whole: Value, step: Step, ty: &CType) -> Value {
        match step {
            Step::Static(index) => self.b().extract(whole, index),
            Step::Dynamic(at) => self.b().push1(ir::Op::ExtractDyn, &[whole, at], ir::Attr::None, held(ty)),
        }
    }

    /// A value with the part that steps lead to replaced.
    pub(super) fn replaced(&mut self, whole: Value, steps: &[Step], part: Value) -> Value {
        let Some((first, rest)) = steps.split_first() else { return part };
        let ty = self.func.ty(whole);
        match *first {
            Step::Static(index) => {
                let inner = if rest.is_empty() { part } else { self.b().extract(whole, index) };
                let inner = self.replaced(inner, rest, part);
                self.b().insert(whole, inner, index)
            }
            // Only an array of numbers is indexed at run time: there is nothing further inside.
            Step::Dynamic(at) => self.b().push1(ir::Op::InsertDyn, &[whole, part, at], ir::Attr::None, ty),
        }
    }
}
