//! Types: `const unsigned int`, `float4`, `T* __restrict__`, `f<int, 4>`'s arguments.

use super::{Name, Parsed, Parser, TemplateArg, TypeExpr, TypeKind};
use crate::c::types;
use diagnostics::Span;
use ir::Scalar;

/// Words before or behind a type that say nothing about its values.
const IGNORED: [&str; 12] = [
    "volatile",
    "__restrict__",
    "__restrict",
    "restrict",
    "typename",
    "struct",
    "register",
    "static",
    "inline",
    "__forceinline__",
    "__inline__",
    "mutable",
];

const NUMBER_WORDS: [&str; 8] = ["unsigned", "signed", "char", "short", "int", "long", "float", "double"];

impl Parser<'_> {
    /// Whether a type begins here.
    pub(super) fn is_type(&self) -> bool {
        self.is_type_at(0)
    }

    pub(super) fn is_type_at(&self, n: usize) -> bool {
        let Some(name) = self.ahead(n).name() else { return false };
        if self.ahead(n + 1).is("::") && NAMESPACES.contains(&&**name) {
            return self.is_type_at(n + 2);
        }
        matches!(&**name, "const" | "constexpr" | "void" | "auto" | "bool" | "extern" | "__shared__")
            || NUMBER_WORDS.contains(&&**name)
            || IGNORED.contains(&&**name)
            || self.is_type_name(name)
    }

    fn is_type_name(&self, name: &Name) -> bool {
        self.types.contains(name) || types::is_known(name)
    }

    /// A type, with the stars and references behind it.
    pub(super) fn type_expr(&mut self) -> Parsed<TypeExpr> {
        let mut ty = self.base_type()?;
        while let Some(next) = self.pointed(&ty)? {
            ty = next;
        }
        Ok(ty)
    }

    /// The type that a `*` or `&` behind another makes.
    pub(super) fn pointed(&mut self, inner: &TypeExpr) -> Parsed<Option<TypeExpr>> {
        let is_reference = self.peek().is("&");
        if !is_reference && !self.peek().is("*") {
            return Ok(None);
        }
        self.next();
        let mut is_const = false;
        while self.peek().name().is_some_and(|name| &**name == "const" || IGNORED.contains(&&**name)) {
            is_const |= self.is_word("const");
            self.next();
        }
        let inner = Box::new(inner.clone());
        let span = self.since(inner.span);
        let kind = if is_reference { TypeKind::Reference(inner) } else { TypeKind::Pointer(inner) };
        Ok(Some(TypeExpr { kind, is_const, span }))
    }

    /// A type without what stands behind it.
    pub(super) fn base_type(&mut self) -> Parsed<TypeExpr> {
        let start = self.peek().span;
        let (mut is_const, mut words, mut named) = (false, Vec::new(), None);
        while let Some(name) = self.peek().name().cloned() {
            let is_free = words.is_empty() && named.is_none();
            match &*name {
                "const" => is_const = true,
                _ if IGNORED.contains(&&*name) => {}
                _ if NUMBER_WORDS.contains(&&*name) && named.is_none() => words.push(name.clone()),
                _ if is_free && self.is_type_at(0) => {
                    let (name, span) = self.qualified()?;
                    let args = if self.peek().is("<") { self.template_args()? } else { Vec::new() };
                    named = Some((name, args, span));
                    continue;
                }
                _ => break,
            }
            self.next();
        }
        let span = self.since(start);
        let kind = match named {
            Some((name, args, _)) => match &*name {
                "void" => TypeKind::Void,
                "auto" => TypeKind::Auto,
                "bool" => TypeKind::Scalar(Scalar::Bool),
                _ => TypeKind::Named(name, args),
            },
            None if words.is_empty() => return Err(self.expected("a type")),
            None => TypeKind::Scalar(self.number_type(&words, span)?),
        };
        Ok(TypeExpr { kind, is_const, span })
    }

    fn number_type(&mut self, words: &[Name], span: Span) -> Parsed<Scalar> {
        let count = |word: &str| words.iter().filter(|known| &***known == word).count();
        let (n_long, is_unsigned) = (count("long"), count("unsigned") > 0);
        let pick = |signed, unsigned| if is_unsigned { unsigned } else { signed };
        let only = |allowed: &[&str]| words.iter().all(|word| allowed.contains(&&**word));
        let sign = ["unsigned", "signed"];
        let found = if count("float") == 1 && words.len() == 1 {
            Some(Scalar::F32)
        } else if count("double") == 1 && words.len() == 1 {
            Some(Scalar::F64)
        } else if count("char") == 1 && only(&[&sign[..], &["char"]].concat()) {
            Some(pick(Scalar::I8, Scalar::U8))
        } else if count("short") == 1 && only(&[&sign[..], &["short", "int"]].concat()) {
            Some(pick(Scalar::I16, Scalar::U16))
        } else if n_long > 0 && n_long <= 2 && only(&[&sign[..], &["long", "int"]].concat()) {
            Some(pick(Scalar::I64, Scalar::U64))
        } else if only(&[&sign[..], &["int"]].concat()) {
            Some(pick(Scalar::I32, Scalar::U32))
        } else {
            None
        };
        found.ok_or_else(|| self.fail(span, "these words make no type that kernels have", types::HELP))
    }

    /// A name behind namespaces whose names are built in: `std::size_t`.
    pub(super) fn qualified(&mut self) -> Parsed<(Name, Span)> {
        self.take("::");
        let (mut name, mut span) = self.need_name("a name")?;
        while self.peek().is("::") {
            if !NAMESPACES.contains(&&*name) {
                let message = format!("the namespace `{name}` is not known");
                return Err(self.fail(
                    span,
                    &message,
                    "the names of `std`, `cuda::std` and `thrust` that kernels have are built in",
                ));
            }
            self.next();
            (name, span) = self.need_name("a name")?;
        }
        Ok((name, span))
    }

    /// `<float, 4>`.
    pub(super) fn template_args(&mut self) -> Parsed<Vec<TemplateArg>> {
        self.need("<")?;
        let mut args = Vec::new();
        while !self.peek().is(">") && !self.peek().is(">>") {
            args.push(if self.is_type() {
                TemplateArg::Type(self.type_expr()?)
            } else {
                TemplateArg::Value(self.nested(|parser| parser.template_value())?)
            });
            if !self.take(",") {
                break;
            }
        }
        self.need(">")?;
        Ok(args)
    }
}

pub(super) const NAMESPACES: [&str; 4] = ["std", "cuda", "thrust", "cooperative_groups"];
