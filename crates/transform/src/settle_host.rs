//! Settles where a kernel runs: of two ways to the same results only that for the target stays.
//!
//! ```text
//! v3: bool = on_host      ->    v3: bool = const true
//! ```

use crate::Changed;
use ir::{Attr, Const, Function, Op, Scalar};

pub fn settle_host(func: &mut Function, is_host: bool) -> Changed {
    let mut changed = false;
    for inst in func.insts.iter_mut().filter(|inst| inst.op == Op::OnHost) {
        (inst.op, inst.attr) = (Op::Const, Attr::Const(Const::int(Scalar::Bool, is_host.into())));
        changed = true;
    }
    Changed(changed)
}
