//! Sums that all threads of a launch add to come out the same, however many workers share the launch.

use runtime::{Fault, LaunchBounds, Sums};
use runtime_cpu::{Code, Pace, Pool};

/// `sum of f32 at v1[0]`, as code for the CPU would be: thread i adds 1 / (i + 1).
unsafe extern "C" fn harmonic(args: *const u8, bounds: *const LaunchBounds, begin: i64, end: i64, _: *const Fault) {
    // SAFETY: the launch passes one array of one element, and accumulators as `runtime::sums` lays them out.
    unsafe {
        let accumulators = bounds.cast::<u8>().add(runtime::abi::SUMS_OFFSET as usize).cast::<*mut u8>().read();
        accumulators.cast::<*const u8>().write(args.cast::<*const u8>().read());
        for i in begin..end {
            let lane = accumulators.add(64).cast::<f32>().add((i - begin) as usize % runtime::sums::LANES);
            *lane += 1.0 / (i + 1) as f32;
        }
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let text =
        "kernel @k(v0: array<f32, 1>, v1: f32) {\n v2: i64 = const 0\n v3: f32 = atomic add v0[v2], v1\n return\n}\n";
    let module = ir::parse::parse_module(text).unwrap_or_else(|error| panic!("{error}"));
    let sums = Sums::of(&module.funcs[0]);
    let code = Code { entry: harmonic, sums: sums.as_ref() };
    for n in if cfg!(miri) { vec![1, 300] } else { vec![1, 300, 70_000, 1_000_000] } {
        let mut found = Vec::new();
        for n_threads in [1, 2, 3, 8] {
            let pool = Pool::new(n_threads);
            for pace in [Pace::DEFAULT, Pace::EAGER] {
                let mut total = 0.25f32;
                let args = [(&raw mut total) as u64, 1, 4, 0];
                let bounds = LaunchBounds::new([n, 1, 1, 1]);
                // SAFETY: the arguments are those that the kernel takes.
                unsafe { pool.launch_at(&pace, code, args.as_ptr().cast(), &bounds, &Fault::default()) };
                found.push(total.to_bits());
            }
        }
        assert!((f32::from_bits(found[0]) - 0.25 - (n as f32).ln()).abs() <= 1.0, "{n}");
        assert!(found.iter().all(|&bits| bits == found[0]), "{n}: {found:x?}");
    }
}
