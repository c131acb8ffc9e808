//! The parser: IR text in, module or position of the first error out. It never panics, whatever the text.
//!
//! It reads what the printer writes. Line breaks and blanks are free except that operands start on their op's line.
//! Instructions on one line are separated by `;`. A comment is a line that starts with `;`, or runs from `;;` on.
//! Value numbers are kept, in any order and with gaps. What the module means is for the verifier to check; the parser
//! wants each value defined exactly once somewhere in its function.
//!
//! ```
//! let module = gridstride_ir::parse::parse_module(
//!     "func @f(v0: f32, v1: f32) -> f32 { v2: f32 = mul v0, v1; return v2 }",
//! );
//! assert!(module.is_ok());
//! ```

mod cursor;
mod function;
mod instruction;
mod types;

use crate::func::{Attr, FuncRef, Function, FunctionKind, InstId, Module, Site, SiteKind};
use crate::types::Type;
use cursor::Cursor;
use std::fmt;

/// Where the text stopped making sense; line and column from 1, the column in characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    pub line: usize,
    pub column: usize,
    pub message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for ParseError {}

type Parsed<T> = Result<T, ParseError>;

/// A call to a function that may be defined further down.
struct NamedCall {
    func: FuncRef,
    inst: InstId,
    name: String,
    at: usize,
}

/// Reads a type.
pub fn parse_type(text: &str) -> Result<Type, ParseError> {
    let mut cursor = Cursor::new(text);
    let ty = types::parse_type(&mut cursor)?;
    if cursor.is_at_end() { Ok(ty) } else { Err(cursor.error("a type ends here")) }
}

/// Reads a whole module.
pub fn parse_module(text: &str) -> Result<Module, ParseError> {
    let mut cursor = Cursor::new(text);
    let mut module = Module::default();
    let mut calls = Vec::new();
    while !cursor.is_at_end() {
        let at = cursor.position();
        let word = cursor.name()?;
        match word.as_str() {
            "module" => {
                module.approximate = cursor.eat_word("approximate");
                cursor.word("fast_math")?;
                module.fast_math = true;
            }
            "site" => {
                let site = site(&mut cursor, module.sites.len())?;
                module.sites.push(site);
            }
            "func" | "kernel" | "block" => {
                let kind = match word.as_str() {
                    "func" => FunctionKind::Function,
                    "kernel" => FunctionKind::Kernel,
                    _ if cursor.eat_word("program") => FunctionKind::BlockProgram,
                    _ => {
                        cursor.word("kernel")?;
                        FunctionKind::BlockKernel
                    }
                };
                let func = FuncRef(module.funcs.len() as u32);
                module.funcs.push(function::function(&mut cursor, kind, func, &mut calls)?);
            }
            _ => return Err(cursor.error_at(at, "expected `func`, `kernel`, `block`, `site` or `module fast_math`")),
        }
    }
    for call in calls {
        let Some(callee) = module.find(&call.name) else {
            return Err(cursor.error_at(call.at, &format!("there is no function @{}", call.name)));
        };
        module.funcs[call.func.index()].insts[call.inst.index()].attr = Attr::Func(callee);
    }
    Ok(module)
}

/// Reads one function without calls by name.
pub fn parse_function(text: &str) -> Result<Function, ParseError> {
    let mut module = parse_module(text)?;
    match module.funcs.len() {
        1 => Ok(module.funcs.remove(0)),
        n => Err(ParseError { line: 1, column: 1, message: format!("expected one function, found {n}") }),
    }
}

fn site(cursor: &mut Cursor, number: usize) -> Parsed<Site> {
    let at = cursor.position();
    if cursor.integer()? != number as u64 {
        return Err(cursor.error_at(at, &format!("sites are numbered in order; the next is {number}")));
    }
    cursor.expect(":")?;
    let at = cursor.position();
    let kind = cursor.dashed_name()?;
    let Some(&(kind, _)) = SiteKind::ALL.iter().find(|(_, name)| *name == kind) else {
        return Err(cursor.error_at(at, &format!("there is no kind of site `{kind}`")));
    };
    let name = cursor.string()?;
    Ok(Site { kind, span: diagnostics::Span::NONE, name })
}

#[cfg(test)]
mod tests;
