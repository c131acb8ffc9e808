//! Tasks of this repository, written in Rust so that they run wherever it builds.
//!
//! `cargo xtask tidy` checks what a compiler does not: who may use whom, sizes, names, documents that must agree with
//! the code. `cargo xtask bless` rewrites what is generated from the code, for you to read in the diff.

mod bless;
mod ops;
mod tidy;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the repository");
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tidy"] => tidy::run(root),
        ["bless"] => bless::run(root),
        _ => {
            eprintln!("usage: cargo xtask tidy | bless");
            ExitCode::from(2)
        }
    }
}
