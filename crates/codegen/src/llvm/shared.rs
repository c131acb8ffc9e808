//! Arms of branches that a kernel has again and again, as one function of machine code.
//!
//! In: a kernel and an arm of straight-line code. Out: what the arm yields, by a call, where an arm that computes the same
//! from other values is elsewhere in the kernel. Elementary functions are inlined with what they do for rare arguments:
//! sixteen sines have one and the same reduction of huge angles, which is most of their code and never runs.
//!
//! ```text
//! v9 = if v8 { … } else { 64 ops of v0 }     ->     call arm(v0)
//! ```

use super::Lowering;
use super::types::{self, Leaf};
use super::value::{Leaves, Lowered};
use crate::gang::Gang;
use crate::{Error, Result};
use analysis::Lanes;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::module::Linkage;
use inkwell::types::{BasicMetadataTypeEnum, BasicTypeEnum};
use inkwell::values::{BasicMetadataValueEnum, FunctionValue};
use ir::op::Effect;
use ir::{Function, InstId, LeafKind, Op, RegionId, Value};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt::Write;

/// Arms of fewer instructions than this are not worth a call.
const MIN_INSTS: usize = 32;

/// The arms of a kernel that others are equal to.
#[derive(Default)]
pub(crate) struct Shared<'c> {
    /// By region: the values that the arm takes, and a number that equal arms have in common.
    arms: HashMap<RegionId, (Vec<Value>, usize)>,
    functions: HashMap<usize, FunctionValue<'c>>,
}

impl<'c> Lowering<'c, '_> {
    /// What an arm yields, where it is one of several equal ones; the builder goes on behind the call.
    pub(crate) fn shared_arm(&mut self, region: RegionId) -> Result<Option<Vec<Leaves<'c>>>> {
        if self.device.is_some() {
            return Ok(None);
        }
        // Parts of a block run as gangs and others thread by thread.
        let form = usize::from(self.gang.is_some());
        if self.shared[form].is_none() {
            self.shared[form] = Some(self.find_shared());
        }
        let shared = self.shared[form].as_ref();
        let Some((inputs, number)) = shared.and_then(|shared| shared.arms.get(&region).cloned()) else {
            return Ok(None);
        };
        let function = match shared.and_then(|shared| shared.functions.get(&number).copied()) {
            Some(function) => function,
            None => {
                let function = self.arm_function(region, &inputs)?;
                if let Some(shared) = &mut self.shared[form] {
                    shared.functions.insert(number, function);
                }
                function
            }
        };
        let mut args: Vec<BasicMetadataValueEnum<'c>> = Vec::new();
        for &input in &inputs {
            args.extend(self.leaves_as_defined(input)?.into_iter().map(BasicMetadataValueEnum::from));
        }
        let call = self.builder.build_call(function, &args, "")?;
        let all = call.try_as_basic_value().unwrap_basic().into_struct_value();
        let mut next = 0;
        let mut yields = Vec::new();
        for value in self.yielded(region)? {
            let mut leaves = Leaves::new();
            for _ in 0..self.func.ty(value).n_leaves() {
                leaves.push(self.builder.build_extract_value(all, next, "")?);
                next += 1;
            }
            yields.push(leaves);
        }
        Ok(Some(yields))
    }

    /// In every lane where lanes differ.
    fn leaves_as_defined(&self, value: Value) -> Result<Leaves<'c>> {
        match self.narrow_value(value)? {
            _ if self.lanes_of(value) == Lanes::Varying => self.widened(value),
            Lowered::Leaves(leaves) => Ok(leaves),
            Lowered::Memory(_) => Err(Error::Invalid("a value is too large for a call".into())),
        }
    }

    fn lanes_of(&self, value: Value) -> Lanes {
        self.gang.as_ref().map_or(Lanes::Uniform, |gang| gang.uniformity.lanes(value))
    }

    fn yielded(&self, region: RegionId) -> Result<Vec<Value>> {
        let end = self.func.terminator(region).map(|id| self.func.inst(id)).filter(|inst| inst.op == Op::Yield);
        end.map(|end| end.operands.to_vec()).ok_or_else(|| Error::Invalid("an arm without `yield`".into()))
    }

    /// The arms that occur more than once.
    fn find_shared(&self) -> Shared<'c> {
        let mut numbers: HashMap<String, (usize, usize)> = HashMap::new();
        let mut found = Vec::new();
        let mut open = vec![self.func.body];
        while let Some(region) = open.pop() {
            for &id in &self.func.region(region).insts {
                let inst = self.func.inst(id);
                open.extend(&inst.regions);
                let arms = if inst.op == Op::If { &inst.regions[..] } else { &[] };
                for &arm in arms {
                    let Some((inputs, text)) = self.text_of(arm) else { continue };
                    let next = numbers.len();
                    let (number, count) = numbers.entry(text).or_insert((next, 0));
                    *count += 1;
                    found.push((arm, inputs, *number));
                }
            }
        }
        let repeated: Vec<usize> = numbers.into_values().filter(|(_, count)| *count > 1).map(|(n, _)| n).collect();
        found.retain(|(.., number)| repeated.contains(number));
        let arms = found.into_iter().map(|(arm, inputs, number)| (arm, (inputs, number))).collect();
        Shared { arms, functions: HashMap::new() }
    }

    /// The values that an arm takes from outside, and a text that equal arms have in common; nothing where the arm cannot
    /// be a function.
    fn text_of(&self, region: RegionId) -> Option<(Vec<Value>, String)> {
        let func = self.func;
        let (&end, insts) = func.region(region).insts.split_last()?;
        if insts.len() < MIN_INSTS || func.inst(end).op != Op::Yield || func.inst(end).operands.is_empty() {
            return None;
        }
        let mut names: HashMap<Value, String> = HashMap::new();
        let (mut inputs, mut text) = (Vec::new(), String::new());
        for (at, &id) in insts.iter().chain([&end]).enumerate() {
            let inst = func.inst(id);
            let is_last = at == insts.len();
            // What looks at a thread, at memory, or at what defines an operand needs more than values.
            let is_plain = inst.op.effect() == Effect::Pure
                && inst.regions.is_empty()
                && !matches!(inst.op, Op::Tid | Op::LaunchExtent | Op::LocalArray | Op::Call)
                && !(inst.op == Op::Div && self.fast.is_some());
            if !is_last && !is_plain {
                return None;
            }
            write!(text, "{}{:?}", inst.op.name(), inst.attr).ok()?;
            for &operand in &inst.operands {
                if let Entry::Vacant(entry) = names.entry(operand) {
                    entry.insert(self.name_of_input(operand, &mut inputs)?);
                }
                write!(text, " {}", names[&operand]).ok()?;
            }
            for &result in &inst.results {
                write!(text, " {}", self.shape_of(result)?).ok()?;
                names.insert(result, format!("r{at}"));
            }
            text.push('\n');
        }
        Some((inputs, text))
    }

    fn name_of_input(&self, value: Value, inputs: &mut Vec<Value>) -> Option<String> {
        let shape = self.shape_of(value)?;
        if let Some(constant) = self.func.as_const(value) {
            return Some(format!("{constant:?}{shape}"));
        }
        inputs.push(value);
        Some(format!("i{}{shape}", inputs.len()))
    }

    /// Of values that are scalars or made of some; one that is affine is more than its lanes.
    fn shape_of(&self, value: Value) -> Option<String> {
        let ty = self.func.ty(value);
        let is_plain =
            ty.leaves().iter().all(|leaf| matches!(leaf.kind, LeafKind::Scalar(_))) && !super::value::is_big(ty);
        match self.lanes_of(value) {
            Lanes::Affine(_) => None,
            _ if !is_plain => None,
            lanes => Some(format!(":{ty}{}", if lanes == Lanes::Varying { "v" } else { "" })),
        }
    }

    fn types_of(&self, values: &[Value]) -> Result<Vec<BasicTypeEnum<'c>>> {
        let mut all = Vec::new();
        for &value in values {
            for leaf in self.func.ty(value).leaves() {
                let ty = types::leaf_type(self.ctx, leaf.kind);
                all.push(match (&self.gang, self.lanes_of(value)) {
                    (Some(gang), Lanes::Varying) => self.splat_lanes(ty.const_zero(), gang.width)?.get_type(),
                    _ => ty,
                });
            }
        }
        Ok(all)
    }

    /// The function of an arm: from the leaves of its inputs to those of what it yields.
    fn arm_function(&self, region: RegionId, inputs: &[Value]) -> Result<FunctionValue<'c>> {
        let func: &Function = self.func;
        let yielded = self.yielded(region)?;
        let params: Vec<BasicMetadataTypeEnum<'c>> = self.types_of(inputs)?.into_iter().map(Into::into).collect();
        let result = self.ctx.struct_type(&self.types_of(&yielded)?, false);
        let function = self.llvm.add_function("arm", result.fn_type(&params, false), Some(Linkage::Private));
        for name in ["nounwind", "willreturn", "nofree", "nosync", "memory", "noinline", "cold"] {
            let kind = Attribute::get_named_enum_kind_id(name);
            function.add_attribute(AttributeLoc::Function, self.ctx.create_enum_attribute(kind, 0));
        }
        for name in ["target-cpu", "target-features", "reciprocal-estimates"] {
            if let Some(attribute) = self.function.get_string_attribute(AttributeLoc::Function, name) {
                function.add_attribute(AttributeLoc::Function, attribute);
            }
        }
        let (allocas, body) = (self.ctx.append_basic_block(function, ""), self.ctx.append_basic_block(function, ""));
        let fast = self.fast.is_some();
        let thread = self.thread.clone();
        let mut inner = Lowering::new(self.ctx, self.llvm, fast, func, function, allocas, thread, self.abilities);
        if let Some(gang) = &self.gang {
            inner.gang = Some(Box::new(Gang::new(func, gang.width, gang.uniformity.clone())));
        }
        inner.builder.position_at_end(body);
        let mut given = function.get_param_iter();
        for &input in inputs {
            let leaves: Leaves<'c> = given.by_ref().take(func.ty(input).n_leaves()).collect();
            inner.define(input, Lowered::Leaves(leaves));
        }
        let insts: Vec<InstId> = func.region(region).insts.clone();
        let is_inner = |value: Value| matches!(func.def(value), ir::ValueDef::Result(id, _) if insts.contains(&id));
        for &id in &insts {
            // Constants from outside are needed here too.
            for &operand in &func.inst(id).operands {
                if let ir::ValueDef::Result(made, _) = func.def(operand)
                    && !is_inner(operand)
                    && func.as_const(operand).is_some()
                    && !inner.is_defined(operand)
                {
                    inner.inst(made)?;
                }
            }
            if func.inst(id).op != Op::Yield {
                inner.inst(id)?;
            }
        }
        let mut leaves: Vec<Leaf<'c>> = Vec::new();
        for value in yielded {
            leaves.extend(inner.leaves_as_defined(value)?);
        }
        inner.builder.build_aggregate_return(&leaves)?;
        inner.allocas.build_unconditional_branch(body)?;
        Ok(function)
    }
}
