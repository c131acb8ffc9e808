//! Square roots and quotients of f32, rounded right, from the GPU's estimates.
//!
//! In: a function whose branches test for ordinary numbers (`transform::batch_reads`). Out: which roots and quotients
//! are of such; and their instructions. What the GPU's compiler makes of any other root or quotient asks again for each.
//!
//! ```text
//! y = rsqrt.approx x     s = x y, s + (x - s²) (y / 2)                                      sqrt x
//! y = rcp.approx b       r = y + y (1 - b y)                                                1 / b
//!                        q = a r, twice q + r (a - b q)                                     a / b
//! ```
//!
//! The first two hold for all numbers of their domains: tests/gpu compares every one, and [`is_checked`] lists where
//! that was done. The third follows: with r = 1 / b rounded right, the first step gives a neighbor of a / b, and the
//! second rounds right (Markstein, "Computation of elementary functions on the IBM RISC System/6000 processor", 1990),
//! as long as no remainder is subnormal, which the domain keeps away.

use crate::llvm::Lowering;
use crate::llvm::lanes::as_float;
use crate::llvm::value::Lowered;
use crate::{Error, Result};
use inkwell::intrinsics::Intrinsic;
use inkwell::types::BasicTypeEnum;
use inkwell::values::FloatValue;
use ir::{Attr, Function, Inst, InstId, Op, RegionId, Scalar, Type, Value, ValueDef};
use std::collections::HashSet;

/// Architectures on which every number was compared.
const CHECKED: [u32; 1] = [90];

/// Roots are exact from the first of these bits to the second.
const ROOT: [u32; 2] = [0x0d00_0000, 0x7f7f_ffff];
/// Quotients are exact where the bits of both numbers' magnitudes lie between these: 2^-62 to below 2^64.
const QUOTIENT: [u32; 2] = [0x2080_0000, 0x5f7f_ffff];
const MAGNITUDE: u64 = 0x7fff_ffff;

/// Whether the estimates of an architecture are known to lead to exact results.
pub(super) fn is_checked(sm: u32) -> bool {
    CHECKED.contains(&sm)
}

/// Roots and quotients whose operands are in their domains wherever they run.
pub(super) fn proven(func: &Function) -> HashSet<InstId> {
    let mut search = Search { func, found: HashSet::new() };
    search.region(func.body, &Facts::default());
    search.found
}

/// Numbers, and components of vectors.
type Known = HashSet<(Value, Option<u32>)>;

#[derive(Clone, Default)]
struct Facts {
    roots: Known,
    parts: Known,
}

struct Search<'f> {
    func: &'f Function,
    found: HashSet<InstId>,
}

impl Search<'_> {
    fn region(&mut self, region: RegionId, known: &Facts) {
        let func = self.func;
        let mut known = known.clone();
        for &id in &func.region(region).insts {
            let inst = func.inst(id);
            let is_float = inst.results.first().is_some_and(|&value| func.ty(value).element() == Some(Scalar::F32));
            match inst.op {
                Op::Sqrt if is_float && self.all_known(inst.operands[0], ROOT, &known.roots) => {
                    self.found.insert(id);
                    known.parts.extend(self.names(inst.result()));
                }
                Op::Div if is_float && inst.operands.iter().all(|&x| self.all_known(x, QUOTIENT, &known.parts)) => {
                    self.found.insert(id);
                }
                Op::If => {
                    let mut inside = known.clone();
                    self.learn(inst.operands[0], &mut inside);
                    self.region(inst.regions[0], &inside);
                    self.region(inst.regions[1], &known);
                }
                _ => {
                    for &inner in &inst.regions {
                        self.region(inner, &known);
                    }
                }
            }
        }
    }

    /// A number's name, or those of a vector's components.
    fn names(&self, value: Value) -> Vec<(Value, Option<u32>)> {
        match self.func.ty(value).n_components() as u32 {
            0 => vec![(self.origin(value), None)],
            n => (0..n).map(|i| (value, Some(i))).collect(),
        }
    }

    /// Whether a number, or every component of a vector, is known to lie in a domain.
    fn all_known(&self, value: Value, [lo, hi]: [u32; 2], known: &Known) -> bool {
        if self.names(value).iter().all(|name| known.contains(name)) {
            return true;
        }
        if let Some(bits) = self.func.as_const(value) {
            let is_negative = bits.0 > MAGNITUDE;
            return (lo..=hi).contains(&((bits.0 & MAGNITUDE) as u32)) && !(is_negative && lo == ROOT[0]);
        }
        let splat = self.inst(value).filter(|inst| inst.op == Op::Splat);
        splat.is_some_and(|inst| self.all_known(inst.operands[0], [lo, hi], known))
    }

    /// What holds where `condition` does: it compares the largest of several distances with a constant.
    fn learn(&self, condition: Value, known: &mut Facts) {
        let Some(inst) = self.inst(condition) else { return };
        match inst.op {
            Op::And => inst.operands.iter().for_each(|&part| self.learn(part, known)),
            Op::Le => {
                if let Some(most) = self.func.as_const(inst.operands[1])
                    && self.func.ty(inst.operands[0]) == Type::scalar(Scalar::U32)
                {
                    self.learn_distance(inst.operands[0], most.0 as u32, known);
                }
            }
            _ => {}
        }
    }

    /// `value` is at most `most`, so each of several numbers that it is the largest of.
    fn learn_distance(&self, value: Value, most: u32, known: &mut Facts) {
        let Some(inst) = self.inst(value) else { return };
        match (inst.op, &inst.operands[..]) {
            (Op::Max, operands) => operands.iter().for_each(|&part| self.learn_distance(part, most, known)),
            (Op::Sub, &[bits, least]) => {
                let Some(least) = self.func.as_const(least) else { return };
                let (least, magnitude) = (least.0 as u32, self.magnitude(bits));
                let fits = |[lo, hi]: [u32; 2]| least >= lo && least.checked_add(most).is_some_and(|end| end <= hi);
                if let Some(x) = magnitude.or_else(|| self.bits_of(bits)) {
                    if fits(QUOTIENT) {
                        known.parts.extend(self.aliases(x));
                    }
                    if fits(ROOT) && magnitude.is_none() {
                        known.roots.extend(self.aliases(x));
                    }
                }
            }
            _ => {}
        }
    }

    /// A number, and which component of what it is.
    fn aliases(&self, value: Value) -> Vec<(Value, Option<u32>)> {
        let part = self.inst(value).filter(|inst| inst.op == Op::Extract);
        let component = part.and_then(|inst| match inst.attr {
            Attr::Index(i) => Some((inst.operands[0], Some(i))),
            _ => None,
        });
        [(value, None)].into_iter().chain(component).collect()
    }

    /// x where a value is the bits of x without the sign.
    fn magnitude(&self, value: Value) -> Option<Value> {
        let inst = self.inst(value).filter(|inst| inst.op == Op::And)?;
        let is_mask = self.func.as_const(inst.operands[1]).is_some_and(|bits| bits.0 == MAGNITUDE);
        if is_mask { self.bits_of(inst.operands[0]) } else { None }
    }

    fn bits_of(&self, value: Value) -> Option<Value> {
        self.inst(value).filter(|inst| inst.op == Op::Bitcast).map(|_| self.origin(value))
    }

    /// Where 32 bits come from, whatever they are taken for.
    fn origin(&self, value: Value) -> Value {
        match self.inst(value) {
            Some(inst) if inst.op == Op::Bitcast && self.func.ty(inst.operands[0]).as_scalar().is_some() => {
                self.origin(inst.operands[0])
            }
            _ => value,
        }
    }

    fn inst(&self, value: Value) -> Option<&Inst> {
        match self.func.def(value) {
            ValueDef::Result(id, _) => Some(self.func.inst(id)),
            ValueDef::Param(..) => None,
        }
    }
}

impl<'c> Lowering<'c, '_> {
    pub(crate) fn is_exact(&self, id: InstId) -> bool {
        self.device.as_ref().is_some_and(|device| device.exact.contains(&id))
    }

    /// A root or quotient of numbers in their domains.
    pub(crate) fn exact(&mut self, inst: &Inst) -> Result<Lowered<'c>> {
        self.map(inst, |this, args| {
            let x = as_float(args[0])?;
            let result = match args.get(1) {
                None => this.exact_root(x)?,
                Some(&b) => this.exact_quotient(x, as_float(b)?)?,
            };
            Ok(result.into())
        })
    }

    fn exact_root(&self, x: FloatValue<'c>) -> Result<FloatValue<'c>> {
        let b = &self.builder;
        let y = self.estimate("rsqrt.approx.ftz.f", &[], x)?;
        let s = b.build_float_mul(x, y, "")?;
        let half = b.build_float_mul(y, y.get_type().const_float(0.5), "")?;
        let rest = self.intrinsic("llvm.fma", &[b.build_float_neg(s, "")?, s, x])?;
        self.intrinsic("llvm.fma", &[rest, half, s])
    }

    fn exact_quotient(&self, a: FloatValue<'c>, divisor: FloatValue<'c>) -> Result<FloatValue<'c>> {
        let b = &self.builder;
        let one = a.get_type().const_float(1.0);
        let minus = b.build_float_neg(divisor, "")?;
        let y = self.estimate("rcp.approx.ftz.f", &[], divisor)?;
        let rest = self.intrinsic("llvm.fma", &[minus, y, one])?;
        let y = self.intrinsic("llvm.fma", &[y, rest, y])?;
        if a == one {
            return Ok(y);
        }
        let mut quotient = b.build_float_mul(a, y, "")?;
        for _ in 0..2 {
            let rest = self.intrinsic("llvm.fma", &[minus, quotient, a])?;
            quotient = self.intrinsic("llvm.fma", &[rest, y, quotient])?;
        }
        Ok(quotient)
    }

    pub(super) fn estimate(
        &self,
        name: &str,
        types: &[BasicTypeEnum<'c>],
        x: FloatValue<'c>,
    ) -> Result<FloatValue<'c>> {
        let name = format!("llvm.nvvm.{name}");
        let function = Intrinsic::find(&name)
            .and_then(|intrinsic| intrinsic.get_declaration(self.llvm, types))
            .ok_or_else(|| Error::llvm("intrinsic", &name))?;
        as_float(self.builder.build_call(function, &[x.into()], "")?.try_as_basic_value().unwrap_basic())
    }
}
