//! Paths from an array element to a piece of it: what a step leads to and how many operands it takes.

use crate::func::{Inst, PathElem, Value};
use crate::types::{Type, TypeKind};

/// The type that one step leads to, and how many index operands the step takes. `None` where there is no such piece.
pub fn step(ty: Type, step: PathElem) -> Option<(Type, usize)> {
    match step {
        PathElem::Static(index) => Some((ty.component(index as usize)?, 0)),
        PathElem::Dynamic => match ty.kind() {
            TypeKind::Matrix { elem, .. } => Some((Type::scalar(*elem), 2)),
            TypeKind::Vector { elem, .. } | TypeKind::Quat(elem) | TypeKind::Transform(elem) => {
                Some((Type::scalar(*elem), 1))
            }
            _ => None,
        },
    }
}

/// The type that a path leads to, and how many index operands its steps take.
pub fn walk(elem: Type, path: &[PathElem]) -> Option<(Type, usize)> {
    path.iter().try_fold((elem, 0), |(ty, n), &elem| step(ty, elem).map(|(ty, more)| (ty, n + more)))
}

/// A memory op's operands, told apart.
#[derive(Clone, Copy, Debug)]
pub struct Access<'a> {
    pub array: Value,
    pub indices: &'a [Value],
    pub path_indices: &'a [Value],
    /// The value of `store` and `atomic`; expected and new value of `atomic_cas`.
    pub rest: &'a [Value],
}

/// Splits the operands of a memory op over an array of type `array`. `None` where their number does not fit.
pub fn split(inst: &Inst, array: Type) -> Option<Access<'_>> {
    use crate::op::Op;
    let n_rest = match inst.op {
        Op::Store | Op::Atomic => 1,
        Op::AtomicCas => 2,
        _ => 0,
    };
    let (elem, rank) = array.as_array()?;
    let (_, n_path) = walk(elem, inst.path())?;
    let (&array, operands) = inst.operands.split_first()?;
    if operands.len() != rank as usize + n_path + n_rest {
        return None;
    }
    let (indices, operands) = operands.split_at(rank as usize);
    let (path_indices, rest) = operands.split_at(n_path);
    Some(Access { array, indices, path_indices, rest })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Scalar;

    #[test]
    fn a_dynamic_step_into_a_matrix_takes_row_and_column() {
        let ty = Type::structure("S", vec![("m".into(), Type::matrix(Scalar::F32, 2, 3))]);
        assert_eq!(walk(ty, &[PathElem::Static(0), PathElem::Dynamic]), Some((Type::f32(), 2)));
        assert_eq!(walk(ty, &[PathElem::Dynamic]), None);
        assert_eq!(walk(ty, &[PathElem::Static(0), PathElem::Static(6)]), None);
    }
}
