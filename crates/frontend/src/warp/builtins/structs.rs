//! The structs that the kernel library declares, as classes with annotated fields:
//!
//! ```python
//! class MeshQueryPoint:
//!     result: bool
//!     face: int32
//! ```
//!
//! Fields are of named types, structs declared before, or `array(dtype=…)` of one of these. A class that is derived from
//! another has its fields first.

use super::LIBRARY;
use crate::source::ParsedFile;
use crate::walk::pattern;
use ir::{Type, TypeKind};
use ruff_python_ast::{Expr, Stmt, StmtClassDef};
use std::sync::OnceLock;

/// A struct of the kernel library by its name.
pub fn library_struct(name: &str) -> Option<Type> {
    find(all(), name)
}

/// The type that an annotation of the kernel library names, as those of fields do.
pub(crate) fn annotated(annotation: &Expr) -> Option<Type> {
    field_type(annotation, all())
}

fn all() -> &'static [(String, Type)] {
    static STRUCTS: OnceLock<Vec<(String, Type)>> = OnceLock::new();
    STRUCTS.get_or_init(|| {
        let mut all = Vec::new();
        for (file, text) in LIBRARY {
            for class in ParsedFile::open(file, &(*text).into()).classes() {
                let ty = declared(class, &all);
                all.push((class.name.to_string(), ty));
            }
        }
        all
    })
}

fn find(all: &[(String, Type)], name: &str) -> Option<Type> {
    all.iter().find(|(known, _)| known == name).map(|(_, ty)| *ty)
}

fn declared(class: &StmtClassDef, before: &[(String, Type)]) -> Type {
    let field = |stmt: &Stmt| {
        let Stmt::AnnAssign(field) = stmt else { return None };
        let Expr::Name(name) = &*field.target else { return None };
        let ty = field_type(&field.annotation, before);
        Some((name.id.to_string(), ty.unwrap_or_else(|| panic!("`{}.{}` has no known type", class.name, name.id))))
    };
    let inherited = class.bases().iter().flat_map(|base| {
        let Expr::Name(name) = base else { panic!("a base of `{}` has no name", class.name) };
        match find(before, name.id.as_str()).as_ref().map(|ty| ty.kind()) {
            Some(TypeKind::Struct(base)) => base.fields.clone(),
            _ => panic!("the base `{}` of `{}` is not known", name.id, class.name),
        }
    });
    Type::structure(class.name.as_str(), inherited.chain(class.body.iter().filter_map(field)).collect())
}

fn field_type(annotation: &Expr, before: &[(String, Type)]) -> Option<Type> {
    match annotation {
        Expr::Name(name) if name.id.as_str() == "Octet" => Some(Type::vector(ir::Scalar::F32, 8)),
        Expr::Name(name) => pattern::named_type(name.id.as_str()).or_else(|| find(before, name.id.as_str())),
        Expr::Call(call) => Some(Type::array(field_type(&call.arguments.find_keyword("dtype")?.value, before)?, 1)),
        _ => None,
    }
}
