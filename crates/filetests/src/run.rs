//! Lines that run a function or launch a kernel and say what comes out.
//!
//! ```text
//! run: @f(3.0, [1, 2]) == (12.0, nan)         a scalar, a vector or an array; two results
//! run: @f(0) faults assert                    the run ends with a report of that kind
//! run: @k([1.0, 2.0], 3.0) over 2 == [3.0, 6.0]   a launch of two threads; what its arrays hold afterwards
//! run: @b([0]) over blocks 2, 1 of 32 == [64]     a launch of two blocks of 32 threads, x first; `shared N` behind it
//!                                                 gives dynamic shared bytes, `checked` looks for races (interpreter)
//! ```
//!
//! Components of vectors, matrices, structs and elements of arrays stand in brackets; arrays of more dimensions in
//! nested ones. Numbers are as in IR text. Bits are compared, but one NaN is as good as another.

use crate::cpu;
use interp::{InterpValue, Program};
use ir::literal::{parse_const, print_const};
use ir::{Const, FuncRef, FunctionKind, Module, Scalar, Type};
use runtime::{BlockBounds, Fault, FaultRecord, LaunchBounds};

/// One run line, read against the types of the function it calls.
#[derive(Debug)]
pub struct Run {
    func: String,
    args: Vec<Arg>,
    bounds: Bounds,
    expected: Expected,
}

#[derive(Clone, Debug)]
pub enum Bounds {
    Threads(LaunchBounds),
    Blocks { bounds: BlockBounds, is_checked: bool },
}

/// A parsed argument. Arrays own their elements, so that each run starts from fresh ones.
#[derive(Clone, Debug)]
pub enum Arg {
    Value(InterpValue),
    Array { elem: Type, extents: Vec<i64>, elements: Vec<InterpValue> },
}

impl Arg {
    pub fn ty(&self) -> Type {
        match self {
            Arg::Value(value) => value.ty,
            Arg::Array { elem, extents, .. } => Type::array(*elem, extents.len() as u32),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Expected {
    Values(Vec<String>),
    Fault(String),
}

/// `@f(ARGS) over EXTENTS`: a function, its arguments, the launch.
#[derive(Debug)]
pub struct Call {
    pub func: FuncRef,
    pub args: Vec<Arg>,
    pub bounds: Bounds,
}

impl Call {
    pub fn read(module: &Module, call: &str) -> Result<Call, String> {
        let name = call.trim().strip_prefix('@').ok_or("expected `@name(…)`")?;
        let (name, rest) = name.split_once('(').ok_or("expected `(`")?;
        let func = module.find(name).ok_or_else(|| format!("there is no function @{name}"))?;
        let mut text = Text { rest };
        let mut args = Vec::new();
        for param in &module.func(func).params {
            if !args.is_empty() {
                text.expect(",")?;
            }
            args.push(text.arg(param.ty)?);
        }
        text.expect(")")?;
        let kind = module.func(func).kind;
        let bounds = if kind.is_kernel() && kind != FunctionKind::Kernel {
            block_bounds(text.rest)?
        } else {
            Bounds::Threads(launch_bounds(text.rest)?)
        };
        Ok(Call { func, args, bounds })
    }
}

impl Run {
    pub fn read(module: &Module, line: &str) -> Result<Run, String> {
        let (call, outcome) = match (line.split_once("=="), line.split_once(" faults ")) {
            (Some((call, values)), _) => (call, Outcome::Values(values)),
            (_, Some((call, kind))) => (call, Outcome::Fault(kind.trim())),
            _ => return Err("expected `==` or `faults`".into()),
        };
        let Call { func, args, bounds } = Call::read(module, call)?;
        let func = module.func(func);
        let expected = match outcome {
            Outcome::Fault(kind) => Expected::Fault(kind.to_string()),
            Outcome::Values(values) => {
                let mut text = Text { rest: values };
                Expected::Values(text.results(&results(func.kind, &func.results, &args))?)
            }
        };
        Ok(Run { func: func.name.clone(), args, bounds, expected })
    }

    /// Runs on everything there is.
    pub fn check(&self, written: &Module, transformed: &Module) -> Result<(), String> {
        self.compare("interp", self.interpret(written)?)?;
        self.compare("interp, transformed", self.interpret(transformed)?)?;
        if let Some(outcome) = self.on_cpu(written)? {
            self.compare("cpu", outcome)?;
        }
        Ok(())
    }

    fn compare(&self, device: &str, found: Expected) -> Result<(), String> {
        if found == self.expected {
            return Ok(());
        }
        Err(format!("on {device}: {}", describe(&found)))
    }

    fn interpret(&self, module: &Module) -> Result<Expected, String> {
        let func = module.find(&self.func).ok_or("the function is gone")?;
        let program = Program::new(&expanded(module));
        let (args, memory) = lay_out(&self.args);
        if module.func(func).kind.is_kernel() {
            let fault = Fault::default();
            match &self.bounds {
                Bounds::Threads(bounds) => program.launch(func, &cpu::pack(&args), bounds, &fault),
                Bounds::Blocks { bounds, is_checked } => {
                    program.launch_blocks(func, &cpu::pack(&args), bounds, &fault, *is_checked);
                }
            }
            return Ok(outcome(module, &fault, || read_arrays(&self.args, &memory)));
        }
        match program.call(func, &args) {
            Ok(results) => Ok(Expected::Values(results.iter().map(print).collect())),
            Err(interp::Error::Fault(record)) => Ok(Expected::Fault(fault_kind(module, &record))),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Compiled and launched; `None` for functions whose results cannot be stored.
    fn on_cpu(&self, module: &Module) -> Result<Option<Expected>, String> {
        let func = module.find(&self.func).ok_or("the function is gone")?;
        let (args, memory) = lay_out(&self.args);
        let fault = Fault::default();
        if let Bounds::Blocks { bounds, is_checked } = &self.bounds {
            if *is_checked {
                return Ok(None);
            }
            let program = cpu::launch_blocks(module, func, &args, bounds, &fault)?;
            return Ok(Some(outcome(&program, &fault, || read_arrays(&self.args, &memory))));
        }
        if let (true, Bounds::Threads(bounds)) = (module.func(func).kind.is_kernel(), &self.bounds) {
            cpu::launch(module, func, &args, bounds, &fault)?;
            return Ok(Some(outcome(module, &fault, || read_arrays(&self.args, &memory))));
        }
        let Some(results) = cpu::call(module, func, &args, &fault)? else { return Ok(None) };
        Ok(Some(outcome(module, &fault, || results.iter().map(print).collect())))
    }
}

enum Outcome<'a> {
    Values(&'a str),
    Fault(&'a str),
}

fn outcome(module: &Module, fault: &Fault, values: impl FnOnce() -> Vec<String>) -> Expected {
    match fault.take() {
        Some(record) => Expected::Fault(fault_kind(module, &record)),
        None => Expected::Values(values()),
    }
}

fn fault_kind(module: &Module, record: &FaultRecord) -> String {
    match module.sites.get(record.site as usize) {
        Some(site) => site.kind.name().to_string(),
        None if record.site == interp::DIVERGENCE => "divergence".to_string(),
        None if record.site == interp::RACE => "race".to_string(),
        None if record.site == interp::UNINITIALIZED => "uninitialized".to_string(),
        None => "unchecked".to_string(),
    }
}

fn describe(expected: &Expected) -> String {
    match expected {
        Expected::Values(values) => format!("({})", values.join(", ")),
        Expected::Fault(kind) => format!("faults {kind}"),
    }
}

/// What comes out: results of a function, arrays of a kernel. Arrays as their element type and extents.
fn results(kind: FunctionKind, results: &[Type], args: &[Arg]) -> Vec<(Type, Vec<i64>)> {
    if kind == FunctionKind::Function {
        return results.iter().map(|&ty| (ty, Vec::new())).collect();
    }
    let arrays = args.iter().filter_map(|arg| match arg {
        Arg::Array { elem, extents, .. } => Some((*elem, extents.clone())),
        Arg::Value(_) => None,
    });
    arrays.collect()
}

fn launch_bounds(text: &str) -> Result<LaunchBounds, String> {
    let mut bounds = LaunchBounds::new([1; 4]);
    let Some(list) = text.trim().strip_prefix("over") else {
        return if text.trim().is_empty() { Ok(bounds) } else { Err(format!("what is `{text}`?")) };
    };
    for (slot, extent) in bounds.extents.iter_mut().zip(list.split(',')) {
        *slot = extent.trim().parse().map_err(|_| format!("`{extent}` is no extent"))?;
    }
    Ok(bounds)
}

/// `over blocks 2, 1 of 32, 4 shared 64 checked`; the last two words may be missing.
fn block_bounds(text: &str) -> Result<Bounds, String> {
    let mut bounds = BlockBounds { grid: [1; 3], block: [1; 3], dynamic_shared: 0 };
    let text = text.trim().strip_prefix("over blocks").ok_or("expected `over blocks GRID of BLOCK`")?;
    let number = |text: &str| text.trim().parse::<i64>().map_err(|_| format!("`{text}` is no number"));
    let (text, is_checked) = match text.trim().strip_suffix("checked") {
        Some(text) => (text, true),
        None => (text, false),
    };
    let (text, shared) = text.split_once("shared").unwrap_or((text, "0"));
    bounds.dynamic_shared = number(shared)?;
    let (grid, block) = text.split_once("of").ok_or("expected `of`")?;
    for (extents, list) in [(&mut bounds.grid, grid), (&mut bounds.block, block)] {
        for (slot, extent) in extents.iter_mut().zip(list.split(',')) {
            *slot = number(extent)?;
        }
    }
    Ok(Bounds::Blocks { bounds, is_checked })
}

/// Arguments with their arrays in memory of their own.
fn lay_out(args: &[Arg]) -> (Vec<InterpValue>, Vec<Vec<u64>>) {
    let mut memory: Vec<Vec<u64>> = Vec::new();
    let values = args.iter().map(|arg| match arg {
        Arg::Value(value) => value.clone(),
        Arg::Array { elem, extents, elements } => {
            let bytes: Vec<u8> = elements.iter().flat_map(InterpValue::to_bytes).collect();
            // Words, so that every element is aligned.
            let mut words = vec![0u64; bytes.len().div_ceil(8).max(1)];
            for (word, chunk) in words.iter_mut().zip(bytes.chunks(8)) {
                let mut padded = [0; 8];
                padded[..chunk.len()].copy_from_slice(chunk);
                *word = u64::from_le_bytes(padded);
            }
            memory.push(words);
            let address = memory.last_mut().map_or(0, |words| words.as_mut_ptr() as u64);
            InterpValue::array(*elem, address, extents)
        }
    });
    (values.collect(), memory)
}

/// What arrays hold after a launch, as text.
fn read_arrays(args: &[Arg], memory: &[Vec<u64>]) -> Vec<String> {
    let arrays = args.iter().filter_map(|arg| match arg {
        Arg::Array { elem, extents, elements } => Some((elem, extents, elements.len())),
        Arg::Value(_) => None,
    });
    let print_array = |((elem, extents, n), words): ((&Type, &Vec<i64>, usize), &Vec<u64>)| {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let elements = bytes.chunks(elem.size() as usize).take(n);
        let elements: Vec<String> = elements.map(|bytes| print(&InterpValue::from_bytes(*elem, bytes))).collect();
        nest(&elements, extents)
    };
    arrays.zip(memory).map(print_array).collect()
}

fn nest(elements: &[String], extents: &[i64]) -> String {
    let Some((&extent, inner)) = extents.split_first() else { return elements.concat() };
    let size = elements.len() / (extent.max(1) as usize);
    let parts: Vec<String> = elements.chunks(size.max(1)).map(|chunk| nest(chunk, inner)).collect();
    format!("[{}]", parts.join(", "))
}

/// A value as run lines write it.
fn print(value: &InterpValue) -> String {
    match value.ty.as_scalar() {
        Some(scalar) => scalar_text(scalar, Const(value.words[0])),
        None => {
            let components = (0..value.ty.n_components()).filter_map(|i| value.component(i));
            format!("[{}]", components.map(|c| print(&c)).collect::<Vec<_>>().join(", "))
        }
    }
}

fn scalar_text(scalar: Scalar, value: Const) -> String {
    if scalar.is_float() && value.as_float(scalar).is_nan() { "nan".into() } else { print_const(scalar, value) }
}

/// What remains of a run line.
struct Text<'a> {
    rest: &'a str,
}

impl Text<'_> {
    fn expect(&mut self, token: &str) -> Result<(), String> {
        self.rest = self.rest.trim_start();
        let rest = self.rest.strip_prefix(token);
        self.rest = rest.ok_or_else(|| format!("expected `{token}` before `{}`", self.rest))?;
        Ok(())
    }

    fn eat(&mut self, token: &str) -> bool {
        self.expect(token).is_ok()
    }

    fn arg(&mut self, ty: Type) -> Result<Arg, String> {
        let Some((elem, rank)) = ty.as_array() else { return self.value(ty).map(Arg::Value) };
        let (mut extents, mut elements) = (vec![0; rank as usize], Vec::new());
        if !self.eat("null") {
            self.elements(elem, &mut extents, &mut elements)?;
            return Ok(Arg::Array { elem, extents, elements });
        }
        Ok(Arg::Value(InterpValue::array(elem, 0, &extents)))
    }

    fn elements(&mut self, elem: Type, extents: &mut [i64], out: &mut Vec<InterpValue>) -> Result<(), String> {
        let Some((extent, inner)) = extents.split_first_mut() else {
            out.push(self.value(elem)?);
            return Ok(());
        };
        self.expect("[")?;
        *extent = 0;
        while !self.eat("]") {
            if *extent > 0 {
                self.expect(",")?;
            }
            self.elements(elem, inner, out)?;
            *extent += 1;
        }
        Ok(())
    }

    fn value(&mut self, ty: Type) -> Result<InterpValue, String> {
        if let Some(scalar) = ty.as_scalar() {
            self.rest = self.rest.trim_start();
            let end = self.rest.find([',', ')', ']', ' ']).unwrap_or(self.rest.len());
            let (text, rest) = self.rest.split_at(end);
            self.rest = rest;
            return Ok(InterpValue::constant(scalar, parse_const(scalar, text)?));
        }
        self.expect("[")?;
        let mut components = Vec::new();
        for i in 0..ty.n_components() {
            if i > 0 {
                self.expect(",")?;
            }
            let component = ty.component(i).ok_or_else(|| format!("{ty} has no component {i}"))?;
            components.push(self.value(component)?);
        }
        self.expect("]")?;
        Ok(InterpValue::composite(ty, &components))
    }

    /// Expected results in the form in which they will be printed.
    fn results(&mut self, types: &[(Type, Vec<i64>)]) -> Result<Vec<String>, String> {
        let in_parentheses = self.eat("(");
        let mut texts = Vec::new();
        for (ty, extents) in types {
            if !texts.is_empty() {
                self.expect(",")?;
            }
            let (mut found, mut elements) = (extents.clone(), Vec::new());
            self.elements(*ty, &mut found, &mut elements)?;
            let elements: Vec<String> = elements.iter().map(print).collect();
            texts.push(nest(&elements, &found));
        }
        if in_parentheses {
            self.expect(")")?;
        }
        if self.rest.trim().is_empty() { Ok(texts) } else { Err(format!("what is `{}`?", self.rest)) }
    }
}

/// With the math that compiled code has, not the platform's, and without tiles.
fn expanded(module: &Module) -> Module {
    let mut module = module.clone();
    let _ = transform::expand_math(&mut module);
    transform::settle_tiles(&mut module);
    module
}

/// For tests that run modules of their own: results by the interpreter as text, or the fault.
pub fn interpret(module: &Module, func: FuncRef, args: &[InterpValue]) -> String {
    match interp::call(&expanded(module), func, args) {
        Ok(results) => results.iter().map(print).collect::<Vec<_>>().join(", "),
        Err(interp::Error::Fault(record)) => format!("faults at site {} with {:?}", record.site, record.values),
        Err(error) => error.to_string(),
    }
}

/// As [`interpret`], compiled.
pub fn on_cpu(module: &Module, func: FuncRef, args: &[InterpValue]) -> Result<String, String> {
    let fault = Fault::default();
    let results = cpu::call(module, func, args, &fault)?;
    Ok(match (fault.take(), results) {
        (Some(record), _) => format!("faults at site {} with {:?}", record.site, record.values),
        (None, Some(results)) => results.iter().map(print).collect::<Vec<_>>().join(", "),
        (None, None) => return Err("results that cannot be stored".into()),
    })
}
