//! Forward mode: every value with its tangent, in one sweep.
//!
//! In: a kernel, and which of its parameters have a tangent. Out: the *tangent kernel*, which does what the kernel does,
//! and the same with tangents. Its parameters are the kernel's, then a tangent for each that holds floats, of the types
//! that adjoints have. Applied to an adjoint kernel it gives second derivatives.
//!
//! ```text
//! v3: f32 = sin v2    ->    v3: f32 = sin v2
//!                           v4: f32 = cos v2
//!                           t3: f32 = mul v4, t2
//! ```
//!
//! Griewank & Walther, "Evaluating Derivatives" (2008), ch. 3.1.

use crate::activity::{Activity, Counterpart};
use crate::adjoint::{Request, adjoint_params};
use crate::custom::Customs;
use crate::rules::{Eval, Partial, Rule, partials, rule};
use crate::tangent::{add, has_arrays, has_floats, leads_to_floats, zero};
use diagnostics::Diagnostic;
use ir::{
    AtomicOp, Attr, Builder, CustomGradient, Function, Inst, InstId, Module, Op, Param, RegionId, Scalar, Type, Value,
    verify,
};

/// Makes the tangent kernel of the module's kernel, or says which lines have no derivative.
pub fn forward(module: &Module, custom: &[CustomGradient], request: &Request) -> Result<Module, Vec<Diagnostic>> {
    let mut module = module.clone();
    let customs = Customs::of(&mut module, custom);
    let _ = transform::inline_calls_except(&mut module, &|callee| customs.stays(callee));
    let Some(kernel) = module.kernel() else { panic!("no kernel to differentiate:\n{module}") };
    let primal = module.funcs.swap_remove(kernel.index());
    crate::adjoint::refuse_blocks(&primal)?;
    let activity = Activity::of(&primal, &request.wanted);
    let types: Vec<Type> = primal.params.iter().map(|param| param.ty).collect();
    let mut params = primal.params.clone();
    for (param, tangent) in primal.params.iter().zip(adjoint_params(&types)) {
        params.extend(tangent.map(|ty| Param { name: format!("tan_{}", param.name), ty }));
    }
    let mut out = Function::new(format!("{}.tangent", primal.name), primal.kind, params, Vec::new());
    let n = primal.values.len();
    let mut dual = Dual {
        primal: &primal,
        activity: &activity,
        b: Builder::new(&mut out),
        values: vec![None; n],
        tangents: vec![None; n],
        owners: Vec::new(),
        refused: Vec::new(),
    };
    dual.params(&request.wanted);
    dual.region(primal.body);
    let refused = dual.refused;
    if !refused.is_empty() {
        return Err(refused);
    }
    for (_, pass) in transform::PASSES {
        let _ = pass(&mut out);
    }
    let module = Module { funcs: vec![out], ..module };
    if let Err(errors) = verify::verify(&module) {
        panic!("the tangent kernel is not valid\n{}", verify::report(&module, &errors));
    }
    Ok(module)
}

struct Dual<'a> {
    primal: &'a Function,
    activity: &'a Activity,
    b: Builder<'a>,
    values: Vec<Option<Value>>,
    /// Beside an array the array of its tangents; none where the tangent is zero.
    tangents: Vec<Option<Value>>,
    /// The ops whose regions are being copied.
    owners: Vec<InstId>,
    refused: Vec<Diagnostic>,
}

impl Dual<'_> {
    fn params(&mut self, wanted: &[bool]) {
        let params = self.primal.region(self.primal.body).params.clone();
        let mut next = params.len();
        for (index, &param) in params.iter().enumerate() {
            self.values[param.index()] = Some(self.b.param(index));
            let ty = self.primal.ty(param);
            if !has_floats(ty) && !leads_to_floats(ty) {
                continue;
            }
            let tangent = self.b.param(next);
            next += 1;
            if !wanted[index] {
                continue;
            }
            self.tangents[param.index()] = Some(if has_arrays(ty) {
                tangent
            } else {
                let at = self.b.int(Scalar::I64, 0);
                self.b.load(tangent, &[at], &[], &[])
            });
        }
    }

    fn value(&self, v: Value) -> Value {
        self.values[v.index()].unwrap_or_else(|| panic!("v{} has no copy here", v.0))
    }

    fn all(&self, values: &[Value]) -> Vec<Value> {
        values.iter().map(|&v| self.value(v)).collect()
    }

    /// Whether control flow hands on a tangent with the value.
    fn carries(&self, v: Value) -> bool {
        let ty = self.primal.ty(v);
        has_floats(ty) && self.activity.varies[v.index()] || leads_to_floats(ty)
    }

    fn tangent_or_zero(&mut self, v: Value) -> Value {
        let ty = self.primal.ty(v);
        match self.tangents[v.index()] {
            Some(tangent) => tangent,
            None => zero(&mut self.b, ty),
        }
    }

    /// Operands that go to `receivers`, then tangents for those that carry one.
    fn handed_on(&mut self, operands: &[Value], receivers: &[Value]) -> Vec<Value> {
        let mut values = self.all(operands);
        for (&operand, &receiver) in operands.iter().zip(receivers) {
            if self.carries(receiver) {
                values.push(self.tangent_or_zero(operand));
            }
        }
        values
    }

    fn receive(&mut self, receivers: &[Value], copies: &[Value]) {
        let (values, mut tangents) = (&copies[..receivers.len()], copies[receivers.len()..].iter());
        for (&receiver, &value) in receivers.iter().zip(values) {
            self.values[receiver.index()] = Some(value);
            if self.carries(receiver) {
                self.tangents[receiver.index()] = tangents.next().copied();
            }
        }
    }

    fn types(&self, receivers: &[Value]) -> Vec<Type> {
        let tangents = receivers.iter().filter(|&&v| self.carries(v));
        receivers.iter().chain(tangents).map(|&v| self.primal.ty(v)).collect()
    }

    fn region(&mut self, region: RegionId) {
        for &id in &self.primal.region(region).insts {
            let inst = self.primal.inst(id);
            self.b.span = inst.span;
            match inst.op {
                Op::If | Op::For | Op::Loop => self.with_regions(id),
                Op::Yield | Op::Continue | Op::Break => self.leave(inst),
                _ => self.inst(inst),
            }
        }
    }

    fn with_regions(&mut self, id: InstId) {
        let inst = self.primal.inst(id);
        let n_plain = match inst.op {
            Op::If => 1,
            Op::For => 3,
            _ => 0,
        };
        let body = &self.primal.region(inst.regions[0]).params;
        let receivers = if inst.op == Op::For { &body[1..] } else { &body[..] };
        let mut operands = self.all(&inst.operands[..n_plain]);
        operands.extend(self.handed_on(&inst.operands[n_plain..], receivers));
        self.owners.push(id);
        let mut regions = Vec::new();
        for &inner in &inst.regions {
            let params = self.primal.region(inner).params.clone();
            let (first, carried) = params.split_at(usize::from(inst.op == Op::For));
            let mut types: Vec<Type> = first.iter().map(|&v| self.primal.ty(v)).collect();
            types.extend(self.types(carried));
            let copy = self.b.func.add_region(&types);
            let copies = self.b.func.region(copy).params.clone();
            if let (Some(induction), true) = (first.first(), !copies.is_empty()) {
                self.values[induction.index()] = Some(copies[0]);
            }
            self.receive(carried, &copies[first.len()..]);
            let here = self.b.enter(copy);
            self.region(inner);
            self.b.enter(here);
            regions.push(copy);
        }
        self.owners.pop();
        self.b.span = inst.span;
        let types = self.types(&inst.results);
        let copy = self.b.push(inst.op, &operands, inst.attr.clone(), &regions, &types);
        let results = self.b.func.inst(copy).results.to_vec();
        self.receive(&inst.results, &results);
    }

    fn leave(&mut self, inst: &Inst) {
        let is_loop = |id: &&InstId| matches!(self.primal.inst(**id).op, Op::For | Op::Loop);
        let owner = match inst.op {
            Op::Yield => self.owners.last(),
            _ => self.owners.iter().rev().find(is_loop),
        };
        let Some(owner) = owner.map(|&id| self.primal.inst(id)) else { return };
        let params = &self.primal.region(owner.regions[0]).params;
        let receivers: Vec<Value> = match (inst.op, owner.op) {
            (Op::Continue, Op::For) => params[1..].to_vec(),
            (Op::Continue, _) => params.clone(),
            _ => owner.results.to_vec(),
        };
        let values = self.handed_on(&inst.operands, &receivers);
        self.b.push(inst.op, &values, Attr::None, &[], &[]);
    }

    /// An instruction without regions, then its tangent.
    fn inst(&mut self, inst: &Inst) {
        let operands = self.all(&inst.operands);
        let types: Vec<Type> = inst.results.iter().map(|&v| self.primal.ty(v)).collect();
        let copy = self.b.push(inst.op, &operands, inst.attr.clone(), &[], &types);
        let results = self.b.func.inst(copy).results.clone();
        for (&result, &copy) in inst.results.iter().zip(&results) {
            self.values[result.index()] = Some(copy);
        }
        let tangent = match inst.op {
            Op::Load | Op::Store | Op::Atomic | Op::AtomicCas => self.access(inst),
            Op::LocalArray if leads_to_floats(types[0]) => {
                Some(self.b.push1(inst.op, &[], inst.attr.clone(), types[0]))
            }
            Op::Row | Op::Subarray => self.tangents[inst.operands[0].index()].map(|array| {
                let operands = [&[array][..], &operands[1..]].concat();
                self.b.push1(inst.op, &operands, inst.attr.clone(), types[0])
            }),
            Op::Call if inst.operands.iter().any(|&v| self.tangents[v.index()].is_some()) => {
                self.refuse(inst, "a function with a gradient of its own has no forward mode");
                None
            }
            _ if inst.operands.iter().all(|v| self.tangents[v.index()].is_none()) => None,
            _ => types.first().and_then(|&ty| self.tangent(inst, &operands, ty)),
        };
        if let (Some(&result), Some(tangent)) = (inst.results.first(), tangent) {
            self.tangents[result.index()] = Some(tangent);
        }
    }

    fn refuse(&mut self, inst: &Inst, message: &str) {
        let help = "compute its gradient in reverse mode";
        self.refused.push(Diagnostic::new("no-gradient", inst.span, message).help(help));
    }

    fn access(&mut self, inst: &Inst) -> Option<Value> {
        let array = inst.operands[0];
        let (elem, _) = self.primal.ty(array).as_array()?;
        let (ty, _) = ir::path::walk(elem, inst.path())?;
        let tangents = match self.activity.counterpart(self.primal, array) {
            Counterpart::Present => self.tangents[array.index()],
            Counterpart::Mixed => {
                self.refuse(inst, "the tangent of an array that is chosen while the kernel runs is not known");
                None
            }
            Counterpart::Absent => None,
        };
        let tangents = tangents.filter(|_| has_floats(ty))?;
        let mut operands = self.all(&inst.operands);
        operands[0] = tangents;
        match (inst.op, &inst.attr) {
            (Op::Load, _) => Some(self.b.push1(Op::Load, &operands, inst.attr.clone(), ty)),
            (Op::Store, _) => {
                *operands.last_mut()? = self.tangent_or_zero(*inst.operands.last()?);
                self.b.push(Op::Store, &operands, inst.attr.clone(), &[], &[]);
                None
            }
            (Op::Atomic, Attr::Atomic(AtomicOp::Add | AtomicOp::Sub, _)) => {
                *operands.last_mut()? = self.tangent_or_zero(*inst.operands.last()?);
                Some(self.b.push1(Op::Atomic, &operands, inst.attr.clone(), ty))
            }
            _ => {
                self.refuse(inst, "only atomic additions have a forward mode");
                None
            }
        }
    }

    fn tangent(&mut self, inst: &Inst, operands: &[Value], ty: Type) -> Option<Value> {
        let result = self.value(inst.result());
        match rule(inst.op) {
            Some(Rule::Whole(row)) => self.row(inst, row, operands, result, None),
            Some(Rule::Scalar(row)) if !ty.is_composite() => self.row(inst, row, operands, result, None),
            Some(Rule::Scalar(row)) => {
                let parts: Vec<Value> = (0..ty.n_components() as u32)
                    .map(|index| {
                        let xs: Vec<Value> = operands.iter().map(|&x| self.b.extract(x, index)).collect();
                        let y = self.b.extract(result, index);
                        let part = self.b.ty(y);
                        self.row(inst, row, &xs, y, Some(index)).unwrap_or_else(|| zero(&mut self.b, part))
                    })
                    .collect();
                Some(self.b.construct(ty, &parts))
            }
            Some(Rule::Flat) => None,
            None if !has_floats(ty) && !leads_to_floats(ty) => {
                if inst.op == Op::Bitcast && self.activity.is_active(inst.result()) {
                    self.refuse(inst, "a float that is read as the bits of another type has no derivative");
                }
                None
            }
            None => self.linear(inst, operands, ty),
        }
    }

    /// The sum of the partial derivatives times the tangents; of component `index` where that is given.
    fn row(
        &mut self,
        inst: &Inst,
        row: fn(&mut Eval<'_, '_>, &[Value], Value) -> Vec<Partial>,
        xs: &[Value],
        y: Value,
        index: Option<u32>,
    ) -> Option<Value> {
        let found = partials(row, &mut self.b, xs, y);
        let mut sum: Option<Value> = None;
        for (&operand, partial) in inst.operands.iter().zip(found) {
            let Some(tangent) = self.tangents[operand.index()] else { continue };
            let tangent = match index {
                Some(index) => self.b.extract(tangent, index),
                None => tangent,
            };
            let term = match partial {
                Partial::Zero => continue,
                Partial::One => tangent,
                Partial::MinusOne => self.b.unary(Op::Neg, tangent),
                Partial::By(factor) => self.b.binary(Op::Mul, factor, tangent),
            };
            sum = Some(match sum {
                Some(sum) => self.b.binary(Op::Add, sum, term),
                None => term,
            });
        }
        sum
    }

    /// Ops that are linear in each float operand, applied to tangents.
    fn linear(&mut self, inst: &Inst, operands: &[Value], ty: Type) -> Option<Value> {
        let (first, floats) = match inst.op {
            Op::Select | Op::MaskSelect => (1, 2),
            Op::ExtractDyn => (0, 1),
            Op::InsertDyn => (0, 2),
            Op::Construct => (0, operands.len()),
            Op::Splat | Op::Extract | Op::Transpose => (0, 1),
            Op::Insert => (0, 2),
            Op::Cast if self.primal.ty(inst.operands[0]).element().is_some_and(Scalar::is_float) => (0, 1),
            Op::Dot | Op::MatMul => return self.product(inst, operands, ty),
            Op::Bitcast => {
                self.refuse(inst, "bits that are read as a float have no derivative");
                return None;
            }
            _ => return None,
        };
        let mut tangents = operands.to_vec();
        for (tangent, &operand) in tangents[first..first + floats].iter_mut().zip(&inst.operands[first..]) {
            *tangent = self.tangent_or_zero(operand);
        }
        Some(self.b.push1(inst.op, &tangents, inst.attr.clone(), ty))
    }

    fn product(&mut self, inst: &Inst, operands: &[Value], ty: Type) -> Option<Value> {
        let mut sum: Option<Value> = None;
        for (at, operand) in inst.operands.iter().enumerate() {
            let Some(tangent) = self.tangents[operand.index()] else { continue };
            let mut factors = operands.to_vec();
            factors[at] = tangent;
            let term = self.b.push1(inst.op, &factors, inst.attr.clone(), ty);
            sum = Some(match sum {
                Some(sum) => add(&mut self.b, sum, term),
                None => term,
            });
        }
        sum
    }
}
