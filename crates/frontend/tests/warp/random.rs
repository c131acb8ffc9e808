//! Statements put together at random: whatever a user writes is lowered to valid IR or refused with a report.
//!
//! Lowering verifies the IR that it made and panics on a mistake of its own, so that a test only has to lower.

use crate::lowered::lower;
use frontend::Options;

/// Enough to meet every construct; a run of a million found nothing more.
const CASES: usize = 4000;

const HEADER: &str = "
@wp.struct
class P:
    v: wp.vec3
    m: wp.mat22
    n: int
    a: wp.array(dtype=float)

V = wp.vec3(1.0, 2.0, 3.0)
T = (1, 2.5, (3, True))
N = wp.uint8(200)
H = wp.float16(0.5)

@wp.func
def twice(x: Any):
    return x + x

@wp.func
def pair(x: int, y: float = 2.0):
    return x, y

def k(i: int, u: wp.uint64, b: bool, f: float, d: wp.float64, h: wp.float16, v: wp.vec3, w: wp.vec2i, m: wp.mat22,
      q: wp.quat, t: wp.transform, p: P, a: wp.array(dtype=float), c: wp.array2d(dtype=wp.vec3),
      e: wp.array(dtype=P), g: wp.indexedarray(dtype=int), o: wp.array(dtype=wp.int64)):
";

const NAMES: [&str; 26] = [
    "i", "u", "b", "f", "d", "h", "v", "w", "m", "q", "t", "p", "a", "c", "e", "g", "o", "V", "T", "N", "H", "x", "y",
    "z", "wp", "twice",
];
const LITERALS: [&str; 14] =
    ["0", "1", "-1", "2", "7", "300", "1.5", "0.0", "True", "None", "\"s\"", "1e30", "18446744073709551616", "()"];
const BINARY: [&str; 13] = ["+", "-", "*", "/", "//", "%", "**", "@", "&", "|", "^", "<<", ">>"];
const COMPARISONS: [&str; 10] = ["<", "<=", ">", ">=", "==", "!=", "is", "is not", "in", "not in"];
const ATTRIBUTES: [&str; 16] =
    ["x", "y", "w", "xy", "zyx", "wwww", "p", "q", "v", "m", "n", "a", "shape", "dtype", "ndim", "length"];
const CALLS: [&str; 14] = [
    "float",
    "int",
    "wp.vec3",
    "wp.vec2",
    "wp.mat22",
    "len",
    "twice",
    "pair",
    "wp.sqrt",
    "wp.dot",
    "wp.min",
    "wp.float64",
    "wp.uint8",
    "abs",
];

/// Xorshift: the same programs on every machine.
struct Random {
    state: u64,
    /// How deep expressions may nest.
    budget: u32,
}

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 16) as usize % n
    }

    fn of(&mut self, items: &[&'static str]) -> &'static str {
        items[self.below(items.len())]
    }

    fn list(&mut self, depth: u32, least: usize, most: usize) -> String {
        let n = least + self.below(most - least + 1);
        (0..n).map(|_| self.expr(depth)).collect::<Vec<_>>().join(", ")
    }

    fn index(&mut self, depth: u32) -> String {
        let bound = |random: &mut Random| if random.below(2) == 0 { String::new() } else { random.expr(0) };
        match self.below(5) {
            0 => format!("{}:{}", bound(self), bound(self)),
            1 => format!("{}:{}:{}", bound(self), bound(self), bound(self)),
            2 => format!("{}, {}", self.expr(depth), self.expr(depth)),
            3 => format!("{}, {}:", self.expr(depth), bound(self)),
            _ => self.expr(depth),
        }
    }

    /// An expression that names may start and attributes or subscripts follow.
    fn chain(&mut self, depth: u32) -> String {
        let mut text = self.of(&NAMES).to_owned();
        for _ in 0..self.below(4) {
            text += &match self.below(2) {
                0 => format!(".{}", self.of(&ATTRIBUTES)),
                _ => format!("[{}]", self.index(depth)),
            };
        }
        text
    }

    /// An expression of the program's depth.
    fn value(&mut self) -> String {
        self.expr(self.budget)
    }

    fn expr(&mut self, depth: u32) -> String {
        if depth == 0 {
            return if self.below(3) == 0 { self.of(&LITERALS).to_owned() } else { self.of(&NAMES).to_owned() };
        }
        let depth = depth - 1;
        match self.below(12) {
            0..=2 => self.chain(depth),
            3..=5 => format!("({} {} {})", self.expr(depth), self.of(&BINARY), self.expr(depth)),
            6 => format!("({} {} {})", self.expr(depth), self.of(&COMPARISONS), self.expr(depth)),
            7 => format!("({} < {} <= {})", self.expr(depth), self.expr(depth), self.expr(depth)),
            8 => format!("({}{})", ["-", "+", "~", "not "][self.below(4)], self.expr(depth)),
            9 => format!("{}({})", self.of(&CALLS), self.list(depth, 0, 3)),
            10 => format!("({},)", self.list(depth, 1, 3)),
            _ => match self.below(3) {
                0 => format!("({} if {} else {})", self.expr(depth), self.expr(depth), self.expr(depth)),
                1 => format!("({} and {})", self.expr(depth), self.expr(depth)),
                _ => format!("({} or {})", self.expr(depth), self.expr(depth)),
            },
        }
    }

    fn statement(&mut self, indent: &str, depth: u32) -> String {
        let inner = format!("{indent}    ");
        match self.below(10) {
            0 | 1 => format!("{indent}{} = {}\n", self.chain(1), self.value()),
            2 | 3 => format!("{indent}{} = {}\n", ["x", "y", "z"][self.below(3)], self.value()),
            4 | 5 => format!("{indent}{} {}= {}\n", self.chain(1), self.of(&BINARY), self.value()),
            6 => format!("{indent}x, y = {}\n", self.value()),
            7 => format!(
                "{indent}{}: {} = {}\n",
                self.of(&["x", "y"]),
                self.of(&["int", "float", "wp.vec3"]),
                self.expr(1)
            ),
            8 if depth > 0 => {
                let (test, body, other) =
                    (self.value(), self.statement(&inner, depth - 1), self.statement(&inner, depth - 1));
                format!("{indent}if {test}:\n{body}{indent}else:\n{other}")
            }
            9 if depth > 0 => {
                let (bound, body) = (self.expr(1), self.statement(&inner, depth - 1));
                format!("{indent}for z in range({bound}):\n{body}")
            }
            _ => format!("{indent}{}\n", self.value()),
        }
    }
}

#[test]
fn anything_is_lowered_or_refused() {
    let mut random = Random { state: 0x9E37_79B9_7F4A_7C15, budget: 0 };
    let mut n_accepted = 0;
    for case in 0..CASES {
        // Short programs are accepted more often, long ones reach more.
        random.budget = 1 + random.below(3) as u32;
        let statements: String = (0..1 + case % 2).map(|_| random.statement("    ", random.budget - 1)).collect();
        let text = format!("{HEADER}    x = 1\n    y = f\n    z = v\n{statements}");
        let options = Options { checked: case % 2 == 0, check_finite: case % 3 == 0, ..Options::default() };
        let outcome = std::panic::catch_unwind(|| lower(&text, &options).is_ok());
        match outcome {
            Ok(is_accepted) => n_accepted += usize::from(is_accepted),
            Err(_) => panic!("case {case}:\n{statements}"),
        }
    }
    assert!(n_accepted > 100, "only {n_accepted} programs were accepted");
}

#[test]
fn long_sums_and_deep_nesting_do_not_exhaust_the_stack() {
    let sum = format!("def k(x: float):\n    y = x{}\n", " + x".repeat(8_000));
    assert!(lower(&sum, &Options::default()).is_ok());
    let negated = format!("def k(x: float):\n    y = {}x\n", "-".repeat(5_000));
    assert!(lower(&negated, &Options::default()).is_ok());
    let called = format!("def k(x: float):\n    y = {}x{}\n", "wp.abs(".repeat(190), ")".repeat(190));
    assert!(lower(&called, &Options::default()).is_ok());
}
