//! Kernels over real memory, with packed arguments as compiled code takes them.

use crate::{check, module};
use interp::{InterpValue, Program, UNCHECKED, launch, pack};
use ir::{FuncRef, Type};
use runtime::{Fault, FaultRecord, LaunchBounds};
use std::sync::Mutex;

pub(crate) const TEXTS: &[&str] = &[SAXPY, INDEX, FAILS, PRINTS, SUM, EACH, UNCHECKED_STORE, PLACES];

const SAXPY: &str = "
kernel @saxpy(v0: f32, v1: array<f32, 1>, v2: array<f32, 1>) {
  v3: i64 = tid 0
  v4: f32 = load v1[v3]
  v5: f32 = mul v0, v4
  v6: f32 = load v2[v3]
  v7: f32 = add v5, v6
  store v2[v3], v7
  return
}
";

const INDEX: &str = "
kernel @index(v0: array<i64, 4>, v1: bool) {
  v2: i64 = tid 0
  v3: i64 = tid 1
  v4: i64 = tid 2
  v5: i64 = tid 3
  v6: i64 = launch_extent 1
  v7: i64 = launch_extent 2
  v8: i64 = launch_extent 3
  v9: i64 = mul v2, v6
  v10: i64 = add v9, v3
  v11: i64 = mul v10, v7
  v12: i64 = add v11, v4
  v13: i64 = mul v12, v8
  v14: i64 = add v13, v5
  store v0[v2, v3, v4, v5], v14
  return
}
";

/// Thread 3 fails its assert; the others count.
const FAILS: &str = "
kernel @fails(v0: array<i32, 1>) {
  v1: i64 = tid 0
  v2: i64 = const 3
  v3: bool = ne v1, v2
  v4: array<i32, 1> = local_array {1}
  v5: i64 = const 0
  v6: i32 = load v4[v5]
  v7: i32 = const 1
  store v4[v5], v7
  assert v3 {site 0}
  v8: i32 = add v6, v7
  store v0[v1], v8
  return
}
site 0: assert \"not three\"
";

const PRINTS: &str = "
kernel @prints(v0: f32, v1: u8) {
  v2: i64 = tid 0
  v3: i8 = const -5
  v4: bool = const true
  v5: f16 = const 0.5
  print \"%d: %g %u %d %d %g\\n\", v2, v0, v1, v3, v4, v5
  print \"done\\n\"
  return
}
";

const SUM: &str = "
kernel @sum(v0: array<f32, 1>, v1: array<i32, 1>) {
  v2: i64 = const 0
  v3: f32 = const 1.0
  v4: i32 = const 1
  v5: f32 = atomic add v0[v2], v3
  v6: i32 = atomic add v1[v2], v4
  return
}
";

const EACH: &str = "
kernel @count(v0: array<i32, 1>) {
  v1: i64 = const 4
  each v2: i64 = v1 {
    v3: i32 = cast v2
    store v0[v2], v3
    yield
  }
  return
}
";

const UNCHECKED_STORE: &str = "
kernel @shift(v0: array<i32, 1>) {
  v1: i64 = tid 0
  v2: i64 = const 1
  v3: i64 = add v1, v2
  v4: i32 = cast v1
  store v0[v3], v4
  return
}
";

fn bounds(extents: &[i64]) -> LaunchBounds {
    let mut bounds = LaunchBounds::new([1; 4]);
    bounds.extents[..extents.len()].copy_from_slice(extents);
    bounds
}

fn array<T>(elem: Type, memory: &mut [T]) -> InterpValue {
    InterpValue::array(elem, memory.as_mut_ptr() as u64, &[memory.len() as i64])
}

#[test]
fn saxpy() {
    let (mut x, mut y) = ([1f32, 2.0, 3.0], [10f32, 20.0, 30.0]);
    let args = pack(&[InterpValue::f32(2.0), array(Type::f32(), &mut x), array(Type::f32(), &mut y)]);
    let fault = Fault::default();
    launch(&module(SAXPY), FuncRef(0), &args, &bounds(&[3]), &fault);
    assert_eq!((y, fault.take()), ([12.0, 24.0, 36.0], None));
}

#[test]
fn threads_run_row_by_row() {
    let mut memory = vec![-1i64; 2 * 3 * 4 * 5];
    let ty = Type::i64();
    let args = pack(&[InterpValue::array(ty, memory.as_mut_ptr() as u64, &[2, 3, 4, 5]), InterpValue::bool(true)]);
    launch(&module(INDEX), FuncRef(0), &args, &bounds(&[2, 3, 4, 5]), &Fault::default());
    assert!(memory.iter().copied().eq(0..120), "{memory:?}");
}

#[test]
fn a_failing_thread_ends_and_the_others_go_on() {
    let mut memory = [0i32; 6];
    let fault = Fault::default();
    launch(&module(FAILS), FuncRef(0), &pack(&[array(Type::i32(), &mut memory)]), &bounds(&[6]), &fault);
    assert_eq!(memory, [1, 1, 1, 0, 1, 1]);
    assert_eq!(fault.take(), Some(FaultRecord { site: 0, thread: [3, 0, 0, 0], values: vec![] }));
}

#[test]
fn an_unchecked_access_out_of_range_touches_nothing() {
    let mut memory = [9i32; 4];
    let mut array = array(Type::i32(), &mut memory);
    array.words[1] = 3;
    let fault = Fault::default();
    launch(&module(UNCHECKED_STORE), FuncRef(0), &pack(&[array]), &bounds(&[4]), &fault);
    assert_eq!(memory, [9, 0, 1, 9]);
    assert_eq!(fault.take(), Some(FaultRecord { site: UNCHECKED, thread: [2, 0, 0, 0], values: vec![3, 3] }));
}

#[test]
fn a_launch_of_no_threads_does_nothing() {
    let mut memory = [9i32; 2];
    let args = pack(&[array(Type::i32(), &mut memory)]);
    for extents in [&[0][..], &[3, 0], &[-1]] {
        launch(&module(FAILS), FuncRef(0), &args, &bounds(extents), &Fault::default());
    }
    assert_eq!(memory, [9, 9]);
}

#[test]
fn print_gives_each_operand_as_its_type_says() {
    static PRINTED: Mutex<String> = Mutex::new(String::new());
    runtime::format::set_print_sink(|text| PRINTED.lock().unwrap().push_str(text));
    let args = pack(&[InterpValue::f32(1.5), InterpValue::int(ir::Scalar::U8, 200)]);
    launch(&module(PRINTS), FuncRef(0), &args, &bounds(&[2]), &Fault::default());
    assert_eq!(*PRINTED.lock().unwrap(), "0: 1.5 200 -5 1 0.5\ndone\n1: 1.5 200 -5 1 0.5\ndone\n");
}

#[test]
fn atomics_are_real_beside_other_threads() {
    let module = module(SUM);
    let program = Program::new(&module);
    let (mut sum, mut count) = ([0f32], [0i32]);
    let args = pack(&[array(Type::f32(), &mut sum), array(Type::i32(), &mut count)]);
    let fault = Fault::default();
    std::thread::scope(|scope| {
        for begin in [0, 4000, 8000, 12000] {
            let (program, args, fault) = (&program, &args, &fault);
            scope.spawn(move || {
                program.launch_range(FuncRef(0), args, &bounds(&[16000]), begin, begin + 4000, fault);
            });
        }
    });
    assert_eq!((sum, count), ([16000.0], [16000]));
}

#[test]
fn each_counts_its_elements() {
    let mut memory = [9i32; 5];
    let args = pack(&[array(Type::i32(), &mut memory)]);
    launch(&module(EACH), FuncRef(0), &args, &bounds(&[1]), &Fault::default());
    assert_eq!(memory, [0, 1, 2, 3, 9]);
}

#[test]
fn values_go_through_bytes() {
    let ty = Type::structure("S", vec![("b".into(), Type::bool()), ("m".into(), Type::matrix(ir::Scalar::F16, 2, 2))]);
    let value = InterpValue { ty, words: vec![1, 0x3c00, 0x4000, 0xc000, 0x7bff] };
    assert_eq!(value.to_bytes(), [1, 0, 0, 0x3c, 0, 0x40, 0, 0xc0, 0xff, 0x7b]);
    assert_eq!(InterpValue::from_bytes(ty, &value.to_bytes()), value);
    assert_eq!(value.to_string(), "(true, (1.0, 2.0, -2.0, 65504.0))");
}

const PLACES: &str = "
func @spare() -> (f32, i64, bool) {
  v0: u64 = spare_memory
  v1: i64 = const 2
  v2: array<f32, 1> = array_from_address v0, v1
  v3: array<f32, 1> = with_adjoint v2, v2
  v4: i64 = const 1
  v5: f32 = load v3[v4]
  v6: i64 = extent v3 {0}
  v7: bool = on_host
  return v5, v6, v7
}
; @spare() == 0.0, 2, true
";

#[test]
fn memory_of_nobody_and_the_place_that_a_kernel_runs_on() {
    check(PLACES);
}
