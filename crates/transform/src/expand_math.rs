//! Replaces the elementary functions by their bodies in IR, so that no kernel calls a math library.
//!
//! In: a verified module. Out: the same with every `sin`, `exp`, `pow` … of f16, bf16, f32 and f64, on scalars and on
//! composites, made of arithmetic; its calls are inlined on the way. Runs first, so that the interpreter, the CPU at
//! any SIMD width and the GPU run the same arithmetic and give the same bits. docs/math.md has the error bounds.
//!
//! ```text
//! v1: vec<f16, 2> = exp v0    ->    v2: f16 = extract v0 {0}
//!                                   v3: f32 = cast v2
//!                                   v4: f32 = call @math.exp_f32(v3)      (then inlined)
//!                                   v5: f16 = cast v4
//!                                   …
//!                                   v1: vec<f16, 2> = construct v5, v9
//! ```
//!
//! The bodies are in `math/*.ir`, written by `crates/transform/math/generate.py`: straight-line code with selects, and
//! an `if` only for what is rare: huge arguments of `sin`, `cos` and `tan`, and quotients over 2^28 in `rem` and `mod`.
//! `rem` and `mod` of f64 stay, as calls of a library. In a module that is marked `approximate`, functions of f32 for which
//! a GPU has instructions stay too.

use crate::{Changed, inline_calls};
use diagnostics::Span;
use ir::parse::parse_module;
use ir::{Attr, FuncRef, Function, InstId, Module, Op, Scalar, Type, Value};
use smallvec::SmallVec;
use std::sync::OnceLock;

/// Replaces the elementary functions in every function of the module. Where any is found, all calls are inlined.
pub fn expand_math(module: &mut Module) -> Changed {
    let n_funcs = module.funcs.len();
    let (is_fast, is_approximate) = (module.fast_math, module.approximate);
    let mut called = Called { is_fast, is_approximate, first: n_funcs, bodies: Vec::new() };
    for func in &mut module.funcs {
        expand_in(func, &mut called);
    }
    if called.bodies.is_empty() {
        return Changed(false);
    }
    module.funcs.extend(called.bodies.into_iter().map(|body| BODIES[body].function().clone()));
    let _ = inline_calls(module);
    // Nothing calls them any more.
    module.funcs.truncate(n_funcs);
    Changed(true)
}

/// Whether `expand_math` replaces this op of this scalar type.
pub fn is_expanded(op: Op, scalar: Scalar) -> bool {
    body_of(op, widened(scalar), false).is_some()
}

/// Whether a target with instructions for functions of f32 has one, or a few, for this one.
pub fn is_approximated(op: Op) -> bool {
    use Op::{Cos, Exp, Exp2, Log, Log2, Log10, Pow, Sin, Tan, Tanh};
    matches!(op, Sin | Cos | Tan | Tanh | Exp | Exp2 | Log | Log2 | Log10 | Pow)
}

/// The bodies that a module calls, as the functions `first…` that it is about to have.
struct Called {
    is_fast: bool,
    is_approximate: bool,
    first: usize,
    bodies: Vec<usize>,
}

impl Called {
    fn func(&mut self, body: usize) -> FuncRef {
        let index = self.bodies.iter().position(|&known| known == body).unwrap_or_else(|| {
            self.bodies.push(body);
            self.bodies.len() - 1
        });
        FuncRef((self.first + index) as u32)
    }
}

fn expand_in(func: &mut Function, called: &mut Called) {
    for region in 0..func.regions.len() {
        let insts = std::mem::take(&mut func.regions[region].insts);
        let mut out = Vec::with_capacity(insts.len());
        for id in insts {
            expand_inst(func, called, id, &mut out);
            out.push(id);
        }
        func.regions[region].insts = out;
    }
}

/// Turns an instruction into one that takes the results of the calls, which go to `out`.
fn expand_inst(func: &mut Function, called: &mut Called, id: InstId, out: &mut Vec<InstId>) {
    let inst = func.inst(id);
    let (span, operands) = (inst.span, inst.operands.clone());
    let Some(ty) = inst.results.first().map(|&result| func.ty(result)) else { return };
    let Some(scalar) = ty.element() else { return };
    let wide = widened(scalar);
    if called.is_approximate && scalar == Scalar::F32 && is_approximated(inst.op) {
        return;
    }
    let Some(body) = body_of(inst.op, wide, called.is_fast) else { return };
    let callee = Attr::Func(called.func(body));
    let mut before = Before { func, out, span };
    let (op, operands, attr) = if ty == Type::scalar(wide) {
        (Op::Call, operands, callee)
    } else if ty == Type::scalar(scalar) {
        (Op::Cast, SmallVec::from_slice(&[before.call_wide(&operands, wide, callee)]), Attr::None)
    } else {
        let component = |index| {
            let parts: SmallVec<[Value; 4]> = operands.iter().map(|&x| before.extract(x, index, scalar)).collect();
            let result = before.call_wide(&parts, wide, callee.clone());
            before.cast(result, scalar)
        };
        (Op::Construct, (0..ty.n_components() as u32).map(component).collect(), Attr::None)
    };
    let inst = &mut func.insts[id.index()];
    (inst.op, inst.operands, inst.attr) = (op, operands, attr);
}

/// Adds instructions before the one that is expanded.
struct Before<'a> {
    func: &'a mut Function,
    out: &'a mut Vec<InstId>,
    span: Span,
}

impl Before<'_> {
    fn add(&mut self, op: Op, operands: &[Value], attr: Attr, scalar: Scalar) -> Value {
        let id = self.func.add_inst(op, operands, attr, &[], &[Type::scalar(scalar)], self.span);
        self.out.push(id);
        self.func.inst(id).result()
    }

    fn extract(&mut self, x: Value, index: u32, scalar: Scalar) -> Value {
        self.add(Op::Extract, &[x], Attr::Index(index), scalar)
    }

    fn cast(&mut self, x: Value, scalar: Scalar) -> Value {
        if self.func.ty(x) == Type::scalar(scalar) { x } else { self.add(Op::Cast, &[x], Attr::None, scalar) }
    }

    fn call_wide(&mut self, operands: &[Value], wide: Scalar, callee: Attr) -> Value {
        let operands: SmallVec<[Value; 4]> = operands.iter().map(|&x| self.cast(x, wide)).collect();
        self.add(Op::Call, &operands, callee, wide)
    }
}

/// The type that a function is evaluated for.
fn widened(scalar: Scalar) -> Scalar {
    if matches!(scalar, Scalar::F16 | Scalar::BF16) { Scalar::F32 } else { scalar }
}

fn body_of(op: Op, scalar: Scalar, is_fast: bool) -> Option<usize> {
    let find = |is_fast| BODIES.iter().position(|b| b.op == op && b.scalar == scalar && b.is_fast == is_fast);
    if is_fast { find(true).or_else(|| find(false)) } else { find(false) }
}

/// The body of one function for one type.
struct Body {
    op: Op,
    scalar: Scalar,
    /// Evaluated in f32, at most 4 ULP, for modules with fast math.
    is_fast: bool,
    text: &'static str,
    parsed: OnceLock<Function>,
}

impl Body {
    fn function(&self) -> &Function {
        self.parsed.get_or_init(|| match parse_module(self.text) {
            Ok(mut module) if module.funcs.len() == 1 => module.funcs.remove(0),
            Ok(_) => panic!("a body is one function:\n{}", self.text),
            Err(error) => panic!("{error}\n{}", self.text),
        })
    }
}

macro_rules! bodies {
    ($($op:ident $scalar:ident $is_fast:literal $file:literal;)*) => {
        static BODIES: [Body; [$(Op::$op),*].len()] = [$(Body {
            op: Op::$op,
            scalar: Scalar::$scalar,
            is_fast: $is_fast,
            text: include_str!(concat!("math/", $file, ".ir")),
            parsed: OnceLock::new(),
        },)*];
    };
}

bodies! {
    Exp F32 false "exp_f32";
    Exp2 F32 false "exp2_f32";
    ExpM1 F32 false "expm1_f32";
    Log F32 false "log_f32";
    Log2 F32 false "log2_f32";
    Log10 F32 false "log10_f32";
    Log1P F32 false "log1p_f32";
    Pow F32 false "pow_f32";
    Cbrt F32 false "cbrt_f32";
    Sin F32 false "sin_f32";
    Cos F32 false "cos_f32";
    Tan F32 false "tan_f32";
    Asin F32 false "asin_f32";
    Acos F32 false "acos_f32";
    Atan F32 false "atan_f32";
    Atan2 F32 false "atan2_f32";
    Sinh F32 false "sinh_f32";
    Cosh F32 false "cosh_f32";
    Tanh F32 false "tanh_f32";
    Asinh F32 false "asinh_f32";
    Acosh F32 false "acosh_f32";
    Atanh F32 false "atanh_f32";
    Erf F32 false "erf_f32";
    Erfc F32 false "erfc_f32";
    Rem F32 false "rem_f32";
    Mod F32 false "mod_f32";
    Exp F64 false "exp_f64";
    Exp2 F64 false "exp2_f64";
    ExpM1 F64 false "expm1_f64";
    Log F64 false "log_f64";
    Log2 F64 false "log2_f64";
    Log10 F64 false "log10_f64";
    Log1P F64 false "log1p_f64";
    Pow F64 false "pow_f64";
    Cbrt F64 false "cbrt_f64";
    Sin F64 false "sin_f64";
    Cos F64 false "cos_f64";
    Tan F64 false "tan_f64";
    Asin F64 false "asin_f64";
    Acos F64 false "acos_f64";
    Atan F64 false "atan_f64";
    Atan2 F64 false "atan2_f64";
    Sinh F64 false "sinh_f64";
    Cosh F64 false "cosh_f64";
    Tanh F64 false "tanh_f64";
    Asinh F64 false "asinh_f64";
    Acosh F64 false "acosh_f64";
    Atanh F64 false "atanh_f64";
    Erf F64 false "erf_f64";
    Erfc F64 false "erfc_f64";
    Exp F32 true "exp_f32_fast";
    Log F32 true "log_f32_fast";
    Sin F32 true "sin_f32_fast";
    Cos F32 true "cos_f32_fast";
    Tanh F32 true "tanh_f32_fast";
}
