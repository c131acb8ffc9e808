//! Steps a second of the interpreter: `cargo run --release -p gridstride-interp --example speed`.

use interp::{InterpValue, Program, pack};
use ir::{FuncRef, Type, parse::parse_module};
use runtime::{Fault, LaunchBounds};
use std::time::Instant;

const MIX: &str = "
func @mix(v0: i64) -> i64 {
  v1: i64 = const 0
  v2: i64 = const 1
  v3: i64 = const 1103515245
  v4: i64 = const 16
  v5: i64 = for v6: i64 = v1 to v0 step v2 with (v7: i64 = v2) {
    v8: i64 = mul v7, v3
    v9: i64 = add v8, v6
    v10: i64 = shr v9, v4
    v11: i64 = xor v9, v10
    v12: bool = lt v11, v1
    v13: i64 = select v12, v11, v9
    continue v13
  }
  return v5
}
";

const SAXPY: &str = "
kernel @saxpy(v0: f32, v1: array<f32, 1>, v2: array<f32, 1>) {
  v3: i64 = tid 0
  check_bounds v1[v3] {site 0}
  v4: f32 = load v1[v3]
  v5: f32 = mul v0, v4
  check_bounds v2[v3] {site 0}
  v6: f32 = load v2[v3]
  v7: f32 = add v5, v6
  store v2[v3], v7
  return
}
site 0: array-index \"x\"
";

fn main() {
    let n = 5_000_000i64;
    let mix = Program::new(&parse_module(MIX).expect("IR"));
    let start = Instant::now();
    let results = mix.call(FuncRef(0), &[InterpValue::i64(n)]);
    report("integer loop", 8 * n, start, &format!("{results:?}"));

    let (x, mut y) = (vec![1f32; n as usize], vec![2f32; n as usize]);
    let array = |p: *const f32| InterpValue::array(Type::f32(), p as u64, &[n]);
    let args = pack(&[InterpValue::f32(2.0), array(x.as_ptr()), array(y.as_mut_ptr())]);
    let saxpy = Program::new(&parse_module(SAXPY).expect("IR"));
    let start = Instant::now();
    saxpy.launch(FuncRef(0), &args, &LaunchBounds::new([n, 1, 1, 1]), &Fault::default());
    report("saxpy", 9 * n, start, &format!("y[0] = {}", y[0]));
}

fn report(name: &str, n_ops: i64, start: Instant, result: &str) {
    let seconds = start.elapsed().as_secs_f64();
    println!("{name}: {:.0} M ops/s, {result}", n_ops as f64 / seconds / 1e6);
}
