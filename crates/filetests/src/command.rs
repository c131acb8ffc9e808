//! Commands of a filetest: comment lines that start with a known word and a colon.

use codegen::nvptx::PtxOptions;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Test(Mode),
    /// `check` and `error`.
    Check(String),
    Not(String),
    Run(String),
    /// A launch whose derivatives are checked.
    Gradient(String),
}

/// What is done to the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mode {
    Print,
    Parse,
    Verify,
    Transform(Vec<String>),
    Ptx(PtxOptions),
    /// Reverse mode: the output is the adjoint kernel.
    Adjoint,
}

/// All commands of a file in order. A comment that looks like a command but is none is an error, so that a misspelt
/// check does not pass unseen.
pub fn read(text: &str) -> Result<Vec<Command>, String> {
    let mut commands = Vec::new();
    for line in text.lines() {
        let Some(comment) = line.trim_start().strip_prefix(';') else { continue };
        let Some((word, rest)) = comment.trim_start_matches(';').trim_start().split_once(':') else { continue };
        if word.is_empty() || !word.chars().all(|c| c.is_ascii_lowercase()) {
            continue;
        }
        let rest = rest.trim().to_string();
        commands.push(match word {
            "test" => Command::Test(mode(&rest)?),
            "check" | "error" => Command::Check(rest),
            "not" => Command::Not(rest),
            "run" => Command::Run(rest),
            "gradient" => Command::Gradient(rest),
            _ => return Err(format!("there is no command `{word}`")),
        });
    }
    Ok(commands)
}

fn mode(text: &str) -> Result<Mode, String> {
    let mut words = text.split_whitespace();
    Ok(match words.next() {
        Some("print" | "run") => Mode::Print,
        Some("parse") => Mode::Parse,
        Some("verify") => Mode::Verify,
        Some("adjoint") => Mode::Adjoint,
        Some("ptx") => Mode::Ptx(crate::ptx::options(&words.collect::<Vec<_>>())?),
        Some("transform") => Mode::Transform(words.map(str::to_string).collect()),
        _ => return Err(format!("there is no test `{text}`")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_command_is_an_error() {
        assert!(read("; chek: x").is_err());
        assert_eq!(read("; Note: x\n; see http://x"), Ok(vec![]));
        assert_eq!(read(" ; check:  a: b "), Ok(vec![Command::Check("a: b".into())]));
    }
}
