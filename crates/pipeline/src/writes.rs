//! Which parameters of a kernel lead to memory that it writes, and which of a thread's indices it asks for.
//!
//! In: a kernel with every call inlined. Out: a flag per parameter; one that is not set is certain never to be written,
//! so that a launch may pass memory that is read-only.

use ir::{Attr, Function, Op, Value, ValueDef};
use runtime::abi::MAX_RANK;

pub(crate) fn written_params(func: &Function) -> Vec<bool> {
    let mut written = vec![false; func.params.len()];
    for region in &func.regions {
        for &inst in &region.insts {
            let inst = func.inst(inst);
            match inst.op {
                Op::Store | Op::Atomic | Op::AtomicCas => mark(func, inst.operands[0], &mut written),
                Op::Call => written.fill(true),
                _ => {}
            }
        }
    }
    written
}

/// Dimensions of the launch along which the kernel asks for a thread's index.
pub(crate) fn indexed_dimensions(func: &Function) -> [bool; MAX_RANK] {
    let mut indexed = [false; MAX_RANK];
    for inst in func.regions.iter().flat_map(|region| &region.insts) {
        if let (Op::Tid, Attr::Index(dim)) = (func.inst(*inst).op, &func.inst(*inst).attr) {
            indexed[*dim as usize] = true;
        }
    }
    indexed
}

/// Marks the parameters that an array value may come from: all of them where control flow hides its origin.
fn mark(func: &Function, array: Value, written: &mut [bool]) {
    match func.def(array) {
        ValueDef::Param(region, index) if region == func.body => written[index as usize] = true,
        ValueDef::Param(..) => written.fill(true),
        ValueDef::Result(inst, _) => {
            let inst = func.inst(inst);
            match inst.op {
                Op::Row | Op::Subarray | Op::Extract => mark(func, inst.operands[0], written),
                Op::Select => inst.operands[1..].iter().for_each(|&arm| mark(func, arm, written)),
                // Memory that no parameter's own descriptor names.
                Op::LocalArray | Op::SharedArray | Op::DynamicShared | Op::ArrayFromAddress | Op::Load => {}
                _ => written.fill(true),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ir::{Builder, FunctionKind, Param, Type};

    #[test]
    fn only_stored_arrays_are_written() {
        let param = |name: &str, rank| Param { name: name.into(), ty: Type::array(Type::f32(), rank) };
        let params = vec![param("x", 1), param("y", 2), param("z", 1)];
        let mut func = Function::new("k", FunctionKind::Kernel, params, vec![]);
        let mut b = Builder::new(&mut func);
        let (x, y) = (b.param(0), b.param(1));
        let i = b.push1(Op::Tid, &[], ir::Attr::Index(0), Type::i64());
        let value = b.load(x, &[i], &[], &[]);
        let row = b.row(y, i, 0);
        b.store(row, &[i], &[], &[], value);
        b.ret(&[]);
        assert_eq!(written_params(&func), [false, true, false]);
        assert_eq!(indexed_dimensions(&func), [true, false, false, false]);
    }
}
