//! What all threads of a launch add up has the same bits interpreted, thread by thread, and in gangs of every width, with
//! the accumulators of `runtime::sums`.

use gridstride_filetests::lanes::{Array, Launch};
use ir::{Const, parse};

/// `@k` over its arrays, with floats that do not add up exactly.
fn check(text: &str, n_threads: u64) {
    let module = parse::parse_module(text).unwrap_or_else(|error| panic!("{error}"));
    let func = &module.funcs[0];
    assert!(runtime::Sums::of(func).is_some(), "{text}");
    let mut at = 0.0f64;
    let mut next = |scalar| {
        at += 0.7;
        Const::float(scalar, at.sin() * (at * 0.37).exp().min(1e6)).0
    };
    let elem = |param: &ir::Param| param.ty.as_array().unwrap_or_else(|| panic!("arrays only")).0;
    let arrays = func.params.iter().map(|param| Array::fill(elem(param), n_threads.max(2), &mut next)).collect();
    let launch = Launch { arrays, n_elements: n_threads.max(2), n_threads };
    launch.compare(&module).unwrap_or_else(|what| panic!("{what}\n{module}"));
}

#[test]
fn a_sum_of_all_elements() {
    let text = "kernel @k(v0: array<f32, 1>, v1: array<f32, 1>) {
      v2: i64 = tid 0
      v3: f32 = load v0[v2]
      v4: i64 = const 1
      v5: f32 = atomic add v1[v4], v3
      return
    }";
    [1, 16, 17, 63, 64, 65, 1000, 5000].into_iter().for_each(|n| check(text, n));
}

#[test]
fn several_sums_behind_conditions_and_in_loops() {
    let text = "kernel @k(v0: array<f32, 1>, v1: array<vec<f64, 2>, 1>, v2: array<f32, 1>) {
      v3: i64 = tid 0
      v4: f32 = load v0[v3]
      v5: i64 = const 0
      v6: f32 = const 0.0
      v7: bool = gt v4, v6
      v8: i64 = const 1
      if v7 {
        v9: f64 = cast v4
        v10: vec<f64, 2> = splat v9
        v11: vec<f64, 2> = atomic sub v1[v8], v10
        v12: i64 = const 5
        v13: i64 = rem v3, v12
        for v14: i64 = v5 to v13 step v8 {
          v15: f32 = cast v14
          v16: f32 = mul v15, v4
          v17: f32 = atomic add v2[v5], v16
          continue
        }
        yield
      } else {
        v18: f32 = atomic add v2[v8], v4
        yield
      }
      return
    }";
    [1, 40, 1000].into_iter().for_each(|n| check(text, n));
}
