//! Tiles that control flow carries: each has an array of its own, which the ways that lead on fill.

use super::{Rep, Tiles};
use ir::{Inst, InstId, Op, RegionId, Value};

/// An `if` or a loop around the walk.
pub(super) struct Loop {
    is_loop: bool,
    /// Of an `if`, by result: the tile from around it that lies in the result's array, for the arms to change.
    inputs: Vec<Option<Value>>,
    /// By result: the array of a tile.
    results: Vec<Option<Value>>,
    /// By carried value: the array of a tile.
    params: Vec<Option<Value>>,
}

impl Loop {
    /// Whether an array holds what is carried.
    pub(super) fn keeps(&self, array: Value) -> bool {
        self.results.iter().chain(&self.params).flatten().any(|&kept| kept == array)
    }
}

impl Tiles<'_> {
    pub(super) fn control(&mut self, id: InstId) {
        let inst = self.func.inst(id).clone();
        match inst.op {
            Op::If => self.branch(id, &inst),
            Op::For | Op::Loop => self.repeat(id, &inst),
            _ => self.jump(id, &inst),
        }
    }

    fn is_tile(&self, value: Value) -> bool {
        self.func.ty(value).as_tile().is_some()
    }

    fn arrays(&mut self, values: &[Value]) -> Vec<Option<Value>> {
        let types: Vec<_> = values.iter().map(|&value| self.func.ty(value)).collect();
        types.into_iter().map(|ty| ty.as_tile().map(|_| self.array(ty))).collect()
    }

    /// Lists an instruction after its regions were walked, without the tiles among its operands and results.
    fn list(&mut self, id: InstId) {
        let tiles = |values: &[Value], of: &Self| -> Vec<Value> {
            values.iter().copied().filter(|&value| !of.is_tile(value)).collect()
        };
        let (operands, results) = (self.func.inst(id).operands.clone(), self.func.inst(id).results.clone());
        let (operands, results) = (tiles(&operands, self), tiles(&results, self));
        let inst = &mut self.func.insts[id.index()];
        inst.operands = operands.into();
        inst.results = results.into();
        for (number, value) in self.func.insts[id.index()].results.clone().into_iter().enumerate() {
            self.func.values[value.index()].def = ir::ValueDef::Result(id, number as u32);
        }
        self.func.regions[self.region.index()].insts.push(id);
    }

    fn settle(&mut self, results: &[Value], arrays: &[Option<Value>]) {
        for (&result, array) in results.iter().zip(arrays) {
            if let Some(array) = *array {
                self.reps.insert(result, Rep::Memory(array));
            }
        }
    }

    fn branch(&mut self, id: InstId, inst: &Inst) {
        let mut inputs = self.inputs(inst);
        let mut results: Vec<Option<Value>> = vec![None; inst.results.len()];
        for (at, &input) in inputs.iter().enumerate() {
            if let Some(input) = input {
                results[at] = Some(match self.reps.get(&input) {
                    Some(&Rep::Memory(array))
                        if self.plan.dies_at(input, self.region, self.at)
                            && !self.is_aliased(input, array)
                            && !results.contains(&Some(array)) =>
                    {
                        array
                    }
                    _ => {
                        let array = self.array(self.func.ty(input));
                        self.compute_into(array, input);
                        array
                    }
                });
            }
        }
        self.operands_in_memory(id);
        for (array, &result) in results.iter_mut().zip(&inst.results) {
            if array.is_none() && self.is_tile(result) {
                *array = Some(self.array(self.func.ty(result)));
            }
        }
        let mut outer = Vec::new();
        for (&input, &array) in inputs.iter().zip(&results) {
            if let (Some(input), Some(array)) = (input, array) {
                outer.push((input, self.reps.insert(input, Rep::Memory(array))));
            }
        }
        for &arm in &inst.regions {
            let params = Vec::new();
            self.loops.push(Loop { is_loop: false, results: results.clone(), params, inputs: inputs.clone() });
            self.region(arm);
            self.loops.pop();
        }
        inputs.clear();
        for (input, rep) in outer {
            match rep {
                Some(rep) => self.reps.insert(input, rep),
                None => self.reps.remove(&input),
            };
        }
        self.list(id);
        self.settle(&inst.results, &results);
    }

    /// By result: a tile that one arm gives as it was before. Where several threads share tiles, that one's array takes
    /// the result: only some of the threads may come to an arm, which then cannot copy tiles.
    fn inputs(&self, inst: &Inst) -> Vec<Option<Value>> {
        let mut inputs = vec![None; inst.results.len()];
        if !self.by_element {
            return inputs;
        }
        for &arm in &inst.regions {
            let Some(end) = self.func.terminator(arm).map(|end| self.func.inst(end)) else { continue };
            for (at, &value) in end.operands.iter().enumerate().filter(|_| end.op == Op::Yield) {
                let is_from_around = self.is_tile(value) && self.plan.is_defined_outside(value, arm);
                if is_from_around && !inputs.contains(&Some(value)) {
                    inputs[at].get_or_insert(value);
                }
            }
        }
        inputs
    }

    /// The array of a result that holds a tile from around an `if`, where the arm at hand does not need that later.
    pub(super) fn input_array(&self, tile: Value) -> Option<Value> {
        let frame = self.loops.last()?;
        let at = frame.inputs.iter().position(|&input| input == Some(tile))?;
        frame.results[at].filter(|_| self.plan.last_in(tile, self.region) == Some(self.at))
    }

    fn repeat(&mut self, id: InstId, inst: &Inst) {
        let n_bounds = if inst.op == Op::For { 3 } else { 0 };
        let body = inst.regions[0];
        let all = self.func.region(body).params.to_vec();
        let carried = &all[usize::from(inst.op == Op::For)..];
        let initial = &inst.operands[n_bounds..];
        let mut params = Vec::new();
        for &value in initial {
            params.push(self.is_tile(value).then(|| self.own_copy(id, value, &params)));
        }
        self.operands_in_memory(id);
        for (&param, array) in carried.iter().zip(&params) {
            if let Some(array) = *array {
                self.reps.insert(param, Rep::Memory(array));
            }
        }
        let results = if inst.op == Op::For { params.clone() } else { self.arrays(&inst.results) };
        self.loops.push(Loop { is_loop: true, results: results.clone(), params: params.clone(), inputs: Vec::new() });
        self.region(body);
        self.loops.pop();
        self.drop_params(body);
        self.list(id);
        self.settle(&inst.results, &results);
        if inst.op == Op::Loop {
            self.free.extend(params.into_iter().flatten());
        }
    }

    /// An array that holds a tile and is a loop's from here on.
    fn own_copy(&mut self, id: InstId, tile: Value, taken: &[Option<Value>]) -> Value {
        if !self.plan.needed_in(id).contains(&tile) {
            let array = self.changed(tile, &[]);
            if !taken.contains(&Some(array)) {
                return array;
            }
        }
        let array = self.array(self.func.ty(tile));
        self.compute_into(array, tile);
        array
    }

    /// What regions use from around them is computed before.
    fn operands_in_memory(&mut self, id: InstId) {
        for tile in self.plan.needed_in(id) {
            let is_costly = |this: &Self| match this.reps.get(&tile) {
                Some(&Rep::Lazy(made)) => {
                    !matches!(this.func.inst(made).op, Op::TileFill | Op::TileIndex | Op::TileView)
                }
                _ => false,
            };
            if is_costly(self) {
                self.in_memory(tile);
            }
        }
    }

    fn drop_params(&mut self, region: RegionId) {
        let params = self.func.region(region).params.to_vec();
        let kept: Vec<Value> = params.into_iter().filter(|&param| !self.is_tile(param)).collect();
        for (number, param) in kept.iter().enumerate() {
            self.func.values[param.index()].def = ir::ValueDef::Param(region, number as u32);
        }
        self.func.regions[region.index()].params = kept;
    }

    fn jump(&mut self, id: InstId, inst: &Inst) {
        let target = match inst.op {
            Op::Yield => self.loops.last(),
            _ => self.loops.iter().rev().find(|found| found.is_loop),
        };
        let places = target.map(|target| if inst.op == Op::Continue { &target.params } else { &target.results });
        let places = places.cloned().unwrap_or_default();
        let mut moves: Vec<(Value, Value)> = Vec::new();
        for (&value, place) in inst.operands.iter().zip(places) {
            let Some(place) = place else { continue };
            if !matches!(self.rep(value), Rep::Memory(array) if array == place) {
                moves.push((place, value));
            }
        }
        // All at once: none may read what another one wrote.
        let mut staged = Vec::new();
        for (i, &(_, value)) in moves.iter().enumerate() {
            let mut read = Vec::new();
            self.collect_reads(value, true, &mut read);
            let is_written = read.iter().any(|&(found, _)| match self.rep(found) {
                Rep::Memory(array) => moves.iter().enumerate().any(|(j, &(place, _))| j != i && place == array),
                Rep::Lazy(_) => false,
            });
            let is_mixed = read.iter().any(|&(found, is_own)| {
                !is_own && matches!(self.rep(found), Rep::Memory(array) if array == moves[i].0)
            });
            if is_written || is_mixed {
                let array = self.array(self.func.ty(value));
                self.compute_into(array, value);
                staged.push((value, array));
            }
        }
        for (value, array) in &staged {
            self.reps.insert(*value, Rep::Memory(*array));
        }
        for (place, value) in moves {
            self.compute_into(place, value);
        }
        self.free.extend(staged.into_iter().map(|(_, array)| array));
        self.list(id);
    }
}
