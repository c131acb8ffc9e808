//! Every file of tests/filetests, and random modules through the passes and the CPU.

mod gradients;
mod grid_sums;
mod lanes;
mod launch_sums;
mod random;
mod random_blocks;
mod sums;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "ir") {
            files.push(path);
        }
    }
}

/// `FILETEST=part of a path` runs those files only.
#[test]
fn files() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/filetests"));
    let mut files = Vec::new();
    collect(root, &mut files);
    let wanted = std::env::var("FILETEST").unwrap_or_default();
    files.retain(|path| path.to_string_lossy().contains(&wanted));
    assert!(!files.is_empty(), "no files in {}", root.display());
    let mut failures = Vec::new();
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        let result = catch_unwind(AssertUnwindSafe(|| gridstride_filetests::run_file(&text)));
        let message = match result {
            Ok(Ok(())) => continue,
            Ok(Err(message)) => message,
            Err(_) => "panicked".to_string(),
        };
        failures.push(format!("{}: {message}", path.strip_prefix(root).unwrap_or(&path).display()));
    }
    assert!(failures.is_empty(), "{} files fail\n\n{}", failures.len(), failures.join("\n\n"));
}
