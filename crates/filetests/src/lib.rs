//! Tests that are files of IR text with commands in comments.
//!
//! In: a file of tests/filetests. Out: nothing, or what is wrong with it. A file starts with what is done to its
//! module, and lists what must come out:
//!
//! ```text
//! ; test: transform simplify
//! func @f(v0: i32) -> i32 { v1: i32 = const 0; v2: i32 = add v0, v1; return v2 }
//! ; check: return v0
//! ; not: add
//! ; run: @f(3) == 3
//! ```
//!
//! | command | |
//! | --- | --- |
//! | `test: print` | parse, verify, print |
//! | `test: parse` | the parser must refuse; `error:` says with which message |
//! | `test: verify` | the verifier must refuse |
//! | `test: transform PASS …` | passes one after the other, verified after each; `optimize` is all |
//! | `test: ptx OPTION …` | all passes, then PTX with registers masked ([`ptx`]) |
//! | `test: adjoint` | the output is the adjoint kernel, or why there is none |
//! | `check: TEXT` | the output has the text, after what the check before found |
//! | `not: TEXT` | the output has it nowhere |
//! | `error: TEXT` | as `check`, in the report |
//! | `run: @f(ARGS) == RESULTS` | see [`run`] |
//! | `gradient: @f(ARGS) over N` | see [`gradient`](mod@gradient) |
//!
//! Runs are made of the module as written on the interpreter, as transformed on the interpreter, and compiled on the
//! CPU. All must give the same.

pub mod command;
pub mod cpu;
pub mod gradient;
pub mod lanes;
pub mod programs;
pub mod ptx;
pub mod run;

use command::{Command, Mode};
use gradient::Tolerance;
use ir::{Module, parse, verify};
use run::{Bounds, Call, Run};

/// Runs one file's text. The error says what was expected and what came out.
pub fn run_file(text: &str) -> Result<(), String> {
    let commands = command::read(text)?;
    let Some((Command::Test(mode), rest)) = commands.split_first() else {
        return Err("the first command must be `; test:`".into());
    };
    let (output, transformed) = produce(text, mode)?;
    check_output(&output, rest)?;
    let runs: Vec<&String> =
        rest.iter().filter_map(|command| if let Command::Run(line) = command { Some(line) } else { None }).collect();
    let Some(transformed) = transformed else {
        return if runs.is_empty() { Ok(()) } else { Err("a refused module cannot run".into()) };
    };
    let written = parse::parse_module(text).map_err(|error| error.to_string())?;
    for line in rest.iter().filter_map(|command| if let Command::Gradient(line) = command { Some(line) } else { None })
    {
        check_gradient(&written, line).map_err(|message| format!("gradient: {line}\n{message}"))?;
    }
    let has_checks = rest.iter().any(|command| !matches!(command, Command::Run(_)));
    if !has_checks && runs.is_empty() {
        return Err("the file checks nothing".into());
    }
    for line in runs {
        let run = Run::read(&written, line).map_err(|message| format!("run: {line}\n{message}"))?;
        run.check(&written, &transformed).map_err(|message| format!("run: {line}\n{message}"))?;
    }
    Ok(())
}

fn check_gradient(module: &Module, line: &str) -> Result<(), String> {
    let call = Call::read(module, line)?;
    let Bounds::Threads(bounds) = &call.bounds else { return Err("blocks of threads have no gradient".into()) };
    match gradient::check(module, &call.args, bounds, Tolerance::DOUBLE, true)? {
        0 => Err("nothing was compared".into()),
        _ => Ok(()),
    }
}

/// The text that checks look at, and the module for runs where there is one.
fn produce(text: &str, mode: &Mode) -> Result<(String, Option<Module>), String> {
    let module = match (parse::parse_module(text), mode) {
        (Ok(module), Mode::Parse) => return Err(format!("the parser took it:\n{module}")),
        (Err(error), Mode::Parse) => return Ok((error.to_string(), None)),
        (parsed, _) => parsed.map_err(|error| error.to_string())?,
    };
    match (verify::verify(&module), mode) {
        (Ok(()), Mode::Verify) => return Err(format!("the verifier took it:\n{module}")),
        (Err(errors), Mode::Verify) => return Ok((verify::report(&module, &errors), None)),
        (Err(errors), _) => return Err(verify::report(&module, &errors)),
        (Ok(()), _) => {}
    }
    let mut transformed = module;
    if let Mode::Transform(passes) = mode {
        for pass in passes {
            transform(&mut transformed, pass)?;
            if let Err(errors) = verify::verify(&transformed) {
                return Err(format!("after {pass}:\n{}", verify::report(&transformed, &errors)));
            }
        }
    }
    let output = match mode {
        Mode::Adjoint => match autodiff::reverse(&transformed, &[], &everything(&transformed)) {
            Ok(adjoint) => adjoint.module.to_string(),
            Err(refused) => return Ok((refused.iter().map(|d| format!("{}\n", d.message)).collect(), None)),
        },
        Mode::Ptx(options) => ptx::text(&transformed, options)?,
        _ => transformed.to_string(),
    };
    Ok((output, Some(transformed)))
}

/// Asks for all adjoints of the kernel's parameters.
fn everything(module: &Module) -> autodiff::Request {
    let n = module.kernel().map_or(0, |kernel| module.func(kernel).params.len());
    autodiff::Request { wanted: vec![true; n], overlap: false, adjoints_overlap: false, rank: 1 }
}

/// Runs a pass by its name.
fn transform(module: &mut Module, pass: &str) -> Result<(), String> {
    match pass {
        "optimize" => transform::optimize(module),
        "inline_calls" => drop(transform::inline_calls(module)),
        "fission" => drop(transform::fission_barriers(module).map_err(|refused| refused.to_string())?),
        "unify_returns" => {
            for func in &mut module.funcs {
                let _ = transform::unify_returns(func);
            }
        }
        "drop_adjoints" => each(module, transform::drop_adjoints),
        "settle_host" => each(module, |func| transform::settle_host(func, false)),
        "batch_reads" => each(module, |func| transform::batch_reads(func, false)),
        "batch_reads_in_domains" => each(module, |func| transform::batch_reads(func, true)),
        "flatten_arms" => each(module, transform::flatten_arms),
        "jam_threads" => each(module, jam_each),
        "merge_arm_loads" => each(module, transform::merge_arm_loads),
        // The first array has no memory.
        "settle_nulls" => each(module, |func| transform::settle_nulls(func, 1)),
        "split_at_zero" => each(module, transform::split_at_zero),
        "unroll_loops" => each(module, transform::unroll_loops),
        "unroll_own_arrays" => each(module, transform::unroll_own_arrays),
        "widen_indices" => each(module, transform::widen_indices),
        "split_at_thread" => each(module, |func| transform::split_at_thread(func, 0)),
        _ => {
            let Some((_, pass)) = transform::PASSES.into_iter().find(|(name, _)| *name == pass) else {
                return Err(format!("there is no pass `{pass}`"));
            };
            each(module, pass);
        }
    }
    Ok(())
}

/// [`transform::jam_threads`], for kernels that run for every thread after all: of two neighbors each does the work of
/// both, which changes nothing where no thread reads what another writes.
fn jam_each(func: &mut ir::Function) -> transform::Changed {
    let changed = transform::jam_threads(func, 0);
    if changed.0 {
        pair_threads(func);
    }
    changed
}

/// Gives each thread the number of the first of two.
fn pair_threads(func: &mut ir::Function) {
    let body = func.body;
    let tid = func.region(body).insts[0];
    let (number, span) = (func.inst(tid).result(), func.inst(tid).span);
    let ty = func.ty(number);
    let index = func.add_inst(ir::Op::Tid, &[], ir::Attr::Index(0), &[], &[ty], span);
    let mask = ir::Attr::Const(ir::Const::int(ir::Scalar::I64, -2));
    let mask = func.add_inst(ir::Op::Const, &[], mask, &[], &[ty], span);
    let operands = [index, mask].map(|id| func.inst(id).result());
    let inst = &mut func.insts[tid.index()];
    (inst.op, inst.attr, inst.operands) = (ir::Op::And, ir::Attr::None, operands.into_iter().collect());
    func.regions[body.index()].insts.splice(0..0, [index, mask]);
}

fn each(module: &mut Module, pass: impl Fn(&mut ir::Function) -> transform::Changed) {
    for func in &mut module.funcs {
        let _ = pass(func);
    }
}

fn check_output(output: &str, commands: &[Command]) -> Result<(), String> {
    let mut rest = output;
    for command in commands {
        match command {
            Command::Check(text) => {
                let Some(at) = rest.find(text.as_str()) else {
                    let where_ = if output.contains(text.as_str()) { "not in this order" } else { "missing" };
                    return Err(format!("`{text}` is {where_} in\n{output}"));
                };
                rest = &rest[at + text.len()..];
            }
            Command::Not(text) if output.contains(text.as_str()) => {
                return Err(format!("`{text}` must not be in\n{output}"));
            }
            _ => {}
        }
    }
    Ok(())
}
