//! The functions that are written in the kernel language, and how they are called.
//!
//! Two things differ from functions of the user's. Literals take the element type of the other arguments:
//! `lerp(a, b, 0.5)` works for vectors of any float type. And some functions change variables of their caller,
//! as a random generator changes its state: those return the new values after their result, and the call stores
//! them ([`outputs`]).

use super::Args;
use crate::warp::instance;
use crate::warp::lower::Result;
use crate::warp::operand::literal_as;
use crate::warp::{Lower, Operand};
use crate::{HostValue, TypePattern};
use diagnostics::Span;
use ir::Type;
use ruff_python_ast::{Expr, ExprCall};

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        /// Name and text of every file of the library.
        pub(crate) const LIBRARY: &[(&str, &str)] = &[$((
            concat!("gridstride/lib/", $name),
            include_str!(concat!("../../../../../python/gridstride/lib/", $name)),
        )),*];
    };
}

files!("scalar.py");

/// Functions that change variables of their caller: name, least number of arguments, and which arguments.
const OUTPUTS: &[(&str, usize, &[usize])] = &[
    ("randi", 1, &[0]),
    ("randu", 1, &[0]),
    ("randf", 1, &[0]),
    ("randn", 1, &[0]),
    ("poisson", 1, &[0]),
    ("sample_cdf", 1, &[0]),
    ("sample_triangle", 1, &[0]),
    ("sample_unit_ring", 1, &[0]),
    ("sample_unit_disk", 1, &[0]),
    ("sample_unit_sphere", 1, &[0]),
    ("sample_unit_sphere_surface", 1, &[0]),
    ("sample_unit_hemisphere", 1, &[0]),
    ("sample_unit_hemisphere_surface", 1, &[0]),
    ("sample_unit_square", 1, &[0]),
    ("sample_unit_cube", 1, &[0]),
    ("transform_set_translation", 1, &[0]),
    ("transform_set_rotation", 1, &[0]),
    ("quat_to_axis_angle", 3, &[1, 2]),
    ("svd3", 4, &[1, 2, 3]),
    ("svd2", 4, &[1, 2, 3]),
    ("qr3", 3, &[1, 2]),
    ("eig3", 3, &[1, 2]),
];

/// Which arguments a call of a builtin stores to.
pub(crate) fn outputs(name: &str, n_args: usize) -> &'static [usize] {
    let found = OUTPUTS.iter().find(|(known, least, _)| *known == name && n_args >= *least);
    found.map_or(&[], |(_, _, outputs)| outputs)
}

/// Names of the library's functions.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    instance::library().iter().map(|callee| callee.name.as_str())
}

impl Lower<'_, '_> {
    /// Gives literals the element type of the arguments beside them, where the parameters leave it open.
    pub(super) fn library_arguments(&mut self, name: &str, mut args: Args) -> Args {
        let overloads: Vec<_> = instance::library().iter().filter(|callee| callee.name == name).collect();
        let elements = |lower: &Self| {
            let typed = args.positional.iter().chain(args.named.iter().map(|(_, operand)| operand));
            let typed = typed.filter(|operand| !Self::is_literal(operand));
            typed.filter_map(|operand| lower.type_of(operand).and_then(Type::element)).collect::<Vec<_>>()
        };
        let elements = elements(self);
        let element = elements.iter().find(|scalar| scalar.is_float()).or(elements.first()).copied();
        let is_open = |index: Option<usize>, key: &str| {
            overloads.iter().any(|callee| {
                let found = match index {
                    Some(index) => callee.params.get(index),
                    None => callee.params.iter().find(|param| param.name == key),
                };
                found.is_some_and(|param| !matches!(param.annotation, Some(TypePattern::Is(_))))
            })
        };
        let convert = |operand: &mut Operand| {
            let Operand::Static(value @ (HostValue::Int(_) | HostValue::Float(_))) = operand else { return };
            // Integers among literals alone become floats: `quat_rpy(0, 0, 1.5)`.
            let element = element.unwrap_or(ir::Scalar::F32);
            if let Some(constant) = literal_as(value, element) {
                *operand = Operand::Static(HostValue::Scalar(element, constant));
            }
        };
        for (i, operand) in args.positional.iter_mut().enumerate() {
            if is_open(Some(i), "") {
                convert(operand);
            }
        }
        for (key, operand) in &mut args.named {
            if is_open(None, key) {
                convert(operand);
            }
        }
        args
    }

    /// Stores what a call changed, and gives its result proper.
    pub(crate) fn store_outputs(
        &mut self,
        name: &str,
        call: &ExprCall,
        result: Operand,
        span: Span,
    ) -> Result<Operand> {
        let n_args = call.arguments.args.len() + call.arguments.keywords.len();
        let outputs = outputs(name, n_args);
        if outputs.is_empty() {
            return Ok(result);
        }
        let items = match result {
            Operand::Tuple(items) => items,
            one => vec![one],
        };
        let n_results = items.len().saturating_sub(outputs.len());
        for (&index, item) in outputs.iter().zip(&items[n_results..]) {
            let target = call.arguments.args.get(index).or_else(|| self.keyword_target(name, call, index));
            // A value that has no name is changed without anyone seeing it.
            if let Some(target @ (Expr::Name(_) | Expr::Attribute(_))) = target {
                self.assign(target, item.clone(), span)?;
            }
        }
        Ok(match &items[..n_results] {
            [] => Operand::NONE,
            [one] => one.clone(),
            many => Operand::Tuple(many.to_vec()),
        })
    }

    fn keyword_target<'a>(&self, name: &str, call: &'a ExprCall, index: usize) -> Option<&'a Expr> {
        let callee = instance::library().iter().find(|callee| callee.name == name)?;
        let param = callee.params.get(index)?.name.as_str();
        let keyword = call.arguments.keywords.iter().find(|keyword| keyword.arg.as_deref() == Some(param))?;
        Some(&keyword.value)
    }
}
