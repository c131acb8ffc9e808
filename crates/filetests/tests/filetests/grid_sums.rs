//! `transform::sum_in_grid` keeps what a kernel over threads leaves in its arrays, whatever grid it runs as.

use gridstride_filetests::run::Run;
use ir::{Module, parse};

/// The kernel `@k`, as a kernel over blocks of `n_threads` that is launched over the extents of its first array.
fn summed(written: &Module, rank: u32, n_threads: u32) -> Module {
    let mut module = written.clone();
    let func = &mut module.funcs[0];
    let changed = transform::sum_in_grid(func, rank, n_threads);
    assert!(changed.is_some(), "{written}");
    crate::sums::over_blocks(module)
}

fn data() -> Vec<i32> {
    (0..150).map(|index| index * 7 % 13 - 5).collect()
}

/// What each of `n_blocks` of `n_threads` keeps of what `value` gives for an element, where there are several.
fn kept(n_blocks: usize, n_threads: usize, value: impl Fn(i32) -> i32) -> Vec<i32> {
    let mut kept = vec![0; n_blocks];
    for (index, x) in data().into_iter().enumerate() {
        kept[index / n_threads % n_blocks] += value(x);
    }
    kept
}

fn list(numbers: impl IntoIterator<Item = i32>) -> String {
    let texts: Vec<String> = numbers.into_iter().map(|x| format!("{x}.0")).collect();
    format!("[{}]", texts.join(", "))
}

#[test]
fn two_sums_of_which_one_is_behind_a_condition() {
    let text = "kernel @k(v0: array<f32, 1>, v1: array<f32, 1>, v2: array<f64, 1>, v3: i32) {
      v4: i64 = tid 0
      v5: f32 = load v0[v4]
      v6: i64 = cast v3
      v7: f32 = atomic add v1[v6], v5
      v8: f32 = const 0.0
      v9: bool = gt v5, v8
      if v9 {
        v10: f64 = cast v5
        v11: i64 = const 0
        v12: f64 = atomic sub v2[v11], v10
        yield
      } else {
        yield
      }
      return
    }";
    let written = parse::parse_module(text).unwrap_or_else(|error| panic!("{error}"));
    let positive = |x: i32| if x > 0 { -x } else { 0 };
    for (n_blocks, n_threads) in [(1, 32), (1, 64), (2, 32), (3, 64), (7, 32)] {
        let module = summed(&written, 1, n_threads);
        let [first, second] = [kept(n_blocks, n_threads as usize, |x| x), kept(n_blocks, n_threads as usize, positive)];
        let totals = [first.iter().sum::<i32>() + 100, second.iter().sum::<i32>() + 10];
        let (data, zeros) = (list(data()), list(vec![0; n_blocks]));
        let given = format!("({data}, [7.0, 100.0], [10.0], 1, {zeros}, {zeros}, [0])");
        // A block that adds nothing keeps what changes no sum; one that is alone keeps nothing.
        let left_in = |kept: Vec<i32>| if n_blocks == 1 { zeros.clone() } else { list(kept).replace(" 0.0", " -0.0") };
        let [first, second] = [first, second].map(left_in);
        let left = format!("({data}, [7.0, {}.0], [{}.0], {first}, {second}, [0])", totals[0], totals[1]);
        let line = format!("@k{given} over blocks {n_blocks} of {n_threads} checked == {left}");
        let run = Run::read(&module, &line).unwrap_or_else(|error| panic!("{line}: {error}"));
        run.check(&module, &module).unwrap_or_else(|error| panic!("{line}: {error}\n{module}"));
    }
}

const COUNT: &str = "kernel @k(v0: array<f32, 1>, v1: array<i64, 1>, v2: array<TYPE, 1>) {
      v3: i64 = tid 0
      v4: f32 = load v0[v3]
      v5: f32 = const 0.0
      v6: bool = gt v4, v5
      v7: i64 = const 0
      if v6 {
        v8: i64 = const 2
        v9: i64 = atomic add v1[v7], v8
        yield
      } else {
        yield
      }
      v10: TYPE = cast v4
      v11: TYPE = atomic sub v2[v7], v10
      return
    }";

#[test]
fn integers_beside_floats() {
    let text = COUNT.replace("TYPE", "f64");
    let written = parse::parse_module(&text).unwrap_or_else(|error| panic!("{error}"));
    let (n_positive, total) = (data().into_iter().filter(|&x| x > 0).count(), data().into_iter().sum::<i32>());
    for (n_blocks, n_threads) in [(1, 32), (3, 64)] {
        let module = summed(&written, 1, n_threads);
        let part = |value: &dyn Fn(i32) -> i32| match n_blocks {
            1 => vec![0],
            _ => kept(n_blocks, n_threads as usize, value),
        };
        let (counts, parts) = (part(&|x| if x > 0 { 2 } else { 0 }), list(part(&|x| -x)));
        let (data, zeros) = (list(data()), vec![0; n_blocks]);
        let line = format!(
            "@k({data}, [1], [5.0], {zeros:?}, {}, [0]) over blocks {n_blocks} of {n_threads} checked == \
             ({data}, [{}], [{}.0], {counts:?}, {parts}, [0])",
            list(zeros.clone()),
            1 + 2 * n_positive,
            5 - total
        );
        let run = Run::read(&module, &line).unwrap_or_else(|error| panic!("{line}: {error}"));
        run.check(&module, &module).unwrap_or_else(|error| panic!("{line}: {error}\n{module}"));
    }
}

#[test]
fn integers_alone_stay_atomics() {
    let text = COUNT.replace("TYPE", "i32");
    let written = parse::parse_module(&text).unwrap_or_else(|error| panic!("{error}"));
    assert!(transform::grid_sums(&written.funcs[0]).is_empty());
}

#[test]
fn a_sum_that_nobody_reaches_stays() {
    let text = "kernel @k(v0: array<f32, 1>, v1: array<vec<f32, 2>, 1>) {
      v2: i64 = tid 0
      v3: f32 = load v0[v2]
      v4: f32 = const 50.0
      v5: bool = gt v3, v4
      if v5 {
        v6: i64 = const 9
        v7: vec<f32, 2> = splat v3
        v8: vec<f32, 2> = atomic add v1[v6], v7
        yield
      } else {
        yield
      }
      return
    }";
    let written = parse::parse_module(text).unwrap_or_else(|error| panic!("{error}"));
    let module = summed(&written, 1, 32);
    let data = list(data());
    let line = format!(
        "@k({data}, [[-0.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]], [0]) over blocks 2 of 32 checked == \
         ({data}, [[-0.0, 1.0]], [[-0.0, -0.0], [-0.0, -0.0]], [0])"
    );
    let run = Run::read(&module, &line).unwrap_or_else(|error| panic!("{line}: {error}"));
    run.check(&module, &module).unwrap_or_else(|error| panic!("{line}: {error}\n{module}"));
}
