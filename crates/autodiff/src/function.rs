//! The derivative of a function within a kernel: [`differentiate`].
//!
//! In: a function of values. Out: a function of the same parameters that gives, for each that is a float or made of
//! floats, the derivative of the result, or of the sum of the results' components. It runs the function again, then
//! backward, as an adjoint kernel does; what the function writes to memory is written again.
//!
//! ```text
//! func @f(v0: f32) -> f32 {        func @grad(v0: f32) -> f32 {
//!   v1: f32 = mul v0, v0             v1: f32 = const 1
//!   return v1                   ->   v2: f32 = mul v0, v1
//! }                                  v3: f32 = add v2, v2
//!                                    return v3
//!                                  }
//! ```

use crate::activity::Activity;
use crate::adjoint::{Swept, Whole, prepare, refuse_blocks};
use crate::custom::Customs;
use crate::memory::{Aliases, Volatile};
use crate::sweep::{Mode, Sweep};
use crate::tangent::{has_arrays, has_floats, zero};
use crate::tiles::Maps;
use diagnostics::Diagnostic;
use ir::{Builder, Const, CustomGradient, FuncRef, Function, FunctionKind, Module, Param, Scalar, Type, Value};

/// The derivative of the function `of`, as a function of the name `name`; or what in it has no derivative.
pub fn differentiate(
    module: &Module,
    custom: &[CustomGradient],
    of: FuncRef,
    name: &str,
) -> Result<Function, Vec<Diagnostic>> {
    let mut module = module.clone();
    let customs = Customs::of(&mut module, custom);
    let primal = prepare(&module, &customs, of, None);
    refuse_blocks(&primal)?;
    // Any two arrays may be the same.
    let aliases = Aliases { params_overlap: true };
    let volatile = Volatile::of(&primal, aliases, &customs);
    let wanted: Vec<bool> = primal.params.iter().map(|param| is_wanted(param.ty)).collect();
    let activity = Activity::of(&primal, &wanted);
    let maps = Maps::of(&mut module, custom, &primal, &activity, 0)?;
    let whole = Whole { module, primal, aliases, volatile, activity, customs, maps, rank: 0 };
    let Swept { mut func, mut refused, tapes, .. } = whole.sweep_function(name, &wanted, false);
    whole.used_tapes(&mut func, &tapes, &mut refused);
    if refused.is_empty() { Ok(func) } else { Err(refused) }
}

/// The adjoint of one parameter of a function that goes with adjoints of its results: a function of its parameters and
/// of these. `None` where it does not depend on it.
pub(crate) fn adjoint_of_param(
    module: &Module,
    custom: &[CustomGradient],
    of: FuncRef,
    param: usize,
    name: &str,
) -> Result<Option<Function>, Vec<Diagnostic>> {
    let mut module = module.clone();
    let customs = Customs::of(&mut module, custom);
    let primal = prepare(&module, &customs, of, None);
    let aliases = Aliases { params_overlap: true };
    let volatile = Volatile::of(&primal, aliases, &customs);
    let wanted: Vec<bool> = (0..primal.params.len()).map(|index| index == param).collect();
    let activity = Activity::of(&primal, &wanted);
    if !activity.is_active(primal.region(primal.body).params[param]) {
        return Ok(None);
    }
    let maps = Maps::of(&mut module, custom, &primal, &activity, 0)?;
    let whole = Whole { module, primal, aliases, volatile, activity, customs, maps, rank: 0 };
    let Swept { mut func, mut refused, tapes, .. } = whole.sweep_function(name, &wanted, true);
    whole.used_tapes(&mut func, &tapes, &mut refused);
    if !refused.is_empty() {
        return Err(refused);
    }
    // What the user's gradients call.
    let n = whole.module.funcs.len();
    let mut all = whole.module.clone();
    all.funcs.push(func);
    let _ = transform::inline_calls(&mut all);
    Ok(Some(all.funcs.swap_remove(n)))
}

/// Whether a parameter has a derivative of its own.
fn is_wanted(ty: Type) -> bool {
    has_floats(ty) && !has_arrays(ty) && ty.element().is_some_and(Scalar::is_float)
}

impl Whole {
    fn sweep_function(&self, name: &str, wanted: &[bool], is_seeded: bool) -> Swept {
        let primal = &self.primal;
        let mut params = primal.params.clone();
        let results = params.iter().zip(wanted).filter(|(_, wanted)| **wanted).map(|(param, _)| param.ty).collect();
        if is_seeded {
            params.extend(primal.results.iter().map(|&ty| Param { name: "adj".into(), ty }));
        }
        let mut func = Function::new(name, FunctionKind::Function, params, results);
        let mut sweep =
            Sweep::new(primal, &self.activity, &self.volatile, &self.customs, &self.maps, self.aliases, &mut func);
        sweep.function(wanted, is_seeded);
        let Sweep { refused, shared_tapes: tapes, .. } = sweep;
        transform::run_passes(&mut func);
        Swept { func, refused, atomics: Vec::new(), extremes: Vec::new(), tapes, written_back: Vec::new() }
    }
}

impl Sweep<'_> {
    fn function(&mut self, wanted: &[bool], is_seeded: bool) {
        let primal = self.primal;
        let params = primal.region(primal.body).params.clone();
        for (index, param) in params.iter().enumerate() {
            self.values[param.index()] = Some(self.b.param(index));
        }
        self.make_tapes(0);
        let n = primal.region(primal.body).insts.len() - 1;
        self.forward(primal.body, n, Mode { is_first: true, is_nested: false, is_reversed: true });
        let end = primal.inst(primal.region(primal.body).insts[n]);
        for (index, &result) in end.operands.iter().enumerate() {
            let ty = primal.ty(result);
            if is_seeded {
                let seed = self.b.param(params.len() + index);
                self.accumulate(result, seed);
            } else if is_wanted(ty) {
                let one = ones(&mut self.b, ty);
                self.accumulate(result, one);
            }
        }
        self.reverse(primal.body, n);
        let mut results: Vec<Value> = Vec::new();
        for (&param, _) in params.iter().zip(wanted).filter(|(_, wanted)| **wanted) {
            let d = self.adjoints[param.index()].take();
            results.push(d.unwrap_or_else(|| zero(&mut self.b, primal.ty(param))));
        }
        self.end(&results);
    }
}

/// A value whose components are 1.
fn ones(b: &mut Builder<'_>, ty: Type) -> Value {
    let scalar = ty.element().unwrap_or(Scalar::F32);
    let one = b.constant(scalar, Const::int(scalar, 1));
    if ty.as_scalar().is_some() { one } else { b.splat(ty, one) }
}
