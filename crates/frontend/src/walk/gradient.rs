//! Gradients that the user gives: `@wp.func_grad(f)` and `@wp.func_replay(f)`.
//!
//! In: a function that was lowered, and what Python registered for it. Out: two more functions of the module. The
//! replay function has the function's own parameters and results. The gradient function takes the function's arguments,
//! the adjoints of its results, and the adjoint arrays of those arguments that lead to floats; it gives the adjoints of
//! those arguments that are floats. In its body `wp.adjoint[x]` is that array, or a variable: it starts at zero, or for
//! a parameter passed by reference as the adjoint of what that holds in the end.
//!
//! ```text
//! def adj_f(x: float, a: wp.array(dtype=float), adj_ret: float):      func @adj_f(v0: f32, v1: array, v2: f32, v3: array)
//!     wp.adjoint[x] += a[0] * adj_ret                              ->    v4 = load v1[0]; v5 = mul v4, v2
//!     wp.adjoint[a][0] += x * adj_ret                                    v6 = mul v0, v2; atomic add v3[0], v6
//!                                                                        return v5
//! ```

use super::argument::Argument;
use super::instance::{Callee, library};
use super::lower::{Result, Scope};
use super::unit::{Returns, Unit};
use crate::{Custom, ObjectId, ParamSource, TypePattern};
use diagnostics::{Diagnostic, Span};
use ir::{CustomGradient, FuncRef, FunctionKind, Scalar, Type, TypeKind};
use ruff_python_ast::visitor::transformer::{Transformer, walk_expr};
use ruff_python_ast::{Expr, ExprContext, StmtFunctionDef};

/// A function whose gradient or replay function is to be lowered when all else is.
#[derive(Clone)]
pub(crate) struct Pending {
    pub(crate) func: FuncRef,
    pub(crate) of: Differentiated,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) returns: Returns,
}

/// What a gradient is of, or may be.
#[derive(Clone)]
pub(crate) enum Differentiated {
    Function(ObjectId),
    /// A function of the kernel library, and its gradient there.
    Library(Box<[Callee; 2]>),
}

impl Differentiated {
    /// In the kernel library the gradient of `_f` is `adjoint_f`.
    pub(crate) fn of(callee: &Callee) -> Option<Differentiated> {
        if let Scope::Host(object) = callee.scope {
            return Some(Differentiated::Function(object));
        }
        let name = adjoint_in_library(&callee.name)?;
        let gradient = library().iter().find(|known| known.name == name)?;
        Some(Differentiated::Library(Box::new([callee.clone(), gradient.clone()])))
    }
}

fn adjoint_in_library(name: &str) -> Option<String> {
    name.starts_with('_').then(|| format!("adjoint{name}"))
}

/// The name that stands for `wp.adjoint[x]`.
fn adjoint_name(param: &str) -> String {
    format!("adjoint.{param}")
}

impl Unit<'_> {
    /// Lowers what is registered for the functions that the kernel calls.
    pub(crate) fn custom_gradients(&mut self) -> Result<()> {
        // What the gradients themselves call needs no gradient of its own.
        for pending in std::mem::take(&mut self.pending) {
            let (of, gradient, replay) = match &pending.of {
                Differentiated::Library(both) => (both[0].clone(), Some(both[1].clone()), None),
                &Differentiated::Function(object) => {
                    let gradient = self.host.custom(object, Custom::Gradient);
                    let gradient = gradient.map(|gradient| self.callee(gradient)).transpose()?;
                    (self.callee(object)?, gradient, self.host.custom(object, Custom::Replay))
                }
            };
            let gradient = gradient.map(|gradient| self.gradient(&pending, &of, gradient)).transpose()?;
            let replay = replay.map(|object| self.replay(&pending, object)).transpose()?;
            if gradient.is_some() || replay.is_some() {
                self.custom.push(CustomGradient { func: pending.func, gradient, replay });
            }
        }
        self.pending.clear();
        Ok(())
    }

    fn replay(&mut self, pending: &Pending, object: ObjectId) -> Result<FuncRef> {
        let callee = self.callee(object)?;
        let n = pending.arguments.len();
        if callee.params.len() != n {
            return Err(self.refuse_signature(
                &callee,
                format!("takes {} arguments", callee.params.len()),
                n,
                "replays",
            ));
        }
        let (func, returns) = self.further(&callee, &pending.arguments)?;
        if returns.types != pending.returns.types {
            let found = format!("gives {} results or others", returns.types.len());
            return Err(self.refuse_signature(&callee, found, n, "replays"));
        }
        Ok(func)
    }

    fn gradient(&mut self, pending: &Pending, of: &Callee, mut callee: Callee) -> Result<FuncRef> {
        let n = pending.arguments.len();
        let expected = n + pending.returns.types.len();
        if callee.params.len() != expected {
            let found = format!("takes {} arguments", callee.params.len());
            return Err(self.refuse_signature(&callee, found, expected, "is the gradient of"));
        }
        let mut arguments = pending.arguments.clone();
        arguments.extend(pending.returns.types.iter().map(|&ty| Argument::Value(ty)));
        callee.accumulators = Some(Vec::new());
        // What a parameter passed by reference holds in the end is a result, whose adjoint its own starts as.
        for (param, argument) in of.params.iter().zip(&pending.arguments) {
            let &Argument::Value(ty) = argument else { continue };
            if param.annotation.as_ref().is_some_and(TypePattern::is_ref) && !ty.is_array() {
                callee.params.push(ParamSource::hidden(adjoint_name(&param.name)));
                arguments.push(Argument::Value(ty));
            }
        }
        // The gradient function gives adjoints, not what its parameters hold in the end.
        for param in &mut callee.params {
            if let Some(TypePattern::Ref(inner)) = &param.annotation {
                param.annotation = Some((**inner).clone());
            }
        }
        let params = callee.params[..n].to_vec();
        for (param, argument) in params.iter().zip(&pending.arguments) {
            let &Argument::Value(ty) = argument else { continue };
            let name = adjoint_name(&param.name);
            if leads_to_floats(ty) {
                callee.params.push(ParamSource::hidden(name));
                arguments.push(Argument::Value(ty));
            } else if has_floats(ty) {
                callee.accumulators.get_or_insert_default().push((name, ty));
            }
        }
        self.further(&callee, &arguments).map(|(func, _)| func)
    }

    fn further(&mut self, callee: &Callee, arguments: &[Argument]) -> Result<(FuncRef, Returns)> {
        let name = self.free_name(&callee.name);
        let (func, returns) = self.lower(callee, name, FunctionKind::Function, arguments)?;
        Ok((self.add(func), returns))
    }

    fn refuse_signature(&mut self, callee: &Callee, found: String, expected: usize, role: &str) -> super::Reported {
        let message = format!("`{}` {role} a function that it does not fit: it {found}", callee.name);
        let help = format!(
            "it takes the function's arguments{}, {expected} in all",
            if role == "replays" { "" } else { ", then an adjoint for each result" }
        );
        let report = Diagnostic::new("gradient-signature", self.name_span(callee), message).help(help);
        self.diagnostics.push(report);
        super::Reported
    }

    pub(crate) fn name_span(&mut self, callee: &Callee) -> Span {
        let file = self.sources.add(callee.parsed.file.clone());
        let range = callee.def(&callee.parsed).name.range;
        Span { file, start: range.start().into(), end: range.end().into() }
    }
}

fn has_floats(ty: Type) -> bool {
    match ty.kind() {
        TypeKind::Array { .. } => false,
        TypeKind::Struct(_) | TypeKind::Tuple(_) => {
            (0..ty.n_components()).filter_map(|index| ty.component(index)).any(has_floats)
        }
        TypeKind::Tile { elem, .. } => has_floats(*elem),
        _ => ty.element().is_some_and(Scalar::is_float),
    }
}

fn leads_to_floats(ty: Type) -> bool {
    match ty.kind() {
        TypeKind::Array { elem, .. } => has_floats(*elem),
        TypeKind::Struct(_) | TypeKind::Tuple(_) => {
            (0..ty.n_components()).filter_map(|index| ty.component(index)).any(leads_to_floats)
        }
        _ => false,
    }
}

/// A gradient function with a name in the place of each `wp.adjoint[…]`.
pub(crate) fn with_adjoint_names(def: &StmtFunctionDef) -> StmtFunctionDef {
    let mut def = def.clone();
    def.body.iter_mut().for_each(|stmt| Renamer.visit_stmt(stmt));
    def
}

struct Renamer;

impl Transformer for Renamer {
    fn visit_expr(&self, expr: &mut Expr) {
        walk_expr(self, expr);
        let Expr::Subscript(subscript) = &*expr else { return };
        let is_adjoint = match &*subscript.value {
            Expr::Attribute(attribute) => attribute.attr.as_str() == "adjoint",
            Expr::Name(name) => name.id.as_str() == "adjoint",
            _ => false,
        };
        if is_adjoint {
            let mut named = (*subscript.slice).clone();
            rename(&mut named, subscript.ctx);
            *expr = named;
        }
    }
}

/// `x.field[i]` becomes `adjoint.x.field[i]`, where `adjoint.x` is one name.
fn rename(expr: &mut Expr, ctx: ExprContext) {
    match expr {
        Expr::Name(name) => {
            name.id = adjoint_name(name.id.as_str()).into();
            name.ctx = ctx;
        }
        Expr::Attribute(attribute) => {
            rename(&mut attribute.value, ExprContext::Load);
            attribute.ctx = ctx;
        }
        Expr::Subscript(subscript) => {
            rename(&mut subscript.value, ExprContext::Load);
            subscript.ctx = ctx;
        }
        _ => {}
    }
}
