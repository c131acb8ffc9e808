//! `transform::sum_in_blocks` keeps what a kernel over threads leaves in its arrays, whatever grid it runs as.

use gridstride_filetests::run::Run;
use ir::{FunctionKind, Module, Op, parse, verify};

/// The kernel `@k` with all its arrays summed up in blocks, as a kernel over blocks: it is launched over the extents of
/// its first array.
fn summed(written: &Module, rank: u32) -> Module {
    let mut module = written.clone();
    let func = &mut module.funcs[0];
    let changed = transform::sum_in_blocks(func, rank, u64::MAX);
    assert!(changed.0, "{written}");
    over_blocks(module)
}

/// A kernel over threads as one over blocks, launched over the extents of its first array.
pub(crate) fn over_blocks(mut module: Module) -> Module {
    let func = &mut module.funcs[0];
    func.kind = FunctionKind::BlockKernel;
    let first = func.region(func.body).params[0];
    for inst in func.insts.iter_mut().filter(|inst| inst.op == Op::LaunchExtent) {
        inst.op = Op::Extent;
        inst.operands = [first].into_iter().collect();
    }
    if let Err(errors) = verify::verify(&module) {
        panic!("{}", verify::report(&module, &errors));
    }
    transform::optimize(&mut module);
    module
}

/// `call` on threads over `extents`, then by blocks.
fn check(text: &str, call: &str, extents: &str, expected: &str) {
    let written = parse::parse_module(text).unwrap_or_else(|error| panic!("{error}"));
    let run = |module: &Module, bounds: &str| {
        let line = format!("@k{call} over {bounds} == {expected}");
        let run = Run::read(module, &line).unwrap_or_else(|error| panic!("{line}: {error}"));
        run.check(module, module).unwrap_or_else(|error| panic!("{line}: {error}\n{module}"));
    };
    run(&written, extents);
    let summed = summed(&written, extents.split(',').count() as u32);
    for grid in ["1 of 32", "1 of 1", "2 of 3", "3 of 32"] {
        run(&summed, &format!("blocks {grid} checked"));
    }
}

#[test]
fn a_histogram() {
    let text = "kernel @k(v0: array<i32, 1>, v1: array<i32, 1>) {
      v2: i64 = tid 0
      v3: i32 = load v0[v2]
      v4: i64 = cast v3
      v5: i32 = const 1
      v6: i32 = atomic add v1[v4], v5
      return
    }";
    let data = "[0, 1, 2, 2, 1, 1, 0, 2, 2, 2, 2, 1, 0, 0, 0, 1, 1]";
    check(text, &format!("({data}, [100, 0, 0])"), "17", &format!("({data}, [105, 6, 6])"));
}

#[test]
fn several_arrays_behind_an_early_return() {
    let text = "kernel @k(v0: array<f32, 1>, v1: array<f32, 1>, v2: array<u32, 1>, v9: i32) {
      v3: i64 = tid 0
      v10: i64 = cast v9
      v11: bool = ge v3, v10
      if v11 {
        return
      } else {
        yield
      }
      v4: f32 = load v0[v3]
      v5: u32 = cast v4
      v6: i64 = const 0
      v7: f32 = atomic sub v1[v6], v4
      v8: u32 = atomic max v2[v6], v5
      return
    }";
    let data = "[1.0, 2.0, 3.0, 9.0, 5.0, 6.0, 7.0]";
    check(text, &format!("({data}, [0.5], [4], 6)"), "7", &format!("({data}, [-25.5], [9])"));
    // Nothing was added, so that the sign of a zero stays.
    check(text, &format!("({data}, [-0.0], [4], 0)"), "7", &format!("({data}, [-0.0], [4])"));
}

#[test]
fn rows_and_columns_and_loops() {
    let text = "kernel @k(v0: array<i32, 2>, v1: array<i32, 2>, v2: array<i32, 2>) {
      v3: i64 = tid 0
      v4: i64 = tid 1
      v5: i32 = load v0[v3, v4]
      v6: i64 = const 0
      v7: i64 = const 2
      v8: i64 = const 1
      for v9: i64 = v6 to v7 step v8 {
        v10: i64 = rem v4, v7
        v11: i32 = atomic add v1[v9, v10], v5
        continue
      }
      v12: i64 = launch_extent 1
      v13: bool = eq v4, v8
      if v13 {
        v14: i32 = atomic min v2[v6, v3], v5
        store v0[v3, v4], v5
        yield
      } else {
        yield
      }
      return
    }";
    let data = "[[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12]]";
    let (zeros, large) = ("[[0, 0], [0, 0]]", "[[99, 99, 3, 99]]");
    let expected = format!("({data}, [[52, 26], [52, 26]], [[2, 5, 3, 11]])");
    check(text, &format!("({data}, {zeros}, {large})"), "4,3", &expected);
}

#[test]
fn vectors_by_component() {
    let text = "kernel @k(v0: array<vec<f32, 2>, 1>, v1: array<vec<f32, 2>, 1>) {
      v2: i64 = tid 0
      v3: vec<f32, 2> = load v0[v2]
      v4: i64 = const 1
      v5: vec<f32, 2> = atomic add v1[v4], v3
      v6: f32 = extract v3 {0}
      v7: f32 = atomic add v1[v4].1, v6
      return
    }";
    let data = "[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]";
    let expected = format!("({data}, [[0.0, 0.0], [9.0, 22.0]])");
    check(text, &format!("({data}, [[0.0, 0.0], [0.0, 1.0]])"), "3", &expected);
}

/// Arrays that stay as they are.
#[test]
fn what_is_used_otherwise_stays() {
    let summed = |body: &str| {
        let text =
            format!("kernel @k(v0: array<i32, 1>, v1: i64) {{ v2: i64 = tid 0; v3: i32 = const 1; {body}; return }}");
        let module = parse::parse_module(&text).unwrap_or_else(|error| panic!("{error}"));
        transform::summed_arrays(&module.funcs[0])
    };
    assert_eq!(summed("v4: i32 = atomic add v0[v1], v3"), [0]);
    assert!(summed("v4: i32 = atomic add v0[v1], v3; store v0[v2], v4").is_empty());
    assert!(summed("v4: i32 = atomic add v0[v1], v3; v5: i32 = load v0[v2]").is_empty());
    assert!(summed("v4: i32 = atomic exchange v0[v1], v3").is_empty());
    assert!(summed("v4: i32 = atomic add v0[v1], v3; v5: i32 = atomic max v0[v1], v3").is_empty());
    assert!(summed("v4: i32 = atomic add v0[v1], v3; print \"x\"").is_empty());
    assert!(summed("store v0[v2], v3").is_empty());
}
