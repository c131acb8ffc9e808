//! The functions that are written in the kernel language, and how they are called.
//!
//! Two things differ from functions of the user's. Literals take the element type of the other arguments:
//! `lerp(a, b, 0.5)` works for vectors of any float type. And some functions change variables of their caller,
//! as a random generator changes its state: those return the new values after their result, and the call stores
//! them ([`outputs`]).

use super::Args;
use crate::walk::instance;
use crate::walk::lower::Result;
use crate::walk::operand::literal_as;
use crate::walk::{Lower, Operand, Reported};
use crate::{Dialect, HostValue, ParamSource, TypePattern};
use diagnostics::Span;
use ir::{Scalar, Type};
use ruff_python_ast::{Expr, ExprCall};

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        /// Name and text of every file of the kernel library.
        pub const LIBRARY: &[(&str, &str)] = &[$((
            concat!("gridstride/lib/", $name),
            include_str!(concat!("../../../../../python/gridstride/lib/", $name)),
        )),*];
    };
}

files!(
    "scalar.py",
    "vector.py",
    "matrix.py",
    "quaternion.py",
    "transform.py",
    "spatial.py",
    "random.py",
    "noise.py",
    "geometry_ids.py",
    "hash_grid.py",
    "triangles.py",
    "eight_triangles.py",
    "bvh.py",
    "mesh.py",
    "mesh_wide.py",
    "mesh_rays.py",
    "mesh_points.py",
    "mesh_signs.py",
    "texture.py",
    "tile.py",
    "numba.py",
    "numba_arrays.py",
    "numba_fp8.py",
);

/// The dialect that a file of the library is written in.
pub(crate) fn dialect_of(file: &str) -> Dialect {
    if file.contains("/numba") { Dialect::Numba } else { Dialect::Warp }
}

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
    ("hash_grid_query_next", 2, &[0, 1]),
    ("bvh_query_next", 2, &[0, 1]),
    ("mesh_query_next", 2, &[0, 1]),
    ("mesh_query_aabb_next", 2, &[0, 1]),
    // The forms that write what the others give as a struct.
    ("mesh_query_point", 7, &[3, 4, 5, 6]),
    ("mesh_query_point_sign_parity", 7, &[3, 4, 5, 6]),
    ("mesh_query_point_no_sign", 6, &[3, 4, 5]),
    ("mesh_query_furthest_point_no_sign", 6, &[3, 4, 5]),
    ("mesh_query_point_sign_normal", 7, &[3, 4, 5, 6]),
    ("mesh_query_point_sign_winding_number", 7, &[3, 4, 5, 6]),
    ("mesh_query_ray", 10, &[4, 5, 6, 7, 8, 9]),
];

/// Which arguments a call of a builtin stores to.
pub(crate) fn outputs(name: &str, n_args: usize) -> &'static [usize] {
    let found = OUTPUTS.iter().find(|(known, least, _)| *known == name && n_args >= *least);
    found.map_or(&[], |(_, _, outputs)| outputs)
}

/// The result proper of a call from outside a kernel, where nothing can be stored to.
pub(crate) fn without_outputs(name: &str, n_args: usize, result: Operand) -> Operand {
    let n_outputs = outputs(name, n_args).len();
    match result {
        Operand::Tuple(items) if n_outputs > 0 && items.len() > n_outputs => match &items[..items.len() - n_outputs] {
            [one] => one.clone(),
            many => Operand::Tuple(many.to_vec()),
        },
        other => other,
    }
}

/// Names of the library's functions.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    instance::library().iter().map(|callee| callee.name.as_str())
}

impl Lower<'_, '_> {
    /// Gives literals the element type of the arguments beside them, where the parameters leave it open. Arguments
    /// whose element types differ there are refused.
    pub(super) fn library_arguments(&mut self, name: &str, mut args: Args, span: Span) -> Result<Args> {
        let n_positional = args.positional.len();
        let n_args = n_positional + args.named.len();
        let takes = |params: &[ParamSource]| {
            n_args <= params.len() && params.iter().filter(|param| param.default.is_none()).count() <= n_args
        };
        let known = instance::library().iter().filter(|callee| callee.name == name);
        let overloads: Vec<_> = known.filter(|callee| takes(&callee.params)).collect();
        let keys: Vec<String> = args.named.iter().map(|(key, _)| key.clone()).collect();
        let is_open = |index: usize| {
            overloads.iter().any(|callee| {
                let found = match index.checked_sub(n_positional) {
                    None => callee.params.get(index),
                    Some(named) => callee.params.iter().find(|param| param.name == keys[named]),
                };
                found.is_some_and(|param| !matches!(param.annotation, Some(TypePattern::Is(_) | TypePattern::AnyInt)))
            })
        };
        let operands = args.positional.iter_mut().chain(args.named.iter_mut().map(|(_, operand)| operand));
        let mut open: Vec<(usize, &mut Operand)> = operands.enumerate().filter(|(i, _)| is_open(*i)).collect();
        let mut element = None;
        for (i, operand) in &open {
            let found = self.type_of(operand).filter(|_| !Self::is_literal(operand)).and_then(inner_scalar);
            match (element, found) {
                (None, Some(found)) => element = Some(found),
                (Some(element), Some(found)) if element != found => {
                    let at = args.spans.get(*i).copied().unwrap_or(span);
                    return Err(self.mixed_elements(name, element, found, at));
                }
                _ => {}
            }
        }
        // Where all are literals they become floats: `quat_rpy(0, 0, 1.5)`.
        let element = element.unwrap_or(Scalar::F32);
        for (_, operand) in &mut open {
            if let Operand::Static(value @ (HostValue::Int(_) | HostValue::Float(_))) = &**operand
                && let Some(constant) = literal_as(value, element)
            {
                **operand = Operand::Static(HostValue::Scalar(element, constant));
            }
        }
        Ok(args)
    }

    fn mixed_elements(&mut self, name: &str, first: Scalar, second: Scalar, span: Span) -> Reported {
        let [first, second] = [first, second].map(|scalar| self.name_of(Type::scalar(scalar)));
        let message = format!("the arguments of `{name}` must have one element type, found `{first}` and `{second}`");
        let report = self.report("type-mismatch", span, message);
        let help = format!("convert it: `{first}(…)`, or a vector by its type: `vec3(…)`, `vec3d(…)`");
        self.emit(report.help(help))
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

/// The scalar inside a number, a vector or an array of them.
fn inner_scalar(ty: Type) -> Option<Scalar> {
    ty.as_array().map_or(ty, |(elem, _)| elem).element()
}
