//! Loops whose reads a warp of a GPU does together, by way of shared memory.
//!
//! In: a kernel over threads, and how many warps a block may have. Out: the same with ops over blocks, for GPUs only.
//! Where a loop reads `a[j]` for j from lo to hi, the warp reads a tile of `a` at a time, neighbor by neighbor, puts it
//! into shared memory and runs the rounds from there. All lanes of a warp may walk over one range, as a body over all
//! others; then the tile is a row that all read. Or each lane has a range of its own, as in sums over segments; then a
//! tile has a row a lane.
//!
//! ```text
//! for j = lo to hi step 1 { … load a[j] … }
//! ->  if all lanes are here, and their ranges fit {
//!       for base = 0 to the longest range step 32 {
//!         warp_barrier; store tile[…], load a[…] …; warp_barrier
//!         for t = 0 to min(hi - lo - base, 32) step 1 { … load tile[lane, t] … }
//!       }
//!     } else { the loop as it was }
//! ```
//!
//! What all lanes would compute from an element alone is computed once, by the lane that reads it, and the tile holds that.
//!
//! Each lane runs its rounds in their order. What is read early is what the round would read: the loop writes nothing,
//! and another thread that writes there in the meantime races with it either way. Loops in branches are left alone,
//! because not all lanes may be there, but for those of a guard, `if i < n`, which most warps enter as a whole.

mod emit;
mod plan;

use crate::Changed;
use crate::copy::Copies;
use crate::replace::Replacements;
use analysis::{Lanes, Uniformity};
use emit::Emit;
use ir::op::VoteMode;
use ir::{Function, InstId, Op, RegionId, Scalar, Type, Value, ValueDef};
use plan::{Loop, MAX_BYTES, Ranges, Source, plan};

/// Rounds below which a loop is run as it was: a tile is not worth its barriers.
const MIN_ROUNDS: i128 = 16;

/// Stages the loops that lie in the kernel's body itself, or in a guard. `dim` is the launch's last dimension.
pub fn stage_reads(func: &mut Function, dim: u32, n_warps: u64) -> Changed {
    let mut replacements = Replacements::default();
    let uniformity = analysis::uniformity(func, dim);
    let mut changed = false;
    // Tiles lie beside each other.
    let mut bytes = MAX_BYTES;
    for region in [vec![func.body], guarded(func, &uniformity)].concat() {
        let insts = std::mem::take(&mut func.regions[region.index()].insts);
        let mut out = Vec::with_capacity(insts.len());
        for id in insts {
            match plan(func, &uniformity, id, bytes) {
                Some(found) => {
                    bytes -= found.bytes();
                    stage(func, &found, n_warps, &mut out, &mut replacements);
                    changed = true;
                }
                None => out.push(id),
            }
        }
        func.regions[region.index()].insts = out;
    }
    replacements.apply(func);
    Changed(changed)
}

/// What the kernel's guards hold: branches of its body that compare the thread's index with what is the same for all.
fn guarded(func: &Function, uniformity: &Uniformity) -> Vec<RegionId> {
    let is_guard = |id: InstId| {
        let inst = func.inst(id);
        let ValueDef::Result(condition, _) = func.def(*inst.operands.first()?) else { return None };
        let condition = func.inst(condition);
        let [x, y] = condition.operands[..] else { return None };
        let is_order = matches!(condition.op, Op::Lt | Op::Le | Op::Gt | Op::Ge);
        let lanes = [uniformity.lanes(x), uniformity.lanes(y)];
        let is_index = matches!(lanes, [Lanes::Affine(_), Lanes::Uniform] | [Lanes::Uniform, Lanes::Affine(_)]);
        // A constant is less than a warp, as a rule.
        let is_size = [x, y].iter().all(|&value| func.as_const(value).is_none());
        let is_guard = inst.op == Op::If && inst.results.is_empty() && is_order && is_index && is_size;
        is_guard.then(|| inst.regions.to_vec())
    };
    func.region(func.body).insts.iter().filter_map(|&id| is_guard(id)).flatten().collect()
}

fn stage(func: &mut Function, found: &Loop, n_warps: u64, out: &mut Vec<InstId>, replacements: &mut Replacements) {
    let inst = func.inst(found.inst).clone();
    let types: Vec<Type> = inst.results.iter().map(|&value| func.ty(value)).collect();
    let mut e = Emit::new(func, inst.span, found.counter);
    let (lo, hi) = (inst.operands[0], inst.operands[1]);
    let everyone = e.word(u32::MAX);
    let here = e.add(Op::ActiveMask, &[], Type::scalar(Scalar::U32));
    let all_here = e.add(Op::Eq, &[here, everyone], Type::bool());
    let [zero, one] = [0, 1].map(|number| e.number(number));
    let is_any = e.add(Op::Gt, &[hi, lo], Type::bool());
    let distance = e.binary(Op::Sub, hi, lo);
    let n = e.add(Op::Select, &[is_any, distance, zero], found.counter);
    let test = e.region(|e| {
        let fits = fits(e, found, everyone, [lo, hi, n]);
        e.end(Op::Yield, &[fits]);
    });
    let other = e.region(|e| {
        let no = e.flag(false);
        e.end(Op::Yield, &[no]);
    });
    let is_staged = e.push(Op::If, &[all_here], &[test, other], &[Type::bool()])[0];
    let staged = e.region(|e| {
        let results = tiles(e, found, n_warps, everyone, [lo, n, one], &inst.operands[3..], &types);
        e.end(Op::Yield, &results);
    });
    let plain = e.region(|e| {
        let body = Copies::default().region(e.func, inst.regions[0]);
        let results = e.push(Op::For, &inst.operands, &[body], &types);
        e.end(Op::Yield, &results);
    });
    let results = e.push(Op::If, &[is_staged], &[staged, plain], &types);
    out.extend(e.finish());
    for (&result, by) in inst.results.iter().zip(results) {
        replacements.set(result, by);
    }
}

/// Whether the ranges of a warp are as the tile needs them.
fn fits(e: &mut Emit, found: &Loop, everyone: Value, [lo, hi, n]: [Value; 3]) -> Value {
    let (zero, least) = (e.number(0), e.number(MIN_ROUNDS));
    let [first_lo, first_hi] = [lo, hi].map(|x| e.of_lane(everyone, x, None));
    let (same_lo, same_hi) =
        (e.add(Op::Eq, &[lo, first_lo], Type::bool()), e.add(Op::Eq, &[hi, first_hi], Type::bool()));
    let same = e.binary(Op::And, same_lo, same_hi);
    // The distance may have left its type.
    let is_counted = e.add(Op::Ge, &[n, zero], Type::bool());
    match found.ranges {
        Ranges::Common => {
            let is_long = e.add(Op::Ge, &[n, least], Type::bool());
            let fits = e.binary(Op::And, same, is_long);
            e.vote(VoteMode::All, everyone, fits)
        }
        Ranges::Private => {
            let all_same = e.vote(VoteMode::All, everyone, same);
            let differ = e.add(Op::Not, &[all_same], Type::bool());
            let counted = e.vote(VoteMode::All, everyone, is_counted);
            let is_long = e.add(Op::Ge, &[n, least], Type::bool());
            let any_long = e.vote(VoteMode::Any, everyone, is_long);
            let fits = e.binary(Op::And, differ, counted);
            e.binary(Op::And, fits, any_long)
        }
    }
}

/// The loop over tiles; gives what the loop carried to its end.
fn tiles(
    e: &mut Emit,
    found: &Loop,
    n_warps: u64,
    everyone: Value,
    [lo, n, one]: [Value; 3],
    initial: &[Value],
    types: &[Type],
) -> Vec<Value> {
    let warp = e.warp_number();
    let lane = e.add(Op::LaneId, &[], Type::i32());
    let lane_index = e.cast(lane, Type::i64());
    let shared: Vec<Value> =
        found.tiles.iter().map(|&(_, elem)| e.shared_array(elem, &found.extents(n_warps))).collect();
    let longest = match found.ranges {
        Ranges::Common => n,
        Ranges::Private => e.largest(everyone, n),
    };
    let (zero, width) = (e.number(0), e.number(found.width as i128));
    let safe = match found.ranges {
        Ranges::Common => None,
        Ranges::Private => Some(e.nonempty_start(everyone, lo, n)),
    };
    let param_types = [&[found.counter], types].concat();
    let body = e.region_with(&param_types, |e, params| {
        let (base, carried) = (params[0], &params[1..]);
        e.effect(Op::WarpBarrier, &[everyone]);
        match safe {
            None => copy_row(e, found, &shared, [lo, n, base, warp, lane_index]),
            Some(safe) => {
                for (&(source, elem), &tile) in found.tiles.iter().zip(&shared) {
                    if let Source::Array(array) = source {
                        copy_rows(e, found, [array, tile], elem, everyone, [lo, n, base, warp, lane, safe]);
                    }
                }
            }
        }
        e.effect(Op::WarpBarrier, &[everyone]);
        let left = e.binary(Op::Sub, n, base);
        let end = e.binary(Op::Min, left, width);
        let start = e.binary(Op::Add, lo, base);
        let place = match found.ranges {
            Ranges::Common => vec![warp],
            Ranges::Private => vec![warp, lane_index],
        };
        let rounds = e.region_with(&param_types, |e, params| rounds(e, found, &shared, &place, start, params));
        let operands = [&[zero, end, one], carried].concat();
        let next = e.push(Op::For, &operands, &[rounds], types);
        e.end(Op::Continue, &next);
    });
    let operands = [&[zero, longest, width], initial].concat();
    e.push(Op::For, &operands, &[body], types)
}

/// A row of each tile that all lanes read: each copies every 32nd element, or what is computed from it.
fn copy_row(e: &mut Emit, found: &Loop, tiles: &[Value], place: [Value; 5]) {
    let [lo, n, base, warp, lane] = place;
    let (counter, last) = (found.counter, e.number(1));
    let last = e.binary(Op::Sub, n, last);
    let mut copied = Vec::new();
    for part in 0..found.width / 32 {
        let first = e.index(32 * part as i128);
        let at = e.binary(Op::Add, lane, first);
        // Past the end the last element is read again; nobody looks at it.
        let narrow = e.cast(at, counter);
        let round = e.binary(Op::Add, base, narrow);
        let round = e.binary(Op::Min, round, last);
        let index = e.binary(Op::Add, lo, round);
        let index = e.cast(index, Type::i64());
        let mut copies = Copies::default();
        for &id in &found.early {
            read_at(e, &mut copies, id, index);
        }
        for (&(source, elem), &tile) in found.tiles.iter().zip(tiles) {
            let x = match source {
                Source::Array(array) => e.load(array, &[index], elem),
                Source::Computed(id) => read_at(e, &mut copies, id, index),
            };
            copied.push((tile, at, x));
        }
    }
    for (tile, at, x) in copied {
        e.store(tile, &[warp, at], x);
    }
}

/// Copies an instruction that reads an element, or computes from such.
fn read_at(e: &mut Emit, copies: &mut Copies, id: InstId, index: Value) -> Value {
    let consts: Vec<Value> = e.func.inst(id).operands.iter().copied().filter(|&x| copies.get(x) == x).collect();
    for value in consts {
        copies.set(value, e.again(value));
    }
    let copy = copies.inst(e.func, id);
    if e.func.inst(id).op == Op::Load {
        e.func.insts[copy.index()].operands[1] = index;
    }
    e.list(copy);
    e.func.inst(copy).result()
}

/// A row a lane: as many rows at a time as a warp has lanes for.
fn copy_rows(
    e: &mut Emit,
    found: &Loop,
    [array, tile]: [Value; 2],
    elem: Type,
    everyone: Value,
    [lo, n, base, warp, lane, safe]: [Value; 6],
) {
    let width = found.width as i128;
    let (shift, low) = (e.number32(i128::from(width.trailing_zeros())), e.number32(width - 1));
    let (above, column) = (e.binary(Op::Shr, lane, shift), e.binary(Op::And, lane, low));
    let (column_index, column) = (e.cast(column, Type::i64()), e.cast(column, found.counter));
    let round = e.binary(Op::Add, base, column);
    // Reads of eight rows before they are stored, so that they are on their way together.
    for first in (0..width).step_by(8) {
        let mut copied = Vec::new();
        for step in first..width.min(first + 8) {
            let start = e.number32(step * (32 / width));
            let row = e.binary(Op::Add, above, start);
            let (row_lo, row_n) = (e.of_lane(everyone, lo, Some(row)), e.of_lane(everyone, n, Some(row)));
            let is_inside = e.add(Op::Lt, &[round, row_n], Type::bool());
            let index = e.binary(Op::Add, row_lo, round);
            // Past a row's end some element that is there is read; nobody looks at it.
            let index = e.add(Op::Select, &[is_inside, index, safe], found.counter);
            let index = e.cast(index, Type::i64());
            let row = e.cast(row, Type::i64());
            copied.push((row, e.load(array, &[index], elem)));
        }
        for (row, x) in copied {
            e.store(tile, &[warp, row, column_index], x);
        }
    }
}

/// The body with its reads from the tile. `params`: the number of the round in the tile, and what is carried.
fn rounds(e: &mut Emit, found: &Loop, shared: &[Value], place: &[Value], start: Value, params: &[Value]) {
    let region = e.func.region(found.body).clone();
    let at = e.cast(params[0], Type::i64());
    let counter = e.binary(Op::Add, start, params[0]);
    let mut copies = Copies::default();
    copies.set(region.params[0], counter);
    for (&param, &value) in region.params[1..].iter().zip(&params[1..]) {
        copies.set(param, value);
    }
    let Some((&end, insts)) = region.insts.split_last() else { return };
    for &id in insts.iter().filter(|id| !found.early.contains(id)) {
        let tile = found.reads.iter().find(|(read, _)| *read == id).map(|&(_, number)| number);
        if let Some((Source::Computed(_), elem)) = tile.map(|number| found.tiles[number]) {
            let indices = [place, &[at]].concat();
            let x = e.load(shared[tile.unwrap_or(0)], &indices, elem);
            copies.set(e.func.inst(id).result(), x);
            continue;
        }
        let copy = copies.inst(e.func, id);
        if let Some(number) = tile {
            let inst = &mut e.func.insts[copy.index()];
            // Array and index go; what the path asks for stays.
            let path = inst.operands[2..].to_vec();
            inst.operands = [&[shared[number]], place, &[at], &path[..]].concat().into();
        }
        e.list(copy);
    }
    let next = copies.all(&e.func.inst(end).operands.clone());
    e.end(Op::Continue, &next);
}
