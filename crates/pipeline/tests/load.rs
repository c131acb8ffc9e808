//! From IR text to running code: what is compiled, what is reused, and what the disk cache adds.

use frontend::Lowered;
use pipeline::cache::DiskCache;
use pipeline::{Specialization, Unit, code_key, load, unit as unit_of};
use runtime::{Fault, LaunchBounds};
use std::sync::Arc;

const CONTIGUOUS: Specialization = Specialization { contiguous: true, distinct: false, rank: 1 };
const STRIDED: Specialization = Specialization { contiguous: false, distinct: false, rank: 1 };

/// A kernel that adds a constant to every element.
fn unit(constant: &str) -> Unit {
    let text = format!(
        "kernel @add(v0: array<f32, 1>) {{
           v1: i64 = tid 0
           v2: f32 = load v0[v1]
           v3: f32 = const {constant}
           v4: f32 = add v2, v3
           store v0[v1], v4
           return
         }}"
    );
    parsed(&text)
}

fn parsed(text: &str) -> Unit {
    let module = ir::parse::parse_module(text).unwrap_or_else(|error| panic!("{error:?}"));
    unit_of(Lowered {
        module,
        sources: Default::default(),
        launch_rank: 1,
        custom: Vec::new(),
        derivatives: Vec::new(),
    })
}

/// Runs code over `values` with a stride in elements.
fn run(module: &pipeline::LoadedModule, values: &mut [f32], stride: usize) {
    let n = values.len().div_ceil(stride) as u64;
    let args = [values.as_mut_ptr() as u64, n, 4 * stride as u64];
    let bounds = LaunchBounds::new([n as i64, 1, 1, 1]);
    let fault = Fault::default();
    // SAFETY: the kernel takes one array, described by `args`; both outlive the call.
    unsafe { module.entry()(args.as_ptr().cast(), &bounds, 0, n as i64, &fault) };
    assert_eq!(fault.take(), None);
}

fn scratch(name: &str) -> DiskCache {
    let dir = std::env::temp_dir().join(format!("gridstride-load-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    DiskCache::open(dir).expect("a directory of our own is accepted")
}

#[test]
fn equal_ir_is_loaded_once_and_other_ir_is_not_mistaken_for_it() {
    let first = load(&unit("1.0"), CONTIGUOUS, None).expect("it compiles");
    let second = load(&unit("1.0"), CONTIGUOUS, None).expect("it compiles");
    let other = load(&unit("2.0"), CONTIGUOUS, None).expect("it compiles");
    assert!(Arc::ptr_eq(&first, &second));
    let mut values = [1.0, 2.0, 3.0];
    run(&first, &mut values, 1);
    run(&other, &mut values, 1);
    assert_eq!(values, [4.0, 5.0, 6.0]);
}

#[test]
fn strides_are_read_where_arrays_are_not_contiguous() {
    let unit = unit("10.0");
    assert_ne!(code_key(&unit, CONTIGUOUS), code_key(&unit, STRIDED));
    let mut values = [0.0; 5];
    run(&load(&unit, STRIDED, None).expect("it compiles"), &mut values, 2);
    assert_eq!(values, [10.0, 0.0, 10.0, 0.0, 10.0]);
}

#[test]
fn code_is_written_to_disk_and_a_whole_entry_that_is_no_object_is_compiled_anew() {
    let disk = scratch("no-object");
    let unit = unit("3.0");
    let key = code_key(&unit, CONTIGUOUS);
    disk.write(&key, b"checksummed, but not machine code");
    let mut values = [1.0];
    run(&load(&unit, CONTIGUOUS, Some(&disk)).expect("it compiles"), &mut values, 1);
    assert_eq!(values, [4.0]);
    let object = disk.read(&key).expect("the new object took its place");
    assert!(object.len() > 100);
    let _ = std::fs::remove_dir_all(disk.dir());
}

#[test]
fn an_object_from_disk_runs() {
    let unit = unit("5.0");
    let (from, to) = (scratch("from"), scratch("to"));
    load(&unit, CONTIGUOUS, Some(&from)).expect("it compiles");
    let object = from.read(&code_key(&unit, CONTIGUOUS)).expect("it was written");
    // Under the key of code that this process has not loaded, or it would not look at the disk.
    let fresh = self::unit("5.5");
    to.write(&code_key(&fresh, CONTIGUOUS), &object);
    let mut values = [1.0];
    run(&load(&fresh, CONTIGUOUS, Some(&to)).expect("it loads"), &mut values, 1);
    assert_eq!(values, [6.0], "the entry on disk decides, and that one adds 5");
    for cache in [from, to] {
        let _ = std::fs::remove_dir_all(cache.dir());
    }
}

#[test]
fn threads_that_compile_the_same_code_share_it() {
    let modules: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| load(&unit("7.0"), CONTIGUOUS, None))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic").expect("it compiles")).collect()
    });
    assert!(modules.iter().all(|module| Arc::ptr_eq(module, &modules[0])));
}

#[test]
fn updates_of_several_arrays_are_plain_where_these_are_distinct() {
    let text = "kernel @advance(v0: array<f32, 1>, v1: array<f32, 1>, v2: f32) {
       v3: i64 = tid 0
       v4: f32 = atomic add v0[v3], v2
       v5: f32 = atomic add v1[v3], v4
       return
     }";
    let unit = parsed(text);
    assert!(unit.summary().gains_by_distinct);
    for distinct in [true, false] {
        let code = unit.code_for(Specialization { distinct, ..CONTIGUOUS }).expect("no kernel over blocks");
        assert_eq!(code.to_string().contains("atomic"), !distinct, "{code}");
    }
    assert_ne!(code_key(&unit, CONTIGUOUS), code_key(&unit, Specialization { distinct: true, ..CONTIGUOUS }));
}
