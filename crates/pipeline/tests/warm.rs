//! A unit whose code is on disk is not optimized, and yet says what it would say if it were.
//!
//! Alone in its file, for it counts what the process does.

use frontend::Lowered;
use ir::{Function, Op};
use pipeline::cache::DiskCache;
use pipeline::{Specialization, Summary, Unit, load, unit};

const KERNELS: [&str; 3] = [
    // Writes to one of two arrays.
    "kernel @f(v0: array<f32, 1>, v1: array<f32, 1>) {
       v2: i64 = tid 0
       v3: f32 = load v0[v2]
       store v1[v2], v3
       return
     }",
    // Adds to an array that a GPU's blocks may sum up; by a function, so that only optimized IR shows it.
    "func @add(v0: array<i32, 1>, v1: i64, v2: i32) {
       v3: i32 = atomic add v0[v1], v2
       return
     }
     kernel @f(v0: array<i32, 1>, v1: array<i32, 1>) {
       v2: i64 = tid 0
       v3: i32 = load v0[v2]
       v4: i64 = cast v3
       call @add(v1, v4, v3)
       return
     }",
    "block kernel @f(v0: array<i32, 1>) {
       grid_barrier
       return
     }",
];

fn made(text: &str) -> Unit {
    let module = ir::parse::parse_module(text).unwrap_or_else(|error| panic!("{error:?}"));
    let (custom, derivatives) = (Vec::new(), Vec::new());
    unit(Lowered { module, sources: Default::default(), launch_rank: 1, custom, derivatives })
}

fn n_optimized() -> f64 {
    pipeline::counters::counters().into_iter().find(|(name, _)| *name == "optimized").expect("there is one").1
}

/// The summary of the first kernel after damage to all that is on disk, which is made again once.
fn healed(disk: &DiskCache) -> Summary {
    for entry in std::fs::read_dir(disk.dir()).expect("it is there").flatten() {
        std::fs::write(entry.path(), b"GSOBJ").expect("it is ours");
    }
    let look = || {
        let unit = made(KERNELS[0]);
        unit.look_in(Some(disk));
        unit.summary().clone()
    };
    let found = look();
    let before = n_optimized();
    assert_eq!(look(), found);
    assert_eq!(n_optimized(), before);
    found
}

#[test]
fn what_is_on_disk_is_what_the_optimizer_gives() {
    let dir = std::env::temp_dir().join(format!("gridstride-warm-{}", std::process::id()));
    let disk = DiskCache::open(&dir).expect("a directory of our own is accepted");
    let mut found = Vec::new();
    for text in KERNELS {
        let cold = made(text);
        cold.look_in(Some(&disk));
        let known = cold.summary().clone();
        load(&cold, Specialization { contiguous: true, distinct: false, rank: 1 }, Some(&disk)).expect("it compiles");
        let warm = made(text);
        warm.look_in(Some(&disk));
        let before = n_optimized();
        assert_eq!(*warm.summary(), known, "{text}");
        load(&warm, Specialization { contiguous: true, distinct: false, rank: 1 }, Some(&disk)).expect("it is loaded");
        assert_eq!(n_optimized(), before, "{text}");
        assert_eq!(warm.module().to_string(), cold.module().to_string());
        found.push(known);
    }
    assert_eq!(healed(&disk), found[0]);
    let none = Summary {
        written: vec![false, true],
        summed: vec![],
        gains_by_distinct: false,
        waits_for_grid: false,
        external: None,
        sums: None,
        grid_sums: Vec::new(),
        grid_params: Vec::new(),
        depends_on_order: false,
    };
    assert_eq!(found[0], none);
    assert_eq!(found[1], Summary { summed: vec![1], gains_by_distinct: true, ..none.clone() });
    assert_eq!(found[2], Summary { written: vec![false], waits_for_grid: true, ..none });
    let is_call = |func: &Function| func.insts.iter().any(|inst| inst.op == Op::Call);
    assert!(is_call(made(KERNELS[1]).func()), "the kernel is as it was given");
    let _ = std::fs::remove_dir_all(dir);
}
