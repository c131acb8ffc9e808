//! Adjoints of loads, stores and atomics: the same access to the adjoint array beside the array.
//!
//! | primal | adjoint |
//! | --- | --- |
//! | x = a[i] | da[i] += dx, atomically: other threads may read the same element |
//! | a[i] = x | dx += da[i]; da[i] = 0: what was there before does not matter any more |
//! | a[i] += x | dx += da[i] |
//! | a[i] = max(a[i], x) | the thread whose x is what the element holds in the end takes da[i] |

use crate::memory::{Root, element, roots};
use crate::sweep::Sweep;
use crate::tangent::{components, has_arrays, has_floats, zero};
use ir::{AtomicOp, Attr, Builder, Inst, InstId, Op, PathElem, Type, TypeKind, Value, ValueDef};

/// A place in an array: indices, and the path to a piece of the element.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    array: Value,
    indices: Vec<Value>,
    path: Vec<PathElem>,
    path_indices: Vec<Value>,
    ty: Type,
}

impl Place {
    pub(crate) fn element(array: Value, index: Value, ty: Type) -> Place {
        Place { array, indices: vec![index], path: Vec::new(), path_indices: Vec::new(), ty }
    }

    pub(crate) fn part(&self, index: u32, ty: Type) -> Place {
        let mut part = self.clone();
        part.path.push(PathElem::Static(index));
        part.ty = ty;
        part
    }

    /// Its float components, where it is a struct or a tuple.
    fn parts(&self) -> Option<Vec<(u32, Place)>> {
        if !matches!(self.ty.kind(), TypeKind::Struct(_) | TypeKind::Tuple(_)) {
            return None;
        }
        let parts = (0u32..).zip(components(self.ty)).filter(|(_, ty)| has_floats(*ty));
        Some(parts.map(|(index, ty)| (index, self.part(index, ty))).collect())
    }

    pub(crate) fn load(&self, b: &mut Builder<'_>) -> Value {
        match self.parts() {
            None => b.load(self.array, &self.indices, &self.path, &self.path_indices),
            Some(parts) => {
                let whole = zero(b, self.ty);
                parts.into_iter().fold(whole, |whole, (index, part)| {
                    let value = part.load(b);
                    b.insert(whole, value, index)
                })
            }
        }
    }

    fn clear(&self, b: &mut Builder<'_>) {
        match self.parts() {
            None => {
                let zero = zero(b, self.ty);
                b.store(self.array, &self.indices, &self.path, &self.path_indices, zero);
            }
            Some(parts) => parts.iter().for_each(|(_, part)| part.clear(b)),
        }
    }

    /// Puts a value in the place, and gives what was there.
    pub(crate) fn exchange(&self, b: &mut Builder<'_>, value: Value) -> Value {
        b.atomic(AtomicOp::Exchange, self.array, &self.indices, &self.path, &self.path_indices, value)
    }

    /// Adds to the place, atomically.
    pub(crate) fn add(&self, b: &mut Builder<'_>, d: Value) {
        match self.parts() {
            None => {
                b.atomic(AtomicOp::Add, self.array, &self.indices, &self.path, &self.path_indices, d);
            }
            Some(parts) => {
                for (index, part) in parts {
                    let d = b.extract(d, index);
                    part.add(b, d);
                }
            }
        }
    }
}

impl Sweep<'_> {
    pub(crate) fn reverse_access(&mut self, id: InstId, inst: &Inst) {
        let elem = element(self.primal, inst.operands[0]);
        let Some((ty, _)) = ir::path::walk(elem, inst.path()) else { return };
        let d_result = inst.results.first().and_then(|v| self.adjoints[v.index()].take());
        if !has_floats(ty) {
            return;
        }
        let Some(array) = self.adjoint_array(inst) else { return self.refuse_nested(inst) };
        let Some(access) = ir::path::split(inst, self.primal.ty(inst.operands[0])) else { return };
        let place = Place {
            array,
            indices: self.all(access.indices),
            path: inst.path().to_vec(),
            path_indices: self.all(access.path_indices),
            ty,
        };
        if has_arrays(ty) && inst.op != Op::Load {
            return self
                .refuse(inst, "the gradient of an array that is stored in an array is not known")
                .help("pass the arrays as arguments of the kernel");
        }
        if self.brings_adjoint(inst.operands[0]) {
            return self.reverse_access_by_id(inst, &place, d_result);
        }
        match (inst.op, &inst.attr) {
            (Op::Load, _) => {
                if let Some(d) = d_result {
                    place.add(&mut self.b, d);
                }
            }
            (Op::Store, _) => {
                let d = self.in_first_thread(id, ty, |sweep| {
                    let d = place.load(&mut sweep.b);
                    place.clear(&mut sweep.b);
                    d
                });
                self.accumulate(access.rest[0], d);
            }
            (Op::Atomic, &Attr::Atomic(op, _)) => {
                if d_result.is_some() {
                    return self
                        .refuse(inst, "the value that an atomic operation gives depends on the order of the threads")
                        .help("a gradient can flow through what is added, not through what was there before");
                }
                let primal = Place { array: self.value(access.array), ..place.clone() };
                self.reverse_atomic(inst, op, &primal, &place, access.rest[0]);
            }
            _ => {
                self.refuse(inst, "`atomic_cas` of floats has no gradient")
                    .help("use `atomic_add`, `atomic_min` or `atomic_max`");
            }
        }
    }

    fn brings_adjoint(&self, array: Value) -> bool {
        roots(self.primal, array).contains(&Root::WithAdjoint)
    }

    /// Of an array that a kernel finds by an object's id: only a run tells whether its adjoint has memory.
    fn reverse_access_by_id(&mut self, inst: &Inst, place: &Place, d_result: Option<Value>) {
        if inst.op != Op::Load {
            self.refuse(inst, "the gradient of what is written to an array of an object is not known")
                .help("pass the array as an argument of the kernel");
            return;
        }
        let Some(d) = d_result else { return };
        let is_null = self.b.push1(Op::IsNull, &[place.array], Attr::None, Type::bool());
        let (absent, present) = (self.b.func.add_region(&[]), self.b.func.add_region(&[]));
        let here = self.b.enter(absent);
        self.b.yield_(&[]);
        self.b.enter(present);
        place.add(&mut self.b, d);
        self.b.yield_(&[]);
        self.b.enter(here);
        self.b.push(Op::If, &[is_null], Attr::None, &[absent, present], &[]);
    }

    /// An array that is itself part of an array's element has its adjoint nowhere that the kernel could find it.
    fn refuse_nested(&mut self, inst: &Inst) {
        let is_nested = roots(self.primal, inst.operands[0]).contains(&Root::Unknown);
        let matters = match (inst.op, inst.results.first(), inst.operands.last()) {
            (Op::Load, Some(&result), _) => self.is_loaded(inst.operands[0]) && self.activity.is_useful[result.index()],
            (_, _, Some(&value)) => self.activity.varies[value.index()],
            _ => false,
        };
        if is_nested && matters {
            self.refuse(inst, "the gradient of an array that is part of an array's element is not known")
                .help("pass the array as an argument of the kernel, or in a struct that is one");
        }
    }

    /// Whether an array value was loaded from memory.
    fn is_loaded(&self, array: Value) -> bool {
        let ValueDef::Result(id, _) = self.primal.def(array) else { return false };
        let inst = self.primal.inst(id);
        match inst.op {
            Op::Load => true,
            Op::Row | Op::Subarray | Op::Extract => self.is_loaded(inst.operands[0]),
            _ => false,
        }
    }

    fn reverse_atomic(&mut self, inst: &Inst, op: AtomicOp, primal: &Place, place: &Place, value: Value) {
        match op {
            AtomicOp::Add => {
                let d = place.load(&mut self.b);
                self.accumulate(value, d);
            }
            AtomicOp::Sub => {
                let d = place.load(&mut self.b);
                let d = self.b.unary(Op::Neg, d);
                self.accumulate(value, d);
            }
            AtomicOp::Min | AtomicOp::Max => self.reverse_extreme(inst, primal, place, value),
            _ => {
                self.refuse(inst, format!("`atomic_{}` of floats has no gradient", op.name()))
                    .help("use `atomic_add`, `atomic_min` or `atomic_max`");
            }
        }
    }
}
