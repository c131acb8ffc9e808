//! Templates: what their parameters stand for; and types by name.

use super::{Bindings, Bound, Result, Text};
use crate::c::ast::{Expr, Function, TemplateArg, TypeExpr, TypeKind};
use crate::c::types::{self, CType};
use diagnostics::Span;

impl Text<'_> {
    /// The type that is written.
    pub(super) fn resolve(&mut self, ty: &TypeExpr, bindings: &Bindings) -> Result<CType> {
        Ok(match &ty.kind {
            TypeKind::Void => CType::Void,
            TypeKind::Scalar(scalar) => CType::Scalar(*scalar),
            TypeKind::Named(name, args) => self.named_type(name, args, ty, bindings)?,
            TypeKind::Pointer(inner) | TypeKind::Reference(inner) => {
                CType::Pointer(self.resolve(inner, bindings)?.into(), inner.is_const)
            }
            TypeKind::Array(..) => self.array(ty, None, bindings, &[])?,
            TypeKind::Auto => {
                return Err(self.error("type-mismatch", ty.span, "`auto` has no type here", "write the type"));
            }
        })
    }

    /// The type of an array; its initializer may say how long it is.
    pub(super) fn array(
        &mut self,
        ty: &TypeExpr,
        init: Option<&Expr>,
        bindings: &Bindings,
        known: &[(crate::c::ast::Name, i128, CType)],
    ) -> Result<CType> {
        let TypeKind::Array(elem, length) = &ty.kind else { return self.resolve(ty, bindings) };
        let elem = self.array(elem, None, bindings, known)?;
        if matches!(elem, CType::Void | CType::Pointer(..) | CType::Elements(..)) {
            let message = format!("an array of `{}` is not read", elem.name());
            return Err(self.error("type-mismatch", ty.span, message, "keep indices in the array"));
        }
        let len = match (length, init.map(|init| &init.kind)) {
            (Some(length), _) => self.constant(length, bindings, known)?,
            (None, Some(crate::c::ast::ExprKind::Braces(items))) => items.len() as i128,
            (None, _) => {
                let help = "write its length in the brackets, or its elements in braces";
                return Err(self.error("c-syntax", ty.span, "this array has no length", help));
            }
        };
        match u64::try_from(len) {
            Ok(len) if (1..1 << 31).contains(&len) => Ok(CType::Array(elem.into(), len)),
            _ => {
                let message = format!("an array of {len} elements cannot be declared");
                Err(self.error("local-array-size", ty.span, message, "a length is at least 1"))
            }
        }
    }

    fn named_type(&mut self, name: &str, args: &[TemplateArg], ty: &TypeExpr, bindings: &Bindings) -> Result<CType> {
        if let Some((_, Bound::Type(found))) = bindings.iter().find(|(known, _)| &**known == name) {
            return Ok(found.clone());
        }
        let program = self.program.clone();
        if let Some(found) = program.structs.iter().find(|one| &*one.name == name) {
            return self.structure(found, &Vec::new()).map(CType::Struct);
        }
        if let Some((_, alias)) = program.aliases.iter().find(|(known, _)| &**known == name) {
            return self.resolve(alias, &Vec::new());
        }
        if name == types::ELEMENTS
            && let [TemplateArg::Type(elem), TemplateArg::Value(rank)] = args
        {
            let rank = self.constant(rank, bindings, &[])?;
            let inner = self.resolve(elem, bindings)?;
            return Ok(CType::Elements(inner.into(), rank.clamp(1, 4) as u32, elem.is_const));
        }
        match types::known(name) {
            Some(found) => Ok(found),
            None => Err(self.error("unknown-name", ty.span, format!("there is no type `{name}`"), types::HELP)),
        }
    }

    /// What a template's parameters stand for, by the arguments that are written out.
    pub(super) fn bind(
        &mut self,
        function: &Function,
        args: &[TemplateArg],
        outer: &Bindings,
        span: Span,
    ) -> Result<Bindings> {
        let mut bindings = Bindings::new();
        if args.len() > function.template.len() {
            let message = format!(
                "`{}` has {} template parameters, found {} arguments",
                function.name,
                function.template.len(),
                args.len()
            );
            return Err(self.error("argument-count", span, message, "give as many as it has parameters"));
        }
        for (index, param) in function.template.iter().enumerate() {
            let Some(arg) = args.get(index).or(param.default.as_ref()) else {
                let names: Vec<&str> = function.template.iter().map(|param| &*param.name).collect();
                let message = format!("`{}` is a template: `{}` is open", function.name, param.name);
                let help = format!("write `{}<{}>`, each by its type or value", function.name, names.join(", "));
                return Err(self.error("argument-count", span, message, help));
            };
            let bound = self.template_arg(arg, outer)?;
            let bound = match (bound, &param.value) {
                (Bound::Value(value, _), Some(ty)) => Bound::Value(value, self.resolve(ty, &bindings)?),
                (bound @ Bound::Type(_), None) => bound,
                _ => {
                    let message = format!("`{}` of `{}` stands for something else", param.name, function.name);
                    let help = if param.value.is_some() { "give an integer for it" } else { "give a type for it" };
                    return Err(self.error("type-mismatch", span, message, help));
                }
            };
            bindings.push((param.name.clone(), bound));
        }
        Ok(bindings)
    }

    /// What a template's parameters stand for in a call: those that are written out, the others by the arguments' types.
    pub(super) fn deduce(
        &mut self,
        function: &Function,
        args: &[TemplateArg],
        types: &[CType],
        outer: &Bindings,
        span: Span,
    ) -> Result<Bindings> {
        let mut bindings = Bindings::new();
        for (param, arg) in function.template.iter().zip(args) {
            let bound = match (self.template_arg(arg, outer)?, &param.value) {
                (Bound::Value(value, _), Some(ty)) => Bound::Value(value, self.resolve(ty, &bindings)?),
                (bound, _) => bound,
            };
            bindings.push((param.name.clone(), bound));
        }
        for (param, ty) in function.params.iter().zip(types) {
            fits(function, &param.ty, ty, &mut bindings);
        }
        for param in &function.template {
            if bindings.iter().any(|(known, _)| *known == param.name) {
                continue;
            }
            let Some(default) = &param.default else {
                let message = format!("`{}` cannot be found from the arguments of `{}`", param.name, function.name);
                let help = format!("write it: `{}<…>(…)`", function.name);
                return Err(self.error("no-overload", span, message, help));
            };
            let bound = self.template_arg(default, &bindings)?;
            bindings.push((param.name.clone(), bound));
        }
        Ok(bindings)
    }
}

/// Binds the parameters of a template that a parameter's type names.
fn fits(function: &Function, written: &TypeExpr, given: &CType, bindings: &mut Bindings) {
    match (&written.kind, given) {
        (TypeKind::Named(name, _), _)
            if function.template.iter().any(|param| param.name == *name)
                && !bindings.iter().any(|(known, _)| known == name) =>
        {
            bindings.push((name.clone(), Bound::Type(given.clone())));
        }
        (TypeKind::Pointer(inner), CType::Pointer(to, _) | CType::Array(to, _)) => fits(function, inner, to, bindings),
        (TypeKind::Reference(inner), _) => fits(function, inner, given, bindings),
        (TypeKind::Array(inner, _), CType::Pointer(to, _) | CType::Array(to, _)) => fits(function, inner, to, bindings),
        _ => {}
    }
}
