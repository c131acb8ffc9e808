//! Random programs against central differences, for as long as you like:
//!
//! ```text
//! cargo run --release -p gridstride-filetests --example fuzz_gradients -- SECONDS [SEED]
//! ```
//!
//! Ends with the first gradient that is wrong, and prints the program. Every sixteenth program is compiled too.

use gridstride_filetests::gradient::{self, Tolerance};
use gridstride_filetests::programs::{THREADS, program};
use runtime::LaunchBounds;
use std::time::{Duration, Instant};

fn main() {
    let mut args = std::env::args().skip(1);
    let mut number = |otherwise: u64| args.next().and_then(|text| text.parse().ok()).unwrap_or(otherwise);
    let (time, mut state) = (Duration::from_secs(number(60)), number(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) as u32
    };
    let bounds = LaunchBounds::new([THREADS, 1, 1, 1]);
    let (start, mut told) = (Instant::now(), Instant::now());
    let (mut n_programs, mut n_refused, mut n_compared) = (0u64, 0u64, 0u64);
    while start.elapsed() < time {
        let length = 20 + next() as usize % 200;
        let numbers: Vec<u32> = (0..length).map(|_| next()).collect();
        let (module, inputs) = program(&numbers);
        let on_cpu = n_programs % 16 == 15;
        n_programs += 1;
        match gradient::check(&module, &inputs, &bounds, Tolerance::DOUBLE, on_cpu) {
            Ok(n) => n_compared += n as u64,
            Err(report) if report.contains("depends on what is read or written here") => n_refused += 1,
            Err(report) => {
                eprintln!("program {n_programs}: {report}");
                std::process::exit(1);
            }
        }
        if told.elapsed() > Duration::from_secs(60) {
            told = Instant::now();
            println!(
                "{} s: {n_programs} programs, {n_refused} refused, {n_compared} derivatives",
                start.elapsed().as_secs()
            );
        }
    }
    println!("{} s: {n_programs} programs, {n_refused} refused, {n_compared} derivatives", start.elapsed().as_secs());
}
