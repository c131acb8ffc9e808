//! What NVIDIA's assembler says of our PTX: every function and kernel of tests/filetests for several architectures.
//!
//! The assembler is `ptxas` of the Python package nvidia-cuda-nvcc; no GPU is needed.

use codegen::nvptx::PtxOptions;
use gridstride_filetests::{cpu, ptx};
use ir::{FuncRef, FunctionKind, Module, parse, verify};
use proptest::collection::vec;
use proptest::prelude::*;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

const ARCHITECTURES: [u32; 3] = [80, 90, 100];

/// The assembler in a folder of Python packages that belongs to one of PATH, or to the environment that `make` sets up.
fn assembler() -> PathBuf {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../.venv/bin")).to_path_buf();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.push(root);
    for folder in &folders {
        let own = folder.join("ptxas");
        if own.is_file() {
            return own;
        }
        let Ok(pythons) = fs::read_dir(folder.join("../lib")) else { continue };
        for python in pythons.flatten() {
            let Ok(packages) = fs::read_dir(python.path().join("site-packages/nvidia")) else { continue };
            let found = packages.flatten().map(|package| package.path().join("bin/ptxas")).find(|path| path.is_file());
            if let Some(found) = found {
                return found;
            }
        }
    }
    panic!("ptxas is missing: install tests/requirements.txt");
}

fn assemble(ptxas: &Path, sm: u32, text: &str) -> Result<(), String> {
    let mut child = Command::new(ptxas)
        .args([&format!("--gpu-name=sm_{sm}"), "--output-file", "/dev/null", "-O1", "-"])
        // Functions of other code are found when that is linked.
        .args(text.contains(".extern .func").then_some("--compile-only"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let Some(mut input) = child.stdin.take() else { return Err("no input".into()) };
    input.write_all(text.as_bytes()).map_err(|error| error.to_string())?;
    drop(input);
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{}{}", String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout)))
}

/// Modules with one kernel each: those of a file, and one that calls each of its functions.
fn kernels(text: &str) -> Vec<(Module, FuncRef)> {
    let Ok(module) = parse::parse_module(text) else { return Vec::new() };
    if verify::verify(&module).is_err() {
        return Vec::new();
    }
    let all = module.funcs.iter().enumerate().filter_map(|(i, func)| {
        let at = FuncRef(i as u32);
        match func.kind {
            FunctionKind::Kernel | FunctionKind::BlockKernel => return Some((module.clone(), at)),
            FunctionKind::BlockProgram => return None,
            FunctionKind::Function => {}
        }
        // What works on tiles is inlined into kernels before there is code.
        if func.insts.iter().any(|inst| inst.op.is_over_tiles()) {
            return None;
        }
        let storable = |ty: &ir::Type| ty.leaves().iter().all(|leaf| matches!(leaf.kind, ir::LeafKind::Scalar(_)));
        func.results.iter().all(storable).then(|| {
            let mut module = module.clone();
            let kernel = cpu::wrap(&module, at);
            module.funcs.push(kernel);
            let at = FuncRef(module.funcs.len() as u32 - 1);
            (module, at)
        })
    });
    // A function over blocks has no place in a kernel over threads.
    all.filter(|(module, _)| verify::verify(module).is_ok()).collect()
}

fn collect(folder: &Path, texts: &mut Vec<(String, String)>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            collect(&path, texts);
        } else {
            texts.push((path.display().to_string(), fs::read_to_string(&path).unwrap()));
        }
    }
}

#[test]
fn every_filetest_assembles() {
    let ptxas = assembler();
    let mut texts = Vec::new();
    collect(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/filetests")), &mut texts);
    let all: Vec<_> =
        texts.iter().flat_map(|(path, text)| kernels(text).into_iter().map(move |kernel| (path, kernel))).collect();
    let (next, failures) = (AtomicUsize::new(0), std::sync::Mutex::new(Vec::new()));
    let worker = || {
        while let Some((path, (module, kernel))) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            // One architecture a kernel, all of them over the files.
            let sm = ARCHITECTURES[(path.len() + kernel.index()) % ARCHITECTURES.len()];
            let even = path.len() % 2 == 0;
            let (contiguous, aligned) = (even, even);
            let options = PtxOptions { sm, rank: 4, strided: even, contiguous, aligned, ..PtxOptions::default() };
            let has_sums = !transform::grid_sums(module.func(*kernel)).is_empty();
            for in_order in [false, true].into_iter().filter(|&in_order| has_sums || !in_order) {
                let options = PtxOptions { in_order, ..options };
                let result = ptx::compile(module, *kernel, &options)
                    .and_then(|text| assemble(&ptxas, sm, &text).map_err(|message| format!("{message}\n{text}")));
                if let Err(message) = result {
                    let name = &module.func(*kernel).name;
                    failures.lock().unwrap().push(format!("{path}: @{name} for sm_{sm}: {message}"));
                }
            }
        }
    };
    let n_workers = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| (0..n_workers).for_each(|_| drop(scope.spawn(worker))));
    let failures = failures.into_inner().unwrap();
    assert!(all.len() > 100, "only {} kernels", all.len());
    assert!(failures.is_empty(), "{} of {} fail\n\n{}", failures.len(), all.len(), failures.join("\n\n"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// LLVM ends the process on what it cannot select, and the assembler refuses what the machine has not.
    #[test]
    fn random_modules_become_ptx(numbers in vec(any::<u32>(), 0..250)) {
        let mut module = ir::arbitrary::module(&numbers);
        let main = module.find("main").unwrap();
        let kernel = cpu::wrap(&module, main);
        module.funcs.push(kernel);
        let kernel = FuncRef(module.funcs.len() as u32 - 1);
        let text = ptx::compile(&module, kernel, &PtxOptions { aligned: true, contiguous: true, ..PtxOptions::default() });
        prop_assert!(text.is_ok(), "{text:?}");
        let assembled = text.and_then(|text| assemble(&assembler(), 80, &text).map_err(|message| format!("{message}\n{text}")));
        prop_assert!(assembled.is_ok(), "{assembled:?}");
    }
}
