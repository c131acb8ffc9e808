//! A kernel for a gang: neighboring threads of a row as the lanes of vectors (SPMD on SIMD, as ispc does it).
//!
//! In: a kernel that [`can_widen`] accepts, and what `analysis` knows of it. Out: the same instructions as for one
//! thread, with vectors where lanes differ:
//!
//! ```text
//! uniform    one scalar                                   v5: i64 = extent v1 {0}
//! affine     the first lane's scalar; lane k adds k step  v3: i64 = tid 0
//! varying    a vector of lanes a leaf                     v7: f32 = load v1[v3]   ->  load <16 x float>
//! ```
//!
//! Each lane computes the bits that the scalar program computes. What an affine value relies on (no index is negative,
//! no i32 wraps within the gang) is tested, once a gang for all that is known at its start ([`Lowering::guard`]); a gang
//! that fails the test runs one thread by the scalar code. Where lanes part, [`control`] keeps a mask of those that are
//! on and tests first whether all or none are; [`memory`] turns accesses into wide ones.
//!
//! Karrenberg & Hack, "Whole-Function Vectorization" (CGO 2011); Pharr & Mark, "ispc" (InPar 2012).

mod affine;
mod atomic;
mod cases;
mod control;
mod cubed_roots;
mod explain;
mod loops;
mod memory;
mod own;
mod prefetch;
mod roots;
mod rows;
mod shape;
mod slots;
mod split;
mod stream;
mod triples;
mod widen;

pub(crate) use explain::{explain, explain_region};
pub(crate) use memory::scalars;
pub(crate) use stream::Streams;
pub(crate) use widen::{Reason, can_widen, can_widen_region, is_gather, is_long, reloads, width};

use crate::llvm::lanes::{as_int, as_lanes, n_lanes, number, steps};
use crate::llvm::types::Leaf;
use crate::llvm::value::{Leaves, Lowered};
use crate::llvm::{Lowering, attr_index};
use crate::rows::RowStart;
use crate::{Error, Result};
use analysis::{Lanes, Uniformity};
use inkwell::IntPredicate;
use inkwell::basic_block::BasicBlock;
use inkwell::builder::BuilderError;
use inkwell::values::{IntValue, PointerValue};
use ir::{Function, Inst, InstId, Op, RegionId, Value};
use std::collections::{HashMap, HashSet};
use transform::range::Counters;

/// The state of lowering a gang.
pub(crate) struct Gang<'c> {
    pub width: u32,
    pub uniformity: Uniformity,
    /// The lanes that are on; `None` where all are.
    mask: Option<IntValue<'c>>,
    /// Operands are asked for as vectors.
    is_wide: bool,
    frames: Vec<control::Frame<'c>>,
    /// Affine values that may not be affine after all, by value.
    exact: Vec<Option<Exact<'c>>>,
    /// Instructions that were lowered ahead of their turn.
    is_early: Vec<bool>,
    /// Arrays whose last dimension was tested to be dense, by value.
    is_dense: Vec<bool>,
    is_used: Vec<bool>,
    /// Instructions that may still be lowered twice.
    budget: usize,
    counters: Counters,
    /// A condition that holds, or does not hold, in all lanes of what is being lowered.
    known: Option<(Value, bool)>,
    /// The memory of local arrays, by instruction: one that is lowered twice is one.
    own: HashMap<InstId, PointerValue<'c>>,
    /// Roots that are computed without the divider, where the machine is faster so.
    roots: HashSet<InstId>,
    /// These are not, where the divider has nothing else to do.
    divides_roots: bool,
    /// Places in memory that were asked for ahead of time: arrays and all indices but the last. `None` in kernels where
    /// that is not worth it.
    is_prefetched: Option<HashSet<Vec<Value>>>,
    pub streams: Streams,
    /// Where gangs are of one row each.
    pub row: Option<RowStart<'c>>,
    /// Whether the launch writes more than the caches hold, where that matters.
    pub is_large: Option<IntValue<'c>>,
}

/// What is known of an affine value that may wrap.
#[derive(Clone, Copy)]
struct Exact<'c> {
    /// Whether the lanes that are on hold what their distance from the first lane says.
    holds: IntValue<'c>,
    /// The value of every lane, right in any case.
    lanes: Leaf<'c>,
}

impl<'c> Gang<'c> {
    pub(crate) fn new(func: &Function, width: u32, uniformity: Uniformity) -> Gang<'c> {
        let mut is_used = vec![false; func.values.len()];
        for inst in &func.insts {
            inst.operands.iter().for_each(|value| is_used[value.index()] = true);
        }
        Gang {
            width,
            roots: roots::roots(func, &uniformity),
            divides_roots: false,
            is_prefetched: prefetch::is_worth_it(func).then(HashSet::new),
            uniformity,
            mask: None,
            is_wide: false,
            frames: Vec::new(),
            exact: vec![None; func.values.len()],
            is_early: vec![false; func.insts.len()],
            is_dense: vec![false; func.values.len()],
            is_used,
            budget: 2 * func.insts.len() + 200,
            counters: Counters::new(func),
            known: None,
            own: HashMap::new(),
            streams: Streams::default(),
            row: None,
            is_large: None,
        }
    }
}

impl<'c> Lowering<'c, '_> {
    pub(crate) fn is_wide(&self) -> bool {
        self.gang.as_ref().is_some_and(|gang| gang.is_wide)
    }

    fn gang(&self) -> Result<&Gang<'c>> {
        self.gang.as_deref().ok_or_else(|| Error::Invalid("not a gang".into()))
    }

    fn gang_mut(&mut self) -> Result<&mut Gang<'c>> {
        self.gang.as_deref_mut().ok_or_else(|| Error::Invalid("not a gang".into()))
    }

    pub(crate) fn width(&self) -> u32 {
        self.gang.as_ref().map_or(1, |gang| gang.width)
    }

    pub(crate) fn mask(&self) -> Option<IntValue<'c>> {
        self.gang.as_ref().and_then(|gang| gang.mask)
    }

    fn set_mask(&mut self, mask: Option<IntValue<'c>>) {
        if let Some(gang) = &mut self.gang {
            gang.mask = mask;
        }
    }

    fn lanes(&self, value: Value) -> Lanes {
        self.gang.as_ref().map_or(Lanes::Varying, |gang| gang.uniformity.lanes(value))
    }

    #[inline(never)]
    pub(crate) fn gang_inst(&mut self, id: InstId) -> Result<()> {
        let func = self.func;
        let inst = func.inst(id);
        match inst.op {
            Op::If | Op::For | Op::Loop | Op::Yield | Op::Continue | Op::Break | Op::Return | Op::Unreachable => {
                self.gang_control(id, inst)
            }
            Op::Load => self.gang_load(inst),
            Op::Store => self.gang_store(inst),
            Op::Atomic | Op::AtomicCas => self.gang_atomic(inst),
            Op::Fence => self.scalar_inst(id),
            Op::LocalArray => self.own_array(id, inst),
            _ if std::mem::take(&mut self.gang_mut()?.is_early[id.index()]) => Ok(()),
            _ => self.gang_pure(id, inst),
        }
    }

    fn gang_pure(&mut self, id: InstId, inst: &Inst) -> Result<()> {
        if let Some(value) = self.of_row(id)? {
            self.define(inst.result(), value.into());
            return Ok(());
        }
        match self.lanes(inst.result()) {
            Lanes::Uniform => self.scalar_inst(id),
            Lanes::Affine(_) => self.affine_inst(id, inst),
            Lanes::Varying => {
                let lanes = self.wide_inst(id, inst)?;
                self.define(inst.result(), lanes);
                Ok(())
            }
        }
    }

    /// The result of a pure instruction in every lane.
    fn wide_inst(&mut self, id: InstId, inst: &Inst) -> Result<Lowered<'c>> {
        if inst.op == Op::WrapIndex {
            return self.wide_wrap(inst);
        }
        if let Some(lanes) = self.estimated(id, inst)? {
            return Ok(lanes);
        }
        self.gang_mut()?.is_wide = true;
        let done = self.scalar_inst(id);
        self.gang_mut()?.is_wide = false;
        done?;
        self.narrow_value(inst.result())
    }

    fn wide_wrap(&mut self, inst: &Inst) -> Result<Lowered<'c>> {
        let array = self.array(inst.operands[0])?;
        let extent = array.extents.get(attr_index(inst)? as usize).copied();
        let extent = extent.ok_or_else(|| Error::Invalid("`wrap_index` of no dimension".into()))?;
        let index = self.wide_int(inst.operands[1])?;
        let b = &self.builder;
        let negative = b.build_int_compare(IntPredicate::SLT, index, index.get_type().const_zero(), "")?;
        let extent = as_int(self.splat_lanes(extent.into(), self.width())?)?;
        Ok(self.select_int(negative, b.build_int_add(index, extent, "")?, index)?.into())
    }

    fn both(&self, x: Option<IntValue<'c>>, y: IntValue<'c>) -> Result<IntValue<'c>> {
        Ok(match x {
            Some(x) => self.builder.build_and(x, y, "")?,
            None => y,
        })
    }

    fn step(&self, value: Value) -> i64 {
        if let Lanes::Affine(step) = self.lanes(value) { step } else { 0 }
    }

    /// A value in every lane.
    pub(crate) fn widened(&self, value: Value) -> Result<Leaves<'c>> {
        let gang = self.gang()?;
        if let Some(exact) = &gang.exact[value.index()] {
            return Ok(Leaves::from_slice(&[exact.lanes]));
        }
        let Lowered::Leaves(leaves) = self.narrow_value(value)? else {
            return Err(Error::Invalid(format!("v{} is too large for a gang", value.0)));
        };
        let step = self.step(value);
        let wide = leaves.into_iter().map(|leaf| {
            let all = self.splat_where_loaded(leaf)?;
            if step == 0 || n_lanes(&leaf).is_some() {
                return Ok(all);
            }
            let ty = as_int(leaf)?.get_type();
            Ok(self.builder.build_int_add(as_int(all)?, steps(ty, gang.width, step), "").map(as_lanes)?.into())
        });
        wide.collect()
    }

    fn wide_int(&self, value: Value) -> Result<IntValue<'c>> {
        self.widened(value).and_then(|leaves| as_int(leaves[0]))
    }

    fn bits(&self, lanes: IntValue<'c>) -> Result<IntValue<'c>> {
        let ty = self.ctx.custom_width_int_type(std::num::NonZeroU32::MIN.saturating_add(self.width() - 1));
        let ty = ty.map_err(|error| Error::llvm("integer type", error))?;
        as_int(self.builder.build_bit_cast(as_lanes(lanes), ty, "")?)
    }

    pub(crate) fn any(&self, lanes: IntValue<'c>) -> Result<IntValue<'c>> {
        if self.device.is_some() {
            return self.fold_lanes(lanes, |x, y| self.builder.build_or(x, y, ""));
        }
        let bits = self.bits(lanes)?;
        Ok(self.builder.build_int_compare(IntPredicate::NE, bits, bits.get_type().const_zero(), "")?)
    }

    fn all(&self, lanes: IntValue<'c>) -> Result<IntValue<'c>> {
        if self.device.is_some() {
            return self.fold_lanes(lanes, |x, y| self.builder.build_and(x, y, ""));
        }
        let bits = self.bits(lanes)?;
        Ok(self.builder.build_int_compare(IntPredicate::EQ, bits, bits.get_type().const_all_ones(), "")?)
    }

    /// One bool from a few, where the target has no vector of bits.
    fn fold_lanes(
        &self,
        lanes: IntValue<'c>,
        join: impl Fn(IntValue<'c>, IntValue<'c>) -> std::result::Result<IntValue<'c>, BuilderError>,
    ) -> Result<IntValue<'c>> {
        let lane = |k: u32| {
            let index = self.ctx.i32_type().const_int(k.into(), false);
            as_int(self.builder.build_extract_element(as_lanes(lanes), index, "")?)
        };
        let mut all = lane(0)?;
        for k in 1..self.width() {
            all = join(all, lane(k)?)?;
        }
        Ok(all)
    }

    /// The lanes of `x` that are on. A select, so that what a lane that is off holds never matters.
    fn on(&self, x: IntValue<'c>) -> Result<IntValue<'c>> {
        match self.mask() {
            None => Ok(x),
            Some(mask) => self.select_int(mask, x, x.get_type().const_zero()),
        }
    }

    fn none_on(&self, x: IntValue<'c>) -> Result<IntValue<'c>> {
        let any = self.any(self.on(x)?)?;
        Ok(self.builder.build_not(any, "")?)
    }

    fn all_lanes(&self) -> IntValue<'c> {
        number(self.mask_type(), 1)
    }

    fn no_lanes(&self) -> IntValue<'c> {
        number(self.mask_type(), 0)
    }

    fn mask_type(&self) -> inkwell::types::IntType<'c> {
        steps(self.ctx.bool_type(), self.width(), 0).get_type()
    }

    /// Lowers ahead of time what a region computes from values that are there already, as far as it is the same in all
    /// lanes or affine. What affine values rely on is collected and from then on taken for granted: the caller must
    /// branch to the region only where the result holds.
    fn early(&mut self, region: RegionId) -> Result<Option<IntValue<'c>>> {
        let func = self.func;
        let mut holds = None;
        for &id in &func.region(region).insts {
            let inst = func.inst(id);
            let is_wanted = inst.op.is_pure()
                && inst.results.len() == 1
                && self.lanes(inst.result()) != Lanes::Varying
                && inst.operands.iter().all(|&operand| self.is_defined(operand));
            if !is_wanted {
                continue;
            }
            self.gang_pure(id, inst)?;
            self.gang_mut()?.is_early[id.index()] = true;
            if let Some(exact) = self.gang_mut()?.exact[inst.result().index()].take() {
                holds = Some(self.both(holds, exact.holds)?);
            }
        }
        Ok(holds)
    }

    /// Forgets what was lowered of a region, so that it can be lowered again.
    fn forget_region(&mut self, region: RegionId) -> Result<()> {
        let func = self.func;
        for &param in &func.region(region).params {
            self.forget(param);
        }
        for &id in &func.region(region).insts {
            let inst = func.inst(id);
            for &result in &inst.results {
                self.forget(result);
                self.gang_mut()?.exact[result.index()] = None;
            }
            self.gang_mut()?.is_early[id.index()] = false;
            for &inner in &inst.regions {
                self.forget_region(inner)?;
            }
        }
        Ok(())
    }

    /// What has to hold for a gang to run at all: the strides of arrays are those of dense ones, and the affine values
    /// of the body that are known at its start are affine.
    pub(crate) fn guard(&mut self) -> Result<Option<IntValue<'c>>> {
        self.guard_region(self.func.body)
    }

    /// From now on only the first lanes are on, all where there are more than a gang has.
    pub(crate) fn only_lanes(&mut self, n_lanes: IntValue<'c>) -> Result<()> {
        let width = self.i64(u64::from(self.width()));
        let is_more = self.builder.build_int_compare(IntPredicate::UGT, n_lanes, width, "")?;
        let n_lanes = self.builder.build_select(is_more, width, n_lanes, "")?.into_int_value();
        let ty = self.ctx.i32_type();
        let n_lanes = self.builder.build_int_truncate(n_lanes, ty, "")?;
        let all = as_int(self.splat_lanes(n_lanes.into(), self.width())?)?;
        let mask = self.builder.build_int_compare(IntPredicate::SLT, steps(ty, self.width(), 1), all, "")?;
        self.set_mask(Some(mask));
        Ok(())
    }

    /// Lowers a region for the gang at the thread's index, from a block of its own on; gives the block behind it. A gang
    /// that is not what it must be goes on at `otherwise`. With `n_lanes`, only so many lanes are on.
    pub(crate) fn gang_region(
        &mut self,
        region: RegionId,
        otherwise: BasicBlock<'c>,
        n_lanes: Option<IntValue<'c>>,
    ) -> Result<BasicBlock<'c>> {
        self.gang_mut()?.is_dense.fill(false);
        self.set_mask(None);
        if let Some(n_lanes) = n_lanes {
            self.only_lanes(n_lanes)?;
        }
        if let Some(holds) = self.guard_region(region)? {
            let run = self.block();
            self.builder.build_conditional_branch(holds, run, otherwise)?;
            self.builder.position_at_end(run);
        }
        let end = self.block();
        let frame = control::Frame::If { slots: Vec::new(), reached: None, join: Some(end), is_masked: false };
        self.gang_mut()?.frames.push(frame);
        self.region(region)?;
        self.gang_mut()?.frames.pop();
        self.forget_region(region)?;
        self.set_mask(None);
        Ok(end)
    }

    fn guard_region(&mut self, region: RegionId) -> Result<Option<IntValue<'c>>> {
        let dense = self.dense_params()?;
        let holds = self.early(region)?;
        Ok(match (dense, holds) {
            (Some(dense), Some(holds)) => Some(self.builder.build_and(dense, holds, "")?),
            (dense, holds) => dense.or(holds),
        })
    }
}
