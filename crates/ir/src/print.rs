//! The printer: modules and functions as text that the parser reads back.
//!
//! One instruction a line, `results = op operands attribute`, regions in braces. Spans and parameter names are not
//! printed. Ill-formed functions are printed too, as well as can be, because the verifier shows its errors in them.
//!
//! ```text
//! v7: f32 = for v5: i32 = v1 to v2 step v3 with (v6: f32 = v4) {
//!   v8: f32 = load v0[v5].1.?v5
//!   v9: f32 = add v6, v8
//!   continue v9
//! }
//! ```

use crate::func::{Attr, FuncRef, Function, Inst, InstId, Module, PathElem, RegionId, Site, Value};
use crate::literal::{print_const, print_name, quote};
use crate::op::{AttrKind, Op};
use crate::path;
use crate::types::Type;
use crate::verify::MAX_DEPTH;
use std::fmt;

impl fmt::Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print_module(self))
    }
}

impl fmt::Display for Function {
    /// Calls are printed as `@#3`, for a function does not know its module.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print_function(None, self, &|_| Vec::new()))
    }
}

pub fn print_module(module: &Module) -> String {
    let mut out = String::new();
    if module.fast_math {
        out.push_str(if module.approximate { "module approximate fast_math\n" } else { "module fast_math\n" });
    }
    for func in &module.funcs {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&print_function(Some(module), func, &|_| Vec::new()));
    }
    if !module.sites.is_empty() && !out.is_empty() {
        out.push('\n');
    }
    for (i, site) in module.sites.iter().enumerate() {
        out.push_str(&format!("site {i}: {}\n", print_site(site)));
    }
    out
}

/// Text of a function. `notes` gives lines to print under an instruction (under the header for `None`).
pub fn print_function(
    module: Option<&Module>,
    func: &Function,
    notes: &dyn Fn(Option<InstId>) -> Vec<String>,
) -> String {
    let is_seen = vec![false; func.regions.len()];
    let mut printer = Printer { module, func, notes, is_seen, out: String::new(), depth: 0 };
    printer.function();
    printer.out
}

/// One instruction without the regions it owns, for messages.
pub fn print_inst(module: Option<&Module>, func: &Function, inst: &Inst) -> String {
    let is_seen = vec![true; func.regions.len()];
    let mut printer = Printer { module, func, notes: &|_| Vec::new(), is_seen, out: String::new(), depth: 0 };
    printer.head(inst);
    printer.out
}

fn print_site(site: &Site) -> String {
    format!("{} {}", site.kind.name(), quote(&site.name))
}

struct Printer<'a> {
    module: Option<&'a Module>,
    func: &'a Function,
    notes: &'a dyn Fn(Option<InstId>) -> Vec<String>,
    /// Regions already printed: one that two instructions own must not print forever.
    is_seen: Vec<bool>,
    out: String,
    depth: usize,
}

impl Printer<'_> {
    fn function(&mut self) {
        let func = self.func;
        self.out.push_str(&format!("{} @{}", func.kind.name(), print_name(&func.name)));
        let params = func.regions.get(func.body.index()).map_or(&[][..], |body| &body.params);
        for (i, &param) in params.iter().enumerate() {
            self.out.push_str(if i == 0 { "(" } else { ", " });
            self.typed(param);
        }
        self.out.push_str(if params.is_empty() { "()" } else { ")" });
        match &func.results[..] {
            [] => {}
            [result] => self.out.push_str(&format!(" -> {result}")),
            results => {
                let results: Vec<_> = results.iter().map(Type::to_string).collect();
                self.out.push_str(&format!(" -> ({})", results.join(", ")));
            }
        }
        self.out.push_str(" {\n");
        self.depth = 1;
        self.notes(None);
        self.depth = 0;
        self.insts(func.body);
        self.out.push_str("}\n");
    }

    fn insts(&mut self, region: RegionId) {
        let Some(seen) = self.is_seen.get_mut(region.index()) else {
            self.line(&format!(";; no region {}", region.0));
            return;
        };
        if std::mem::replace(seen, true) {
            self.line(&format!(";; region {} again", region.0));
            return;
        }
        if self.depth > MAX_DEPTH {
            self.line(";; deeper regions");
            return;
        }
        self.depth += 1;
        for &id in &self.func.region(region).insts {
            match self.func.insts.get(id.index()) {
                Some(inst) => self.inst(id, inst),
                None => self.line(&format!(";; no instruction {}", id.0)),
            }
        }
        self.depth -= 1;
    }

    fn inst(&mut self, id: InstId, inst: &Inst) {
        self.indent();
        self.head(inst);
        if inst.regions.is_empty() {
            self.out.push('\n');
            self.notes(Some(id));
            return;
        }
        // A valid `if` may leave out an else that does nothing.
        let else_is_empty = inst.op == Op::If && inst.results.is_empty() && inst.regions.len() == 2 && {
            let insts = self.func.regions.get(inst.regions[1].index()).map_or(&[][..], |r| &r.insts);
            insts.len() == 1
                && self.func.insts.get(insts[0].index()).is_some_and(|i| i.op == Op::Yield && i.operands.is_empty())
        };
        for (i, &region) in inst.regions.iter().enumerate() {
            if i == 1 && else_is_empty {
                self.is_seen[region.index()] = true;
                break;
            }
            if i > 0 {
                self.indent();
                self.out.push_str("} else {\n");
            } else {
                self.out.push_str(" {\n");
                self.notes(Some(id));
            }
            self.insts(region);
        }
        self.line("}");
    }

    /// An instruction up to its regions.
    fn head(&mut self, inst: &Inst) {
        for (i, &result) in inst.results.iter().enumerate() {
            self.out.push_str(if i == 0 { "" } else { ", " });
            self.typed(result);
        }
        self.out.push_str(if inst.results.is_empty() { "" } else { " = " });
        self.out.push_str(inst.op.name());
        let special = match inst.op {
            Op::Const => self.constant(inst),
            Op::Load | Op::Store | Op::Atomic | Op::AtomicCas | Op::CheckBounds => self.access(inst),
            op if op.attr_kind() == AttrKind::Func => self.call(inst),
            Op::Each => self.each_head(inst),
            Op::Print | Op::CallExtern => print_text(inst),
            Op::For => self.for_head(inst),
            Op::Loop => self.loop_head(inst),
            _ => None,
        };
        let text = special.unwrap_or_else(|| self.plain(inst));
        self.out.push_str(&text);
    }

    fn plain(&self, inst: &Inst) -> String {
        if let (Attr::Index(index), []) = (&inst.attr, &inst.operands[..]) {
            return format!(" {index}");
        }
        let mut text = String::new();
        if !inst.operands.is_empty() {
            text.push(' ');
            push_list(&mut text, &inst.operands);
        }
        text.push_str(&self.attr(&inst.attr));
        text
    }

    fn attr(&self, attr: &Attr) -> String {
        match attr {
            Attr::None => String::new(),
            Attr::Const(value) => format!(" {{const {:#x}}}", value.0),
            Attr::Index(index) => format!(" {{{index}}}"),
            Attr::Extents(extents) => {
                let extents: Vec<_> = extents.iter().map(u64::to_string).collect();
                format!(" {{{}}}", extents.join(", "))
            }
            Attr::Path(path) => format!(" {{path{}}}", bare_path(path)),
            Attr::Atomic(op, path) => format!(" {{{}{}}}", op.name(), bare_path(path)),
            Attr::Site(site) => format!(" {{site {}}}", site.0),
            Attr::Text(text) => format!(" {{{}}}", quote(text)),
            Attr::Func(func) => format!(" {{{}}}", self.func_name(*func)),
            Attr::Scope(scope) => format!(" {{{}}}", scope.name()),
            Attr::Shuffle(mode) => format!(" {{{}}}", mode.name()),
            Attr::Vote(mode) => format!(" {{{}}}", mode.name()),
        }
    }

    fn constant(&self, inst: &Inst) -> Option<String> {
        let Attr::Const(value) = inst.attr else { return None };
        let [result] = inst.results[..] else { return None };
        let scalar = self.func.values.get(result.index())?.ty.as_scalar()?;
        inst.operands.is_empty().then(|| format!(" {}", print_const(scalar, value)))
    }

    fn access(&self, inst: &Inst) -> Option<String> {
        let array = self.func.values.get(inst.operands.first()?.index())?.ty;
        let access = path::split(inst, array)?;
        let (elem, _) = array.as_array()?;
        let mut text = String::new();
        match (&inst.attr, inst.op) {
            (Attr::Path(_), _) | (Attr::Site(_), Op::CheckBounds) => {}
            (Attr::Atomic(op, _), _) => text.push_str(&format!(" {}", op.name())),
            _ => return None,
        }
        text.push_str(&format!(" v{}[{}]", access.array.0, list(access.indices)));
        let mut ty = elem;
        let mut path_indices = access.path_indices;
        for &step in inst.path() {
            let (piece, n) = path::step(ty, step)?;
            let (indices, rest) = path_indices.split_at(n);
            match (step, indices) {
                (PathElem::Static(index), _) => text.push_str(&format!(".{index}")),
                (PathElem::Dynamic, [index]) => text.push_str(&format!(".?v{}", index.0)),
                (PathElem::Dynamic, _) => text.push_str(&format!(".?({})", list(indices))),
            }
            (ty, path_indices) = (piece, rest);
        }
        for value in access.rest {
            text.push_str(&format!(", v{}", value.0));
        }
        if let Attr::Site(site) = inst.attr {
            text.push_str(&format!(" {{site {}}}", site.0));
        }
        Some(text)
    }

    fn call(&self, inst: &Inst) -> Option<String> {
        let Attr::Func(func) = inst.attr else { return None };
        Some(format!(" {}({})", self.func_name(func), list(&inst.operands)))
    }

    fn func_name(&self, func: FuncRef) -> String {
        match self.module.and_then(|module| module.funcs.get(func.index())) {
            Some(callee) => format!("@{}", print_name(&callee.name)),
            None => format!("@#{}", func.0),
        }
    }

    fn for_head(&self, inst: &Inst) -> Option<String> {
        let [lo, hi, step, ref init @ ..] = inst.operands[..] else { return None };
        let [region] = inst.regions[..] else { return None };
        let (&var, carried) = self.func.regions.get(region.index())?.params.split_first()?;
        let carried = self.carried(carried, init)?;
        let with = if carried.is_empty() { String::new() } else { format!(" with ({carried})") };
        let ty = self.func.values.get(var.index())?.ty;
        Some(format!(" v{}: {ty} = v{} to v{} step v{}{with}", var.0, lo.0, hi.0, step.0))
    }

    fn each_head(&self, inst: &Inst) -> Option<String> {
        let [region] = inst.regions[..] else { return None };
        let [param] = self.func.regions.get(region.index())?.params[..] else { return None };
        let ty = self.func.values.get(param.index())?.ty;
        Some(format!(" v{}: {ty} = v{}", param.0, inst.operands.first()?.0))
    }

    fn loop_head(&self, inst: &Inst) -> Option<String> {
        let [region] = inst.regions[..] else { return None };
        let carried = self.carried(&self.func.regions.get(region.index())?.params, &inst.operands)?;
        Some(if carried.is_empty() { String::new() } else { format!(" ({carried})") })
    }

    fn carried(&self, params: &[Value], init: &[Value]) -> Option<String> {
        let ty = |value: &Value| self.func.values.get(value.index()).map_or("?".into(), |known| known.ty.to_string());
        let pairs = params.iter().zip(init).map(|(param, init)| format!("v{}: {} = v{}", param.0, ty(param), init.0));
        (params.len() == init.len()).then(|| pairs.collect::<Vec<_>>().join(", "))
    }

    fn typed(&mut self, value: Value) {
        push_value(&mut self.out, value);
        self.out.push_str(": ");
        match self.func.values.get(value.index()).map(|known| known.ty) {
            Some(ty) => match ty.as_scalar() {
                Some(scalar) => self.out.push_str(scalar.name()),
                None => self.out.push_str(&ty.to_string()),
            },
            None => self.out.push('?'),
        }
    }

    fn notes(&mut self, at: Option<InstId>) {
        for note in (self.notes)(at) {
            self.line(&note);
        }
    }

    fn line(&mut self, text: &str) {
        self.indent();
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn indent(&mut self) {
        (0..self.depth).for_each(|_| self.out.push_str("  "));
    }
}

fn print_text(inst: &Inst) -> Option<String> {
    let Attr::Text(text) = &inst.attr else { return None };
    let comma = if inst.operands.is_empty() { "" } else { ", " };
    Some(format!(" {}{comma}{}", quote(text), list(&inst.operands)))
}

fn bare_path(path: &[PathElem]) -> String {
    let step = |elem: &PathElem| match elem {
        PathElem::Static(index) => format!(".{index}"),
        PathElem::Dynamic => ".?".to_string(),
    };
    path.iter().map(step).collect()
}

fn list(values: &[Value]) -> String {
    let mut text = String::new();
    push_list(&mut text, values);
    text
}

// Text is what code in the cache is named by, and most of it is values: these are written without `format`.

fn push_list(text: &mut String, values: &[Value]) {
    for (i, &value) in values.iter().enumerate() {
        text.push_str(if i == 0 { "" } else { ", " });
        push_value(text, value);
    }
}

fn push_value(text: &mut String, value: Value) {
    text.push('v');
    let (mut digits, mut rest) = ([0u8; 10], value.0);
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    digits[first..].iter().for_each(|&digit| text.push(digit.into()));
}
