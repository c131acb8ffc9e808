//! One number for the compiler's own text, so that what another version of it cached on disk is not met again although
//! the version number is the same.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

fn main() {
    let mut hasher = DefaultHasher::new();
    // What decides about machine code besides the IR that a unit starts from, and what this crate says of it.
    for folder in ["src", "../ir/src", "../analysis/src", "../transform/src", "../codegen/src", "../runtime/src"] {
        println!("cargo:rerun-if-changed={folder}");
        for file in files(Path::new(folder)) {
            std::fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display())).hash(&mut hasher);
        }
    }
    println!("cargo:rustc-env=COMPILER={:016x}", hasher.finish());
}

/// All files under a folder, in an order that does not depend on the file system.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    paths.sort();
    paths.into_iter().flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}
