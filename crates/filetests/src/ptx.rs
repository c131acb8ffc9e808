//! Kernels as PTX, for fragments to be looked for.

use codegen::nvptx::{self, PtxOptions};
use ir::{FuncRef, Module};

/// Reads the words after `test: ptx`: `sm=90`, `rank=2`, `contiguous`, `aligned`, `strided`, `few`, and
/// `summed=0,2`: small arrays by number of the parameter.
pub fn options(words: &[&str]) -> Result<PtxOptions, String> {
    let mut options = PtxOptions { sm: 90, ..PtxOptions::default() };
    for word in words {
        let number = |text: &str| text.parse().map_err(|_| format!("`{text}` is no number"));
        match word.split_once('=') {
            Some(("sm", text)) => options.sm = number(text)?,
            Some(("ptx", text)) => options.ptx = number(text)?,
            Some(("summed", text)) => {
                for param in text.split(',') {
                    options.summed |= 1 << number(param)?;
                }
            }
            Some(("rank", text)) => options.rank = number(text)?,
            None if *word == "contiguous" => options.contiguous = true,
            None if *word == "aligned" => options.aligned = true,
            None if *word == "few" => options.few_threads = true,
            None if *word == "strided" => options.strided = true,
            _ => return Err(format!("there is no option `{word}`")),
        }
    }
    Ok(options)
}

/// The PTX of a module's kernel, optimized as for users, with registers and labels masked: `%rd17` reads `%rd`.
pub fn text(module: &Module, options: &PtxOptions) -> Result<String, String> {
    let kernel = module.kernel().ok_or("there is no kernel")?;
    Ok(mask(&compile(module, kernel, options)?))
}

/// The PTX of a kernel as it is.
pub fn compile(module: &Module, kernel: FuncRef, options: &PtxOptions) -> Result<String, String> {
    let name = module.func(kernel).name.clone();
    let mut module = module.clone();
    transform::optimize(&mut module);
    let kernel = module.find(&name).ok_or("the kernel is gone")?;
    nvptx::compile(&module, kernel, options, None).map(|ptx| ptx.text).map_err(|error| error.to_string())
}

fn mask(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        masked.push(c);
        let is_special = c == '%' || c == '$';
        while is_special && let Some(&next) = chars.peek().filter(|c| c.is_ascii_alphabetic() || **c == '_') {
            masked.push(next);
            chars.next();
        }
        while is_special && chars.peek().is_some_and(|&c| c.is_ascii_digit() || c == '_') {
            chars.next();
        }
    }
    masked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_registers_and_labels_go() {
        assert_eq!(
            mask("add.s64 %rd12, %rd3, %tid.x;\n@%p1 bra $L__BB0_2;"),
            "add.s64 %rd, %rd, %tid.x;\n@%p bra $L__BB;"
        );
    }
}
