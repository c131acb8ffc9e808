//! Rewrites what is generated from the code: docs/ops.md and the snapshots in the crates' tests.
//!
//! Accept a change only after reading its diff.

use crate::tidy::OPS;
use std::path::Path;
use std::process::{Command, ExitCode};

pub(crate) fn run(root: &Path) -> ExitCode {
    let page = root.join(OPS);
    if let Err(error) = std::fs::write(&page, crate::ops::markdown()) {
        eprintln!("bless: {}: {error}", page.display());
        return ExitCode::FAILURE;
    }
    println!("wrote {OPS}");
    // insta writes the snapshots itself. A test that fails for another reason still does, and says so.
    let tests = Command::new("cargo")
        .args(["test", "--workspace", "--quiet"])
        .env("INSTA_UPDATE", "always")
        .env("INSTA_FORCE_PASS", "1")
        .current_dir(root)
        .status();
    match tests {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("bless: cargo test: {error}");
            ExitCode::FAILURE
        }
    }
}
