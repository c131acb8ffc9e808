//! Arrays whose last dimension holds components, `p[i, 0]`, `p[i, 1]`, `p[i, 2]`, as arrays of vectors.
//!
//! In: a kernel whose arrays are without gaps. Out: accesses with a constant last index are to components of a vector, and
//! stores to all components of one vector are one store; and what must hold of a launch for that ([`Rows`]).
//!
//! ```text
//! v3 = load v0[v1, 0]        v9 = array_from_address (address v0), (extent v0 {0})
//! v4 = load v0[v1, 1]   ->   v3 = load v9[v1].0
//! v5 = load v0[v1, 2]        v4 = load v9[v1].1
//!                            v5 = load v9[v1].2
//! ```
//!
//! Neighboring threads are then neighbors in memory, and one wide access serves all components.

use ir::{Attr, Function, Inst, InstId, Op, PathElem, Scalar, Type, Value};

/// What a launch must keep to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// Parameters, and how long their last dimension is.
    pub lengths: Vec<(usize, u32)>,
    /// Parameters of which neither shares memory with any other array that is a parameter.
    pub apart: Vec<usize>,
}

/// Most components.
const MAX_LENGTH: i128 = 4;

/// Rewrites arrays that have an access that is wanted so.
pub fn rows_as_vectors(func: &mut Function, is_wanted: &dyn Fn(&Function, InstId) -> bool) -> Rows {
    let mut rows = Rows::default();
    let params = func.region(func.body).params.clone();
    for (index, &array) in params.iter().enumerate() {
        let Some((elem, rank)) = func.ty(array).as_array() else { continue };
        let is_plain = elem.as_scalar().is_some_and(|scalar| scalar != Scalar::Bool);
        let accesses = component_accesses(func, array, rank as usize);
        let length = accesses.iter().map(|&(_, component)| component + 1).max().unwrap_or(0);
        if rank < 2 || !is_plain || !(2..=MAX_LENGTH).contains(&length) {
            continue;
        }
        if accesses.iter().any(|&(id, _)| is_wanted(func, id)) {
            rewrite(func, array, length as u32, &accesses);
            rows.lengths.push((index, length as u32));
        }
    }
    for region in 0..func.regions.len() {
        while let Some(index) = join_stores(func, region, &params) {
            if !rows.apart.contains(&index) {
                rows.apart.push(index);
            }
        }
    }
    rows
}

/// Loads and stores of an array whose last index is a small constant, with that.
fn component_accesses(func: &Function, array: Value, rank: usize) -> Vec<(InstId, i128)> {
    let listed = func.regions.iter().flat_map(|region| &region.insts).copied();
    let component = |id: InstId| {
        let inst = func.inst(id);
        if !matches!(inst.op, Op::Load | Op::Store) || inst.operands[0] != array || !inst.path().is_empty() {
            return None;
        }
        let last = *inst.access(rank).1.last()?;
        let component = func.as_const(last)?.as_int(Scalar::I64);
        (0..MAX_LENGTH).contains(&component).then_some((id, component))
    };
    listed.filter_map(component).collect()
}

/// Makes accesses to an array ones to an array of vectors over its memory.
fn rewrite(func: &mut Function, array: Value, length: u32, accesses: &[(InstId, i128)]) {
    let Some((elem, rank)) = func.ty(array).as_array() else { return };
    let Some(scalar) = elem.as_scalar() else { return };
    let span = func.inst(accesses[0].0).span;
    let (u64, i64) = (Type::scalar(Scalar::U64), Type::i64());
    let mut added = vec![func.add_inst(Op::Address, &[array], Attr::None, &[], &[u64], span)];
    for dim in 0..rank - 1 {
        added.push(func.add_inst(Op::Extent, &[array], Attr::Index(dim), &[], &[i64], span));
    }
    let operands: Vec<Value> = added.iter().map(|&id| func.inst(id).result()).collect();
    let ty = Type::array(Type::vector(scalar, length), rank - 1);
    added.push(func.add_inst(Op::ArrayFromAddress, &operands, Attr::None, &[], &[ty], span));
    let vectors = added.last().map(|&id| func.inst(id).result());
    let body = func.body.index();
    func.regions[body].insts.splice(0..0, added);
    let Some(vectors) = vectors else { return };
    for &(id, component) in accesses {
        let inst = &mut func.insts[id.index()];
        inst.operands[0] = vectors;
        inst.operands.remove(rank as usize);
        inst.attr = Attr::Path(Box::new([PathElem::Static(component as u32)]));
    }
}

/// The component that an instruction stores, and what names its vector.
fn component_store<'f>(func: &Function, inst: &'f Inst) -> Option<(u32, &'f [Value])> {
    let (PathElem::Static(component), Op::Store) = (*inst.path().first()?, inst.op) else { return None };
    is_view(func, inst.operands[0]).then(|| (component, &inst.operands[..inst.operands.len() - 1]))
}

fn is_view(func: &Function, array: Value) -> bool {
    matches!(func.def(array), ir::ValueDef::Result(id, _) if func.inst(id).op == Op::ArrayFromAddress)
}

/// Joins the stores to all components of one vector into the last of them; gives the parameter that they are to.
fn join_stores(func: &mut Function, region: usize, params: &[Value]) -> Option<usize> {
    let insts = func.regions[region].insts.clone();
    for (first, &id) in insts.iter().enumerate() {
        let Some((_, place)) = component_store(func, func.inst(id)) else { continue };
        let length = func.ty(place[0]).as_array().map_or(0, |(elem, _)| elem.n_components());
        let Some(param) = param_of(func, place[0], params) else { continue };
        let mut stores: Vec<Option<usize>> = vec![None; length];
        for (at, &next) in insts.iter().enumerate().skip(first) {
            let inst = func.inst(next);
            match component_store(func, inst) {
                Some((component, other)) if other == place => {
                    if stores[component as usize].replace(at).is_some() {
                        break;
                    }
                    if stores.iter().all(Option::is_some) {
                        join(func, region, &stores);
                        return Some(param);
                    }
                }
                _ if passes(func, inst, param, params) => {}
                // Another component of the same vector.
                _ if inst.op == Op::Load && inst.operands[..] == *place && !stored(inst, &stores) => {}
                _ => break,
            }
        }
    }
    None
}

fn stored(load: &Inst, stores: &[Option<usize>]) -> bool {
    match load.path() {
        [PathElem::Static(component)] => stores[*component as usize].is_some(),
        _ => true,
    }
}

/// Whether a store to a parameter may move behind an instruction, where the parameter shares memory with no other.
fn passes(func: &Function, inst: &Inst, param: usize, params: &[Value]) -> bool {
    match inst.op {
        Op::Load | Op::Store => param_of(func, inst.operands[0], params).is_some_and(|other| other != param),
        op => op.is_pure(),
    }
}

/// The parameter that an array is, or is a view of vectors of.
fn param_of(func: &Function, array: Value, params: &[Value]) -> Option<usize> {
    let mut array = array;
    if is_view(func, array)
        && let ir::ValueDef::Result(id, _) = func.def(array)
        && let ir::ValueDef::Result(address, _) = func.def(func.inst(id).operands[0])
        && func.inst(address).op == Op::Address
    {
        array = func.inst(address).operands[0];
    }
    params.iter().position(|&param| param == array)
}

fn join(func: &mut Function, region: usize, stores: &[Option<usize>]) {
    let places: Vec<usize> = stores.iter().flatten().copied().collect();
    let ids: Vec<InstId> = places.iter().map(|&at| func.regions[region].insts[at]).collect();
    let parts: Vec<Value> = ids.iter().filter_map(|&id| func.inst(id).operands.last().copied()).collect();
    let (Some(&last), Some(&id)) = (places.iter().max(), ids.first()) else { return };
    let Inst { mut operands, span, .. } = func.inst(id).clone();
    let Some((ty, _)) = func.ty(operands[0]).as_array() else { return };
    let vector = func.add_inst(Op::Construct, &parts, Attr::None, &[], &[ty], span);
    operands.pop();
    operands.push(func.inst(vector).result());
    let store = func.add_inst(Op::Store, &operands, Attr::Path(Box::new([])), &[], &[], span);
    let insts = &mut func.regions[region].insts;
    insts.splice(last + 1..last + 1, [vector, store]);
    insts.retain(|id| !ids.contains(id));
}

impl Rows {
    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> (Rows, String) {
        let mut module = ir::parse::parse_module(text).unwrap_or_else(|error| panic!("{error:?}"));
        let rows = rows_as_vectors(&mut module.funcs[0], &|_, _| true);
        assert!(ir::verify::verify(&module).is_ok(), "{module}");
        (rows, module.to_string())
    }

    const STEP: &str = "kernel @step(v0: array<f32, 2>, v1: array<f32, 2>, v2: i64) {
       v3: i64 = tid 0
       v4: i64 = const 0
       v5: i64 = const 1
       v6: f32 = load v0[v3, v4]
       store v1[v3, v4], v6
       v7: f32 = load v0[v3, v5]
       store v1[v3, v5], v7
       return
     }";

    #[test]
    fn components_are_loaded_and_stored_as_vectors() {
        let (rows, text) = check(STEP);
        assert_eq!(rows, Rows { lengths: vec![(0, 2), (1, 2)], apart: vec![1] });
        let found =
            ["load v10[v3].0", "load v10[v3].1", "construct v6, v7", "store v13[v3]"].map(|part| text.find(part));
        assert!(found.iter().all(Option::is_some) && found.is_sorted(), "{text}");
        assert_eq!(text.matches("store").count(), 1, "{text}");
    }

    #[test]
    fn stores_stay_where_something_between_them_may_see_them() {
        // A load of what was stored, of another vector of the array, and through an array that is no parameter.
        for load in ["load v1[v3, v4]", "load v1[v2, v5]"] {
            let (_, text) = check(&STEP.replace("load v0[v3, v5]", load));
            assert_eq!(text.matches("store").count(), 2, "{text}");
        }
        let (rows, text) = check(&STEP.replace("load v0[v3, v5]", "load v1[v3, v5]"));
        assert_eq!((rows.apart, text.matches("store").count()), (vec![1], 1), "{text}");
    }

    #[test]
    fn indices_that_are_not_known_leave_an_array_alone() {
        let (rows, text) = check(&STEP.replace("v4: i64 = const 0", "v4: i64 = add v2, v2"));
        // What is left has two components, of which one is asked for.
        assert_eq!(rows.lengths, [(0, 2), (1, 2)]);
        assert!(text.contains("load v0[v3, v4]") && text.contains("store v1[v3, v4]"), "{text}");
    }
}
