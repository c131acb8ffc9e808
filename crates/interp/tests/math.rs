//! Elementary functions after `expand_math`: error bounds and special values.
//!
//! Functions of f32 are compared with f64 functions of the platform, so every argument could be tested; a stride keeps
//! the time short. Functions of f64 are compared with a table of 60-digit values (math/double.txt).

#[path = "math/double.rs"]
mod double;
#[path = "math/single.rs"]
mod single;
#[path = "math/special.rs"]
mod special;

use interp::{InterpValue, Program};
use ir::{FuncRef, Module, Scalar, Type, parse::parse_module};

/// A function made of one op, with its math expanded.
struct Expanded {
    program: Program,
    scalar: Scalar,
}

impl Expanded {
    fn new(op: &str, scalar: Scalar) -> Expanded {
        Expanded::with_options(op, scalar, false)
    }

    fn with_options(op: &str, scalar: Scalar, fast_math: bool) -> Expanded {
        let ty = scalar.name();
        let is_binary = matches!(op, "pow" | "atan2" | "rem" | "mod");
        let (params, args) =
            if is_binary { (format!("v0: {ty}, v1: {ty}"), "v0, v1") } else { (format!("v0: {ty}"), "v0") };
        let mut module = module(&format!("func @f({params}) -> {ty} {{ v2: {ty} = {op} {args}; return v2 }}"));
        module.fast_math = fast_math;
        assert!(transform::expand_math(&mut module).0, "{op} {ty} is not expanded");
        if let Err(errors) = ir::verify::verify(&module) {
            panic!("{}", ir::verify::report(&module, &errors));
        }
        assert!(!module.to_string().contains("call"), "{module}");
        Expanded { program: Program::new(&module), scalar }
    }

    fn eval(&self, args: &[u64]) -> u64 {
        let ty = Type::scalar(self.scalar);
        let args: Vec<_> = args.iter().map(|&word| InterpValue { ty, words: vec![word] }).collect();
        self.program.call(FuncRef(0), &args).expect("no check fails")[0].words[0]
    }

    fn f32(&self, args: &[f32]) -> f32 {
        f32::from_bits(self.eval(&args.iter().map(|x| u64::from(x.to_bits())).collect::<Vec<_>>()) as u32)
    }

    fn f64(&self, args: &[f64]) -> f64 {
        f64::from_bits(self.eval(&args.iter().map(|x| x.to_bits()).collect::<Vec<_>>()))
    }
}

fn module(text: &str) -> Module {
    parse_module(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}
