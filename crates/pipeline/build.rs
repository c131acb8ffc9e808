//! One number for the compiler's own text, so that what another version of it cached on disk is not met again although
//! the version number is the same.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

fn main() {
    // What decides about machine code besides the IR that a unit starts from, and what this crate says of it.
    let compiler = ["src", "../ir/src", "../analysis/src", "../transform/src", "../codegen/src", "../runtime/src"];
    println!("cargo:rustc-env=COMPILER={:016x}", hash(&compiler));
    // What decides about that IR besides the program's answers to the front end: which parser it is says the lock file.
    let front_end =
        ["../frontend/src", "../autodiff/src", "../diagnostics/src", "../../python/gridstride/lib", "../../Cargo.lock"];
    println!("cargo:rustc-env=FRONT_END={:016x}", hash(&front_end));
}

/// Of the texts of files and folders.
fn hash(paths: &[&str]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for path in paths.iter().map(Path::new) {
        println!("cargo:rerun-if-changed={}", path.display());
        let all = if path.is_dir() { files(path) } else { vec![path.to_path_buf()] };
        for file in all {
            std::fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display())).hash(&mut hasher);
        }
    }
    hasher.finish()
}

/// All files under a folder, in an order that does not depend on the file system.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    paths.sort();
    paths.retain(|path| !path.ends_with("__pycache__"));
    paths.into_iter().flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}
