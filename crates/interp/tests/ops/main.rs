//! Every op of the table, with the edge cases that its doc string names.
//!
//! `scalar` is a table of results; the others are IR text whose comments say what calls give:
//!
//! ```text
//! ; @f(1, 2) == 3
//! ; @f(9, 0) fails 0 [9, 4]        site and values of the failure record
//! ```

mod agreement;
mod composite;
mod control;
mod launch;
mod memory;
mod scalar;

use interp::{Error, InterpValue, Program, UNCHECKED};
use ir::{Module, Op, literal, parse};
use std::collections::BTreeSet;

/// Parses and verifies.
fn module(text: &str) -> Module {
    let module = parse::parse_module(text).unwrap_or_else(|error| panic!("{error} in\n{text}"));
    ir::verify::verify(&module).unwrap_or_else(|errors| panic!("{}", ir::verify::report(&module, &errors)));
    module
}

/// Runs what the comments of `text` say.
fn check(text: &str) {
    let module = module(text);
    let program = Program::new(&module);
    let mut n_calls = 0;
    for line in text.lines().filter_map(|line| line.trim().strip_prefix("; @")) {
        let (name, rest) = line.split_once('(').expect("a call");
        let (args, expected) = rest.split_once(')').expect("a call");
        let func = module.find(name).unwrap_or_else(|| panic!("no function @{name}"));
        let args: Vec<&str> = args.split(',').map(str::trim).filter(|arg| !arg.is_empty()).collect();
        let params = &module.func(func).params;
        assert_eq!(params.len(), args.len(), "arguments of {line}");
        let args: Vec<InterpValue> = params.iter().zip(args).map(|(param, arg)| value(param.ty, arg)).collect();
        let found = match program.call(func, &args) {
            Ok(results) => format!("== {}", results.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
            Err(Error::Fault(record)) if record.site == UNCHECKED => format!("fails unchecked {:?}", record.values),
            Err(Error::Fault(record)) => format!("fails {} {:?}", record.site, record.values),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expected.trim(), "@{name} with {args:?} in\n{text}");
        n_calls += 1;
    }
    assert!(n_calls > 0, "no call in\n{text}");
}

fn value(ty: ir::Type, text: &str) -> InterpValue {
    let scalar = ty.as_scalar().unwrap_or_else(|| panic!("arguments are scalars, not {ty}"));
    InterpValue::constant(scalar, literal::parse_const(scalar, text).unwrap())
}

/// Filetests that run the ops of thread blocks, which need a launch over blocks.
const BLOCKS: &[&str] = &[
    include_str!("../../../../tests/filetests/blocks/checked.ir"),
    include_str!("../../../../tests/filetests/blocks/grid.ir"),
    include_str!("../../../../tests/filetests/blocks/program.ir"),
    include_str!("../../../../tests/filetests/blocks/reduce.ir"),
    include_str!("../../../../tests/filetests/blocks/shared.ir"),
    include_str!("../../../../tests/filetests/blocks/votes_of_a_block.ir"),
    include_str!("../../../../tests/filetests/blocks/warps.ir"),
];

/// A filetest of ops over several numbers at once.
const MASKS: &[&str] = &[include_str!("../../../../tests/filetests/run/masks.ir")];

#[test]
fn every_op_is_exercised() {
    let texts = [composite::TEXTS, control::TEXTS, memory::TEXTS, launch::TEXTS, BLOCKS, MASKS].concat();
    let mut seen: BTreeSet<Op> = scalar::ops();
    for text in texts {
        seen.extend(module(text).funcs.iter().flat_map(|func| func.insts.iter().map(|inst| inst.op)));
    }
    // What it calls is code for a GPU.
    seen.insert(Op::CallExtern);
    // Tiles are gone before anything runs: `tests/filetests/tiles`.
    let missing: Vec<&str> =
        Op::ALL.iter().filter(|op| !seen.contains(op) && !op.is_over_tiles()).map(|op| op.name()).collect();
    assert_eq!(missing, [""; 0], "ops without a test");
}
