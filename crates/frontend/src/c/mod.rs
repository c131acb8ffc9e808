//! The C dialect: kernels as text in the subset of CUDA C++ that `RawKernel` and its like are written in.
//!
//! ```text
//! y[i] = a * x[i];    ->    v8: f32 = load v1[v7]
//!                           v9: f32 = mul v0, v8
//!                           store v2[v7], v9
//! ```
//!
//! In: the text, the name of a kernel in it (`f<float>` picks a template's instance). Out: typed IR, as from the other
//! dialects; the walk over Python does not apply, since C's types are declared, its scopes nest, and its expressions
//! assign. [`lex`] makes tokens, [`preprocess`] expands macros, [`parse`] makes a tree, [`lower`] makes ops.
//!
//! A pointer is an array of one dimension and an offset in elements, so that accesses can be checked against the memory
//! that the launch was given. Where C leaves behavior undefined, the op table says what happens.
//!
//! ISO/IEC 9899:2018 (C17), and the parts of C++17 and of NVIDIA's CUDA C++ programming guide that docs/c-kernels.md lists.

mod ast;
mod lex;
mod lower;
mod parse;
mod preprocess;
mod types;

use crate::FuncSource;
use crate::walk::{Reported, Unit};
use diagnostics::{Diagnostic, FileId, SourceFile, SourceMap, Span};
use ir::Type;
use std::rc::Rc;
use std::sync::Arc;

/// A parameter of a kernel in C text.
#[derive(Clone, Debug)]
pub struct CParam {
    pub name: String,
    /// An array of one dimension for a pointer.
    pub ty: Type,
    /// The type as C writes it.
    pub spelled: String,
}

/// What a text has for launches.
#[derive(Clone, Debug, Default)]
pub struct CKernel {
    pub params: Vec<CParam>,
    /// Variables of the device that the text declares, which launches pass behind the parameters.
    pub globals: Vec<CGlobal>,
}

/// A `__device__` or `__constant__` variable.
#[derive(Clone, Debug)]
pub struct CGlobal {
    pub name: String,
    /// The type of its elements.
    pub elem: Type,
    pub len: u64,
    /// The bytes that it begins with; zeros where these end.
    pub begins_with: Vec<u8>,
}

/// The signature of the kernel `name`. `defines` are macros from outside.
pub fn c_kernel(file: &str, text: &str, name: &str, defines: &[(String, String)]) -> Result<CKernel, crate::Rejected> {
    let mut sources = SourceMap::default();
    let id = sources.add(Arc::new(SourceFile::new(file, text)));
    let mut diagnostics = Vec::new();
    let found = read(text, id, defines, &mut diagnostics)
        .and_then(|program| lower::signature(&program, text, name, &mut diagnostics));
    match found {
        Some(kernel) if diagnostics.is_empty() => Ok(kernel),
        _ => Err(crate::Rejected { diagnostics, sources }),
    }
}

/// The variables of the device of a text.
pub fn c_globals(file: &str, text: &str, defines: &[(String, String)]) -> Result<Vec<CGlobal>, crate::Rejected> {
    let mut sources = SourceMap::default();
    let id = sources.add(Arc::new(SourceFile::new(file, text)));
    let mut diagnostics = Vec::new();
    let found =
        read(text, id, defines, &mut diagnostics).and_then(|program| lower::globals(&program, text, &mut diagnostics));
    match found {
        Some(globals) if diagnostics.is_empty() => Ok(globals),
        _ => Err(crate::Rejected { diagnostics, sources }),
    }
}

/// The program of a text; nothing where it has mistakes.
fn read(
    text: &str,
    file: FileId,
    defines: &[(String, String)],
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Rc<ast::Program>> {
    let (tokens, mistakes) = lex::lex(text, file);
    diagnostics.extend(mistakes);
    let tokens = preprocess::preprocess(tokens, text, defines, diagnostics);
    let program = parse::parse(tokens, diagnostics);
    diagnostics.is_empty().then(|| Rc::new(program))
}

/// Lowers the kernel of a source into the unit.
pub(crate) fn kernel(unit: &mut Unit<'_>, source: &FuncSource, args: &[Type]) -> Result<(), Reported> {
    let file = unit.sources.add(Arc::new(SourceFile::new(source.file.as_str(), source.text.clone())));
    let Some(program) = read(&source.text, file, &source.defines, &mut unit.diagnostics) else { return Err(Reported) };
    lower::kernel(unit, program, source, file, args)
}

/// Tokens of a name with template arguments, which stands in no file.
fn name_tokens(name: &str) -> Vec<lex::Token> {
    let (mut tokens, _) = lex::lex(name, FileId(u32::MAX));
    tokens.iter_mut().for_each(|token| token.span = Span::NONE);
    tokens
}
