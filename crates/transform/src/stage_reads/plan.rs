//! Which loops are staged, and how large their tiles are.

use analysis::{Lanes, Uniformity};
use ir::op::Effect;
use ir::{Function, InstId, LeafKind, Op, RegionId, Scalar, Type, Value, ValueDef};

/// Most bytes that the tiles of a warp take: eight warps of a block then have room, and blocks for each other.
pub(super) const MAX_BYTES: u64 = 4608;

/// Most bytes of an element.
const MAX_ELEM: u64 = 16;

/// Lanes whose ranges start at least so many elements apart have ranges of their own.
const MIN_STEP: i64 = 4;

/// How the ranges of a warp's lanes lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ranges {
    Common,
    Private,
}

/// What a tile holds of each round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// An element of an array.
    Array(Value),
    /// What an instruction gives, where all lanes compute the same from what they read.
    Computed(InstId),
}

/// A loop that is staged.
pub(super) struct Loop {
    pub inst: InstId,
    pub body: RegionId,
    /// The counter's type.
    pub counter: Type,
    pub ranges: Ranges,
    /// What the tiles hold, and their elements.
    pub tiles: Vec<(Source, Type)>,
    /// Instructions that a read of a tile replaces, each with the tile's number.
    pub reads: Vec<(InstId, usize)>,
    /// Instructions that nobody needs but [`Source::Computed`], in order.
    pub early: Vec<InstId>,
    /// Elements of a row of a tile.
    pub width: u64,
}

impl Loop {
    /// Bytes of shared memory that the tiles take a warp, each array's on a boundary of its own.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes_of(self.width)
    }

    fn bytes_of(&self, width: u64) -> u64 {
        let n_elements = if self.ranges == Ranges::Common { width } else { 32 * (width + 1) };
        self.tiles.iter().map(|(_, elem)| elem.size() * n_elements).sum()
    }

    /// Extents of a shared array: a tile a warp. An element more a row keeps rows apart in the memory's banks.
    pub(super) fn extents(&self, n_warps: u64) -> Vec<u64> {
        match self.ranges {
            Ranges::Common => vec![n_warps, self.width],
            Ranges::Private => vec![n_warps, 32, self.width + 1],
        }
    }
}

/// Plans a loop whose tiles may take so many bytes a warp.
pub(super) fn plan(func: &Function, uniformity: &Uniformity, id: InstId, most: u64) -> Option<Loop> {
    let inst = func.inst(id);
    if inst.op != Op::For {
        return None;
    }
    let counter = func.ty(inst.operands[0]);
    let scalar = counter.as_scalar().filter(|scalar| matches!(scalar, Scalar::I32 | Scalar::I64))?;
    let body = inst.regions[0];
    let (&end, insts) = func.region(body).insts.split_last()?;
    let counts_by_one = func.as_const(inst.operands[2]).is_some_and(|step| step.as_int(scalar) == 1);
    let is_straight = insts.iter().all(|&id| {
        let inst = func.inst(id);
        inst.regions.is_empty() && matches!(inst.op.effect(), Effect::Pure | Effect::Read)
    });
    if !counts_by_one || !is_straight || func.inst(end).op != Op::Continue {
        return None;
    }
    let (mut tiles, mut reads) = (Vec::new(), Vec::new());
    for &id in insts {
        let Some((array, elem)) = walked(func, body, id) else { continue };
        let number = tiles.iter().position(|&(known, _)| known == Source::Array(array)).unwrap_or_else(|| {
            tiles.push((Source::Array(array), elem));
            tiles.len() - 1
        });
        reads.push((id, number));
    }
    if reads.is_empty() {
        return None;
    }
    let ranges = if starts_apart(func, uniformity, inst.operands[0]) { Ranges::Private } else { Ranges::Common };
    let mut found = Loop { inst: id, body, counter, ranges, tiles, reads, early: Vec::new(), width: 0 };
    if ranges == Ranges::Common {
        compute_early(func, &mut found);
    }
    let widths = if ranges == Ranges::Common { [128, 64, 32] } else { [32, 16, 8] };
    found.width = widths.into_iter().find(|&width| found.bytes_of(width) <= most)?;
    Some(found)
}

/// Has the tiles hold what all lanes would compute from an element alone, where they get no larger by that: the lane
/// that reads it computes it for all.
fn compute_early(func: &Function, found: &mut Loop) {
    let insts = &func.region(found.body).insts;
    let mut early: Vec<InstId> = Vec::new();
    for &id in insts {
        let inst = func.inst(id);
        let is_read = found.reads.iter().any(|&(read, _)| read == id) && inst.operands.len() == 2;
        let is_early = |value: Value| matches!(func.def(value), ValueDef::Result(id, _) if early.contains(&id));
        let is_inside = |value: Value| matches!(func.def(value), ValueDef::Result(id, _) if insts.contains(&id));
        let is_known =
            |value: Value| func.as_const(value).is_some() || !is_inside(value) && is_one_for_all(func, value);
        let computes = inst.op.effect() == Effect::Pure
            && inst.op != Op::Const
            && inst.operands.iter().any(|&x| is_early(x))
            && inst.operands.iter().all(|&x| is_early(x) || is_known(x))
            && is_plain(func.ty(inst.result()));
        if is_read || computes {
            early.push(id);
        }
    }
    let is_kept = |id: InstId| {
        let results = &func.inst(id).results;
        let mut users = insts.iter().filter(|&user| !early.contains(user));
        users.any(|&user| func.inst(user).operands.iter().any(|operand| results.contains(operand)))
    };
    let (kept, early): (Vec<InstId>, Vec<InstId>) = early.iter().partition(|&&id| is_kept(id));
    let is_read = |id: InstId| found.reads.iter().any(|&(read, _)| read == id);
    let computed: Vec<InstId> = kept.into_iter().filter(|&id| !is_read(id)).collect();
    let mut tiles: Vec<(Source, Type)> = Vec::new();
    let mut reads: Vec<(InstId, usize)> = Vec::new();
    for &(id, number) in found.reads.iter().filter(|(id, _)| !early.contains(id)) {
        let tile = found.tiles[number];
        let number = tiles.iter().position(|&known| known == tile).unwrap_or_else(|| {
            tiles.push(tile);
            tiles.len() - 1
        });
        reads.push((id, number));
    }
    for id in computed {
        reads.push((id, tiles.len()));
        tiles.push((Source::Computed(id), func.ty(func.inst(id).result())));
    }
    let size = |tiles: &[(Source, Type)]| tiles.iter().map(|(_, elem)| elem.size()).sum::<u64>();
    if size(&tiles) <= size(&found.tiles) {
        (found.tiles, found.reads, found.early) = (tiles, reads, early);
    }
}

/// The array that a load reads at the loop's counter, and its elements.
fn walked(func: &Function, body: RegionId, id: InstId) -> Option<(Value, Type)> {
    let inst = func.inst(id);
    if inst.op != Op::Load {
        return None;
    }
    let array = inst.operands[0];
    let (elem, rank) = func.ty(array).as_array()?;
    let is_outside = match func.def(array) {
        ValueDef::Param(region, _) => region != body,
        ValueDef::Result(id, _) => !func.region(body).insts.contains(&id),
    };
    let fits = rank == 1 && is_plain(elem) && is_outside && is_one_for_all(func, array);
    (fits && is_counter(func, body, inst.operands[1])).then_some((array, elem))
}

/// Whether values of a type can lie in tiles.
fn is_plain(ty: Type) -> bool {
    let is_word = |kind: LeafKind| matches!(kind, LeafKind::Scalar(scalar) if scalar.size() >= 4);
    ty.size() <= MAX_ELEM && ty.leaves().iter().all(|leaf| is_word(leaf.kind))
}

/// Whether all threads have the same value, wherever in the launch they are: a warp's lanes may be of several rows.
fn is_one_for_all(func: &Function, value: Value) -> bool {
    match func.def(value) {
        ValueDef::Param(region, _) => region == func.body,
        ValueDef::Result(id, _) => {
            let inst = func.inst(id);
            let is_of_operands = inst.op.effect() == Effect::Pure && inst.op != Op::Tid && !inst.op.is_over_blocks();
            is_of_operands && inst.operands.iter().all(|&operand| is_one_for_all(func, operand))
        }
    }
}

fn is_counter(func: &Function, body: RegionId, value: Value) -> bool {
    match func.def(value) {
        ValueDef::Param(region, index) => region == body && index == 0,
        ValueDef::Result(id, _) => func.inst(id).op == Op::Cast && is_counter(func, body, func.inst(id).operands[0]),
    }
}

/// Whether the lanes of a warp start at different places: where memory says, or some elements apart.
fn starts_apart(func: &Function, uniformity: &Uniformity, value: Value) -> bool {
    if let Lanes::Affine(step) = uniformity.lanes(value)
        && step.abs() >= MIN_STEP
    {
        return true;
    }
    let ValueDef::Result(id, _) = func.def(value) else { return false };
    let inst = func.inst(id);
    match inst.op {
        Op::Load => !uniformity.is_uniform(value),
        Op::Cast | Op::Min | Op::Max | Op::Add | Op::Sub => {
            inst.operands.iter().any(|&operand| starts_apart(func, uniformity, operand))
        }
        _ => false,
    }
}
