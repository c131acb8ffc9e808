//! `#define`, `#if` and the other lines that begin with `#`: tokens in, tokens out.
//!
//! A token that a macro stands for gets the place where the macro is used, so that reports point into the user's code.
//! Headers of CUDA and C are ignored: what they declare is built in.

use super::lex::{Kind, Token, lex};
use diagnostics::{Diagnostic, FileId, Span};
use std::collections::HashMap;
use std::rc::Rc;

mod condition;

#[derive(Clone)]
struct Macro {
    /// Nothing for a macro that is used without arguments.
    params: Option<Vec<Rc<str>>>,
    body: Vec<Token>,
}

/// What follows one `#if`.
struct Group {
    span: Span,
    is_on: bool,
    /// Whether a branch was taken, so that `#else` is not.
    was_on: bool,
}

pub(super) struct Preprocessor<'e> {
    macros: HashMap<Rc<str>, Macro>,
    groups: Vec<Group>,
    errors: &'e mut Vec<Diagnostic>,
}

/// Macro expansions within each other; a macro that grows without end is refused.
const MAX_TOKENS: usize = 1 << 20;

/// Headers whose content kernels have anyway.
const HEADERS: [&str; 27] = [
    "assert.h",
    "cfloat",
    "climits",
    "cmath",
    "complex",
    "cooperative_groups.h",
    "cstddef",
    "cstdint",
    "cstdio",
    "cuComplex.h",
    "cuda.h",
    "cuda_bf16.h",
    "cuda_fp16.h",
    "cuda_runtime.h",
    "cupy/carray.cuh",
    "cupy/complex.cuh",
    "device_launch_parameters.h",
    "float.h",
    "limits.h",
    "limits",
    "math.h",
    "math_constants.h",
    "stddef.h",
    "stdint.h",
    "stdio.h",
    "stdlib.h",
    "type_traits",
];

/// The tokens after preprocessing. `defines` are names and texts from outside (`-DN=4`).
pub(super) fn preprocess(
    tokens: Vec<Token>,
    text: &str,
    defines: &[(String, String)],
    errors: &mut Vec<Diagnostic>,
) -> Vec<Token> {
    let mut pre = Preprocessor { macros: HashMap::new(), groups: Vec::new(), errors };
    for (name, value) in BUILT_IN.into_iter().chain(defines.iter().map(|(name, value)| (&**name, &**value))) {
        let (mut body, _) = lex(value, FileId(u32::MAX));
        body.pop();
        pre.macros.insert(name.into(), Macro { params: None, body });
    }
    let mut out = Vec::new();
    let mut rest = &tokens[..];
    while let Some((first, after)) = rest.split_first() {
        let len = after.iter().position(|token| token.starts_line).unwrap_or(after.len());
        if first.starts_line && first.is("#") {
            pre.directive(&after[..len], first.span, text);
            rest = &after[len..];
            continue;
        }
        // A macro's arguments may go over lines, up to the next directive.
        let end = after.iter().position(|token| token.starts_line && token.is("#")).unwrap_or(after.len());
        if pre.is_on() {
            pre.expand(&rest[..=end], None, &mut Vec::new(), &mut out);
        } else if rest[end].kind == Kind::End {
            out.push(rest[end].clone());
        }
        rest = &rest[end + 1..];
    }
    if let Some(group) = pre.groups.last() {
        let report =
            Diagnostic::new("c-syntax", group.span, "this `#if` has no end").help("write `#endif` where it ends");
        pre.errors.push(report);
    }
    out
}

/// Constants of C's and CUDA's headers.
const BUILT_IN: [(&str, &str); 39] = [
    ("__CUDACC__", "1"),
    ("__CUDA_ARCH__", "900"),
    ("__CUDACC_RTC__", "1"),
    ("__cplusplus", "201703L"),
    ("M_PI", "3.14159265358979323846"),
    ("M_PI_2", "1.57079632679489661923"),
    ("M_PI_4", "0.78539816339744830962"),
    ("M_1_PI", "0.31830988618379067154"),
    ("M_2_PI", "0.63661977236758134308"),
    ("M_E", "2.7182818284590452354"),
    ("M_LN2", "0.69314718055994530942"),
    ("M_SQRT2", "1.41421356237309504880"),
    ("M_SQRT1_2", "0.70710678118654752440"),
    ("CUDART_PI_F", "3.141592654f"),
    ("CUDART_PI", "3.14159265358979323846"),
    ("FLT_MAX", "3.40282347e+38f"),
    ("FLT_MIN", "1.17549435e-38f"),
    ("FLT_EPSILON", "1.19209290e-07f"),
    ("DBL_MAX", "1.7976931348623157e+308"),
    ("DBL_MIN", "2.2250738585072014e-308"),
    ("DBL_EPSILON", "2.2204460492503131e-16"),
    ("SCHAR_MIN", "(-128)"),
    ("SCHAR_MAX", "127"),
    ("UCHAR_MAX", "255"),
    ("SHRT_MIN", "(-32768)"),
    ("SHRT_MAX", "32767"),
    ("USHRT_MAX", "65535"),
    ("INT_MIN", "(-2147483647 - 1)"),
    ("INT_MAX", "2147483647"),
    ("UINT_MAX", "4294967295u"),
    ("LONG_MIN", "(-9223372036854775807L - 1)"),
    ("LONG_MAX", "9223372036854775807L"),
    ("LLONG_MIN", "(-9223372036854775807LL - 1)"),
    ("LLONG_MAX", "9223372036854775807LL"),
    ("ULLONG_MAX", "18446744073709551615ULL"),
    ("INT32_MAX", "2147483647"),
    ("UINT32_MAX", "4294967295u"),
    ("INT64_MAX", "9223372036854775807LL"),
    ("NULL", "nullptr"),
];

impl Preprocessor<'_> {
    fn is_on(&self) -> bool {
        self.groups.iter().all(|group| group.is_on)
    }

    fn error(&mut self, span: Span, message: impl Into<String>, help: &str) {
        self.errors.push(Diagnostic::new("c-syntax", span, message).help(help));
    }

    /// A line that begins with `#`, without it.
    fn directive(&mut self, line: &[Token], hash: Span, text: &str) {
        let Some((first, rest)) = line.split_first() else { return };
        let word = first.name().cloned().unwrap_or_else(|| "".into());
        match &*word {
            "if" | "ifdef" | "ifndef" => {
                let is_on = self.is_on() && self.holds(&word, rest, first.span);
                self.groups.push(Group { span: hash, is_on, was_on: is_on });
            }
            "elif" => {
                let was_on = self.groups.last().is_some_and(|group| group.was_on);
                let outer = self.groups.iter().rev().skip(1).all(|group| group.is_on);
                let holds = !was_on && outer && self.holds("if", rest, first.span);
                self.turn(holds, hash);
            }
            "else" => {
                let was_on = self.groups.last().is_some_and(|group| group.was_on);
                self.turn(!was_on, hash);
            }
            "endif" => {
                if self.groups.pop().is_none() {
                    self.error(hash, "there is no `#if` that this ends", "remove it");
                }
            }
            _ if !self.is_on() => {}
            "define" => self.define(rest, first.span),
            "undef" => {
                if let Some(name) = rest.first().and_then(Token::name) {
                    self.macros.remove(name);
                }
            }
            "include" => self.include(rest, first.span, text),
            // `#pragma unroll` is a wish: loops of few rounds are unrolled anyway.
            "pragma" | "line" => {}
            "error" => self.error(first.span, "this `#error` is reached", "see the condition around it"),
            _ => self.error(first.span, format!("`#{word}` cannot be used in a kernel's text"), DIRECTIVES),
        }
    }

    fn turn(&mut self, is_on: bool, hash: Span) {
        match self.groups.last_mut() {
            Some(group) => {
                group.is_on = is_on;
                group.was_on |= is_on;
            }
            None => self.error(hash, "there is no `#if` that this belongs to", "remove it"),
        }
    }

    fn holds(&mut self, word: &str, rest: &[Token], span: Span) -> bool {
        if word == "if" {
            return condition::holds(self, rest, span);
        }
        let known = rest.first().and_then(Token::name).is_some_and(|name| self.macros.contains_key(name));
        known == (word == "ifdef")
    }

    fn define(&mut self, line: &[Token], span: Span) {
        let Some((Some(name), rest)) = line.split_first().map(|(first, rest)| (first.name(), rest)) else {
            return self.error(span, "`#define` needs a name", "write `#define NAME value`");
        };
        let mut params = None;
        let mut body = rest;
        if let Some((open, rest)) = rest.split_first()
            && open.is("(")
            && open.is_joined
        {
            let Some(close) = rest.iter().position(|token| token.is(")")) else {
                return self.error(open.span, "this list of parameters has no end", "write `)` where it ends");
            };
            if rest[..close].iter().any(|token| token.is("...")) {
                return self.error(span, "macros of any number of arguments are not read", "name each parameter");
            }
            params = Some(rest[..close].iter().filter_map(|token| token.name().cloned()).collect());
            body = &rest[close + 1..];
        }
        if let Some(token) = body.iter().find(|token| token.is("##") || token.is("#")) {
            return self.error(token.span, "`#` and `##` in a macro are not read", "write the names in full");
        }
        self.macros.insert(name.clone(), Macro { params, body: body.to_vec() });
    }

    fn include(&mut self, line: &[Token], span: Span, text: &str) {
        let (Some(first), Some(last)) = (line.first(), line.last()) else {
            return self.error(span, "`#include` needs a name", "remove it: what kernels can use is built in");
        };
        let named = Span { end: last.span.end, ..first.span };
        let name = text[named.start as usize..named.end as usize].trim_matches(['<', '>', '"']);
        if !HEADERS.contains(&name.strip_prefix("cuda/std/").unwrap_or(name)) {
            let help = "put what it declares into the text; CUDA's and C's own headers are built in";
            self.error(named, format!("the header `{name}` is not read"), help);
        }
    }

    /// Appends tokens with macros expanded. `active` are the macros around, which are not expanded again.
    fn expand(&mut self, tokens: &[Token], at: Option<Span>, active: &mut Vec<Rc<str>>, out: &mut Vec<Token>) {
        let mut rest = tokens;
        while let Some((token, after)) = rest.split_first() {
            rest = after;
            let found = token.name().filter(|name| !active.contains(name));
            let found = found.and_then(|name| Some((name.clone(), self.macros.get(name)?.clone())));
            let span = at.unwrap_or(token.span);
            let Some((name, found)) = found else {
                out.push(Token { span, ..token.clone() });
                continue;
            };
            if out.len() > MAX_TOKENS {
                return self.error(span, format!("`{name}` grows to more than a million tokens"), "write a function");
            }
            let Some(params) = &found.params else {
                active.push(name);
                self.expand(&found.body, Some(span), active, out);
                active.pop();
                continue;
            };
            if !rest.first().is_some_and(|next| next.is("(")) {
                out.push(Token { span, ..token.clone() });
                continue;
            }
            let Some((args, after)) = arguments(&rest[1..]) else {
                return self.error(span, format!("the arguments of `{name}` have no end"), "write `)` where they end");
            };
            rest = after;
            if args.len() != params.len() && !(params.is_empty() && args.len() == 1 && args[0].is_empty()) {
                let message = format!("`{name}` takes {} arguments, found {}", params.len(), args.len());
                self.error(span, message, "write as many as its `#define` says");
                continue;
            }
            let mut expanded = Vec::new();
            for arg in &args {
                let mut one = Vec::new();
                self.expand(arg, at, active, &mut one);
                expanded.push(one);
            }
            let mut body = Vec::new();
            for token in &found.body {
                let param = token.name().and_then(|name| params.iter().position(|param| param == name));
                match param {
                    Some(index) => body.extend(expanded[index].iter().cloned()),
                    None => body.push(Token { span, ..token.clone() }),
                }
            }
            // Arguments keep their own places; the rest of the body has that of the use already.
            active.push(name);
            self.expand(&body, None, active, out);
            active.pop();
        }
    }
}

const DIRECTIVES: &str = "there are #define, #undef, #if, #ifdef, #ifndef, #elif, #else, #endif, #include and #pragma";

/// Arguments of a macro up to its `)`, and what follows.
fn arguments(tokens: &[Token]) -> Option<(Vec<Vec<Token>>, &[Token])> {
    let (mut args, mut depth) = (vec![Vec::new()], 0);
    for (index, token) in tokens.iter().enumerate() {
        match &token.kind {
            Kind::Punct(")") if depth == 0 => return Some((args, &tokens[index + 1..])),
            Kind::Punct(",") if depth == 0 => {
                args.push(Vec::new());
                continue;
            }
            Kind::Punct("(" | "[" | "{") => depth += 1,
            Kind::Punct(")" | "]" | "}") => depth -= 1,
            Kind::End => return None,
            _ => {}
        }
        if let Some(last) = args.last_mut() {
            last.push(token.clone());
        }
    }
    None
}
