//! Ops over blocks of threads: each is an instruction of the GPU, or a few.
//!
//! Threads of the kernel are those of the GPU, number for number. Shared arrays are variables of the shared address
//! space. A barrier of the grid needs a word of device memory, whose address the launcher puts behind the bounds: the
//! blocks count themselves in it, and its highest bit changes when all are there, so that it needs no reset.

use super::entry::{GLOBAL, special_register};
use crate::llvm::lanes::as_int;
use crate::llvm::types::{Leaf, pointer};
use crate::llvm::value::Lowered;
use crate::llvm::{Lowering, dimension};
use crate::{Error, Result};
use inkwell::intrinsics::Intrinsic;
use inkwell::module::Linkage;
use inkwell::types::BasicTypeEnum;
use inkwell::values::{BasicMetadataValueEnum, BasicValue, IntValue, PointerValue};
use inkwell::{AddressSpace, IntPredicate};
use ir::op::{FenceScope, ShuffleMode, VoteMode};
use ir::{Attr, Inst, Op};
use llvm_sys::LLVMAtomicOrdering::LLVMAtomicOrderingSequentiallyConsistent;
use llvm_sys::LLVMAtomicRMWBinOp::LLVMAtomicRMWBinOpAdd;
use std::ffi::CStr;

/// The number of the address space of shared arrays.
const SHARED: u16 = 3;

/// Most bytes that a block's own shared arrays may take on every architecture. What tiles take beyond is asked for by the
/// launch.
pub const MAX_SHARED: u64 = 48 << 10;

/// Most bytes of shared memory that a launch may ask for on an architecture, in CUDA's guide the table of compute
/// capabilities.
fn most_shared(sm: u32) -> u64 {
    let kibibytes = match sm {
        ..=74 => 96,
        75..=79 => 64,
        86 | 89 | 120.. => 99,
        90..=119 => 227,
        _ => 163,
    };
    kibibytes << 10
}

/// Bytes of `BlockBounds`: three extents of the grid, three of a block, and the number of dynamic shared bytes.
pub(super) const BOUNDS_BYTES: u64 = 56;

/// What ops over blocks need besides.
pub(super) struct Block<'c> {
    /// The parameter `bounds`.
    pub bounds: PointerValue<'c>,
    pub shared_bytes: u64,
    /// Whether the kernel is over blocks itself.
    pub is_over_blocks: bool,
}

impl<'c> Lowering<'c, '_> {
    pub(crate) fn block_op(&mut self, inst: &Inst) -> Result<()> {
        let lowered = match inst.op {
            Op::Barrier => return self.sync("barrier.cta.sync.aligned.all", &[self.int32(0).into()]).map(drop),
            Op::WarpBarrier => return self.sync("bar.warp.sync", &[self.int(inst.operands[0])?.into()]).map(drop),
            Op::Fence => return self.fence(inst),
            Op::GridBarrier => return self.grid_barrier(),
            Op::Shuffle => return self.shuffle_lanes(inst),
            Op::MatchAll => return self.match_all(inst),
            Op::CallExtern => return self.call_extern(inst),
            Op::ThreadIndex => self.position("tid", inst)?,
            Op::BlockIndex => self.position("ctaid", inst)?,
            Op::BlockExtent => self.position("ntid", inst)?,
            Op::GridExtent => self.position("nctaid", inst)?,
            Op::LaneId => special_register(self.llvm, &self.builder, "laneid")?.into(),
            Op::SharedArray => self.shared_array(inst)?,
            Op::DynamicShared => self.dynamic_shared(inst)?,
            Op::BarrierCount => self.barrier_with("popc", inst)?,
            Op::BarrierAnd => self.barrier_with("and", inst)?,
            Op::BarrierOr => self.barrier_with("or", inst)?,
            Op::Vote => self.vote(inst)?,
            Op::MatchAny => {
                let (mask, x) = (self.int(inst.operands[0])?, self.bits_of(inst, 1)?);
                let name = format!("match.any.sync.i{}", x.get_type().get_bit_width());
                self.sync_value(&name, &[mask.into(), x.into()])?.into()
            }
            Op::ActiveMask => self.sync_value("activemask", &[])?.into(),
            _ => return Err(Error::Unsupported(format!("`{}` is not for a GPU", inst.op.name()))),
        };
        self.define(inst.result(), lowered);
        Ok(())
    }

    fn block_state(&mut self) -> Result<&mut Block<'c>> {
        let device = self.device.as_mut().and_then(|device| device.block.as_mut());
        device.ok_or_else(|| Error::Invalid("no kernel over blocks".into()))
    }

    /// The thread that a report names: its index in the launch; over blocks the number of its block and its index there.
    pub(super) fn reported_thread(&self) -> Result<[IntValue<'c>; 4]> {
        let block = self.device.as_ref().and_then(|device| device.block.as_ref());
        if !block.is_some_and(|block| block.is_over_blocks) {
            return Ok(self.thread.index);
        }
        let b = &self.builder;
        let read = |name: &str| -> Result<IntValue<'c>> {
            let register = special_register(self.llvm, b, name)?;
            Ok(b.build_int_z_extend(register, self.ctx.i64_type(), "")?)
        };
        let plane = b.build_int_mul(read("nctaid.y")?, read("ctaid.z")?, "")?;
        let row = b.build_int_add(read("ctaid.y")?, plane, "")?;
        let number = b.build_int_add(read("ctaid.x")?, b.build_int_mul(read("nctaid.x")?, row, "")?, "")?;
        Ok([number, read("tid.x")?, read("tid.y")?, read("tid.z")?])
    }

    fn int32(&self, value: u64) -> IntValue<'c> {
        self.ctx.i32_type().const_int(value, false)
    }

    fn position(&self, kind: &str, inst: &Inst) -> Result<Lowered<'c>> {
        let axis = ["x", "y", "z"].get(dimension(inst)?).ok_or_else(|| Error::Invalid("a fourth axis".into()))?;
        let register = special_register(self.llvm, &self.builder, &format!("{kind}.{axis}"))?;
        Ok(self.builder.build_int_z_extend(register, self.ctx.i64_type(), "")?.into())
    }

    /// Calls `llvm.nvvm.NAME`.
    fn sync(&self, name: &str, args: &[BasicMetadataValueEnum<'c>]) -> Result<Option<Leaf<'c>>> {
        let name = format!("llvm.nvvm.{name}");
        let function = Intrinsic::find(&name)
            .and_then(|intrinsic| intrinsic.get_declaration(self.llvm, &[]))
            .ok_or_else(|| Error::llvm("intrinsic", &name))?;
        Ok(self.builder.build_call(function, args, "")?.try_as_basic_value().basic())
    }

    fn sync_value(&self, name: &str, args: &[BasicMetadataValueEnum<'c>]) -> Result<IntValue<'c>> {
        as_int(self.sync(name, args)?.ok_or_else(|| Error::llvm("intrinsic without a value", name))?)
    }

    /// Calls an intrinsic that gives a value and a bool.
    fn sync_pair(&self, name: &str, args: &[BasicMetadataValueEnum<'c>]) -> Result<(IntValue<'c>, IntValue<'c>)> {
        let Some(Leaf::StructValue(pair)) = self.sync(name, args)? else {
            return Err(Error::llvm("intrinsic without a pair", name));
        };
        let b = &self.builder;
        Ok((as_int(b.build_extract_value(pair, 0, "")?)?, as_int(b.build_extract_value(pair, 1, "")?)?))
    }

    /// An operand of 4 or 8 bytes as an integer.
    fn bits_of(&self, inst: &Inst, operand: usize) -> Result<IntValue<'c>> {
        let value = inst.operands[operand];
        let scalar = self.func.ty(value).as_scalar().filter(|scalar| scalar.size() >= 4);
        let scalar = scalar.ok_or_else(|| Error::Invalid(format!("`{}` of a small value", inst.op.name())))?;
        self.to_bits(scalar, self.leaf(value)?)
    }

    fn barrier_with(&self, kind: &str, inst: &Inst) -> Result<Lowered<'c>> {
        let args = [self.int32(0).into(), self.int(inst.operands[0])?.into()];
        let result = self.sync_value(&format!("barrier.cta.red.{kind}.aligned.all"), &args)?;
        let int = self.ctx.i32_type();
        if result.get_type() == int {
            return Ok(result.into());
        }
        Ok(self.builder.build_int_z_extend(result, int, "")?.into())
    }

    fn vote(&self, inst: &Inst) -> Result<Lowered<'c>> {
        let Attr::Vote(mode) = inst.attr else { return Err(Error::Invalid("`vote` without a mode".into())) };
        let name = match mode {
            VoteMode::All => "vote.all.sync",
            VoteMode::Any => "vote.any.sync",
            VoteMode::Uniform => "vote.uni.sync",
            VoteMode::Ballot => "vote.ballot.sync",
        };
        let args = [self.int(inst.operands[0])?.into(), self.int(inst.operands[1])?.into()];
        Ok(self.sync_value(name, &args)?.into())
    }

    fn match_all(&mut self, inst: &Inst) -> Result<()> {
        let (mask, x) = (self.int(inst.operands[0])?, self.bits_of(inst, 1)?);
        let name = format!("match.all.sync.i{}p", x.get_type().get_bit_width());
        let (lanes, alike) = self.sync_pair(&name, &[mask.into(), x.into()])?;
        self.define(inst.results[0], lanes.into());
        self.define(inst.results[1], alike.into());
        Ok(())
    }

    /// The instruction looks at the low five bits of the lane only, and `xor` may leave the group downward: such a lane
    /// counts as outside.
    fn shuffle_lanes(&mut self, inst: &Inst) -> Result<()> {
        let Attr::Shuffle(mode) = inst.attr else { return Err(Error::Invalid("`shuffle` without a mode".into())) };
        let scalar = self.func.ty(inst.operands[1]).as_scalar();
        let scalar = scalar.ok_or_else(|| Error::Invalid("`shuffle` of what is no scalar".into()))?;
        let (mask, x) = (self.int(inst.operands[0])?, self.bits_of(inst, 1)?);
        let (n, width) = (self.int(inst.operands[2])?, self.int(inst.operands[3])?);
        let b = &self.builder;
        // Where groups start, and the last lane that counts from there.
        let groups = b.build_left_shift(b.build_int_sub(self.int32(32), width, "")?, self.int32(8), "")?;
        let limit = if mode == ShuffleMode::Up { 0 } else { 31 };
        let control = b.build_or(groups, self.int32(limit), "")?;
        let name = match mode {
            ShuffleMode::Index => "shfl.sync.idx.i32p",
            ShuffleMode::Up => "shfl.sync.up.i32p",
            ShuffleMode::Down => "shfl.sync.down.i32p",
            ShuffleMode::Xor => "shfl.sync.bfly.i32p",
        };
        let word = |x: IntValue<'c>| self.sync_pair(name, &[mask.into(), x.into(), n.into(), control.into()]);
        let (moved, mut inside) = if scalar.size() == 8 {
            let (int, short) = (self.ctx.i64_type(), self.ctx.i32_type());
            let half = self.i64(32);
            let (low, inside) = word(b.build_int_truncate(x, short, "")?)?;
            let (high, _) = word(b.build_int_truncate(b.build_right_shift(x, half, false, "")?, short, "")?)?;
            let high = b.build_left_shift(b.build_int_z_extend(high, int, "")?, half, "")?;
            (b.build_or(high, b.build_int_z_extend(low, int, "")?, "")?, inside)
        } else {
            word(x)?
        };
        let mut result = moved;
        if mode != ShuffleMode::Index {
            let bound = if mode == ShuffleMode::Xor { width } else { self.int32(32) };
            let fits = b.build_int_compare(IntPredicate::ULT, n, bound, "")?;
            result = self.select_int(fits, moved, x)?;
            inside = self.builder.build_and(inside, fits, "")?;
        }
        let result = self.of_bits(scalar, result)?;
        self.define(inst.results[0], result.into());
        self.define(inst.results[1], inside.into());
        Ok(())
    }

    fn fence(&self, inst: &Inst) -> Result<()> {
        let Attr::Scope(scope) = inst.attr else { return Err(Error::Invalid("`fence` without a scope".into())) };
        self.fence_among(match scope {
            FenceScope::Block => c"block",
            FenceScope::Device => c"device",
            FenceScope::System => c"",
        });
        Ok(())
    }

    fn fence_among(&self, scope: &CStr) {
        // SAFETY: the builder's position is in a block.
        unsafe {
            llvm_sys::core::LLVMBuildFenceSyncScope(
                self.builder.as_mut_ptr(),
                LLVMAtomicOrderingSequentiallyConsistent,
                self.sync_scope(scope),
                c"".as_ptr(),
            );
        }
    }

    /// One thread of each block adds to the word: all but the first block 1, the first what brings the sum to 2^31. Then
    /// it waits for the highest bit to differ from what it saw.
    fn grid_barrier(&mut self) -> Result<()> {
        let bounds = self.block_state()?.bounds;
        let barrier = |this: &Self| this.sync("barrier.cta.sync.aligned.all", &[this.int32(0).into()]).map(drop);
        barrier(self)?;
        let b = &self.builder;
        let axes = |kind: &str| -> Result<[IntValue<'c>; 3]> {
            let mut found = [self.int32(0); 3];
            for (value, axis) in found.iter_mut().zip(["x", "y", "z"]) {
                *value = special_register(self.llvm, b, &format!("{kind}.{axis}"))?;
            }
            Ok(found)
        };
        let is_origin = |[x, y, z]: [IntValue<'c>; 3]| -> Result<IntValue<'c>> {
            let any = b.build_or(b.build_or(x, y, "")?, z, "")?;
            Ok(b.build_int_compare(IntPredicate::EQ, any, self.int32(0), "")?)
        };
        let (speak, wait, done) = (self.block(), self.block(), self.block());
        b.build_conditional_branch(is_origin(axes("tid")?)?, speak, done)?;
        b.position_at_end(speak);
        let [x, y, z] = axes("nctaid")?;
        let n_blocks = b.build_int_mul(b.build_int_mul(x, y, "")?, z, "")?;
        let rest = b.build_int_sub(self.int32((1 << 31) + 1), n_blocks, "")?;
        let part = self.select_int(is_origin(axes("ctaid")?)?, rest, self.int32(1))?;
        let address = b.build_load(self.ctx.i64_type(), self.at_byte(bounds, BOUNDS_BYTES)?, "")?.into_int_value();
        let word = b.build_int_to_ptr(address, self.ctx.ptr_type(AddressSpace::from(GLOBAL)), "")?;
        self.fence_among(c"device");
        let before = as_int(self.device_rmw(LLVMAtomicRMWBinOpAdd, word, part.into())?)?;
        b.build_unconditional_branch(wait)?;
        b.position_at_end(wait);
        let now = b.build_load(self.ctx.i32_type(), word, "")?.into_int_value();
        if let Some(load) = now.as_instruction_value() {
            let atomic = load.set_atomic_ordering(inkwell::AtomicOrdering::Monotonic);
            atomic.map_err(|error| Error::llvm("atomic load", error))?;
            self.scope_to_device(load);
        }
        let changed = b.build_and(b.build_xor(now, before, "")?, self.int32(1 << 31), "")?;
        let all_there = b.build_int_compare(IntPredicate::NE, changed, self.int32(0), "")?;
        let seen = self.block();
        b.build_conditional_branch(all_there, seen, wait)?;
        b.position_at_end(seen);
        self.fence_among(c"device");
        b.build_unconditional_branch(done)?;
        b.position_at_end(done);
        barrier(self)
    }

    fn shared_array(&mut self, inst: &Inst) -> Result<Lowered<'c>> {
        let ty = self.func.ty(inst.result());
        let (Attr::Extents(extents), Some((elem, _))) = (&inst.attr, ty.as_array()) else {
            return Err(Error::Invalid("`shared_array` without extents".into()));
        };
        let bytes = extents.iter().fold(elem.size(), |size, &n| size.saturating_mul(n));
        let name = self.func.name.clone();
        let all = fixed_bytes(self.func);
        let sm = self.device.as_ref().map_or(0, |device| device.sm);
        let block = self.block_state()?;
        let offset = block.shared_bytes.next_multiple_of(16);
        block.shared_bytes = offset.saturating_add(bytes);
        let is_asked_for = all > MAX_SHARED && !block.is_over_blocks;
        let most = if is_asked_for { most_shared(sm) } else { MAX_SHARED };
        if all > most {
            let what = if is_asked_for { "tiles" } else { "shared arrays" };
            let text =
                format!("the {what} of kernel `{name}` take {all} bytes: this GPU has {most} for those of a block");
            return Err(Error::TooLarge(text));
        }
        let base = match is_asked_for {
            true => {
                let base = self.dynamic_base()?;
                self.at_byte(base, offset)?
            }
            false => self.shared_memory(bytes, Linkage::Internal, "shared")?,
        };
        let extents = extents.iter().map(|&n| self.i64(n)).collect();
        self.contiguous(base, extents, elem)
    }

    /// Where the memory begins that the launch asks for.
    fn dynamic_base(&self) -> Result<PointerValue<'c>> {
        match self.llvm.get_global("dynamic_shared") {
            Some(global) => {
                Ok(self.builder.build_address_space_cast(global.as_pointer_value(), pointer(self.ctx), "")?)
            }
            None => self.shared_memory(0, Linkage::External, "dynamic_shared"),
        }
    }

    fn dynamic_shared(&mut self, inst: &Inst) -> Result<Lowered<'c>> {
        let ty = self.func.ty(inst.result());
        let (elem, _) = ty.as_array().ok_or_else(|| Error::Invalid(format!("{ty} is no array")))?;
        let bounds = self.block_state()?.bounds;
        let base = self.dynamic_base()?;
        let b = &self.builder;
        let offset = self.int(inst.operands[0])?;
        let all = b.build_load(self.ctx.i64_type(), self.at_byte(bounds, BOUNDS_BYTES - 8)?, "")?.into_int_value();
        let left = b.build_int_sub(all, offset, "")?;
        let is_inside = b.build_and(
            b.build_int_compare(IntPredicate::SGE, offset, self.i64(0), "")?,
            b.build_int_compare(IntPredicate::SLE, offset, all, "")?,
            "",
        )?;
        let n = b.build_int_unsigned_div(left, self.i64(elem.size()), "")?;
        let n = self.select_int(is_inside, n, self.i64(0))?;
        let base = self.moved(base, offset)?;
        self.contiguous(base, smallvec::smallvec![n], elem)
    }

    fn shared_memory(&self, bytes: u64, linkage: Linkage, name: &str) -> Result<PointerValue<'c>> {
        let ty = self.ctx.i8_type().array_type(bytes as u32);
        let global = self.llvm.add_global(ty, Some(AddressSpace::from(SHARED)), name);
        global.set_linkage(linkage);
        global.set_alignment(16);
        if linkage == Linkage::Internal {
            global.set_initializer(&BasicTypeEnum::from(ty).into_array_type().get_undef());
        }
        Ok(self.builder.build_address_space_cast(global.as_pointer_value(), pointer(self.ctx), "")?)
    }
}

/// Bytes that all shared arrays of fixed size take.
fn fixed_bytes(func: &ir::Function) -> u64 {
    let listed = func.regions.iter().flat_map(|region| &region.insts).map(|&id| func.inst(id));
    listed.filter(|inst| inst.op == Op::SharedArray).fold(0u64, |all, inst| {
        let elem = func.ty(inst.result()).as_array().map_or(0, |(elem, _)| elem.size());
        let Attr::Extents(extents) = &inst.attr else { return all };
        all.next_multiple_of(16).saturating_add(extents.iter().fold(elem, |size, &n| size.saturating_mul(n)))
    })
}
