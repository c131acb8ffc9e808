//! Units come from the disk where a program answers as before, and only there.
//!
//! Alone in its file, for it counts what the process does.

use frontend::{Dialect, FuncSource, Host, HostValue, ObjectId, Options, ParamSource, Passing, TypePattern};
use ir::Type;
use pipeline::build;
use pipeline::cache::DiskCache;
use std::sync::Arc;

const KERNEL: ObjectId = ObjectId(7);

/// A program of one kernel over one array, and what its names stand for.
struct Program {
    text: &'static str,
    names: Vec<(&'static str, HostValue)>,
}

impl Program {
    fn new(text: &'static str, names: &[(&'static str, HostValue)]) -> Program {
        Program { text, names: names.to_vec() }
    }
}

impl Host for Program {
    fn source(&self, _: ObjectId) -> Result<Arc<FuncSource>, String> {
        let array = TypePattern::Is(Type::array(Type::f32(), 1));
        let a = ParamSource { name: "a".into(), annotation: Some(array), default: None, passing: Passing::Either };
        Ok(Arc::new(FuncSource {
            name: "k".into(),
            file: "k.py".into(),
            text: self.text.into(),
            first_line: 1,
            params: vec![a],
            returns: None,
            dialect: Dialect::Warp,
            defines: Vec::new(),
        }))
    }

    fn overloads(&self, func: ObjectId) -> Vec<ObjectId> {
        vec![func]
    }

    fn lookup(&self, _: ObjectId, name: &str) -> Option<HostValue> {
        self.names.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone())
    }

    fn attribute(&self, _: ObjectId, name: &str) -> Option<HostValue> {
        self.lookup(KERNEL, name)
    }

    fn evaluate(&self, _: ObjectId, _: &str, _: &[(String, HostValue)]) -> Result<HostValue, String> {
        Ok(HostValue::Float(1.0))
    }

    fn describe(&self, _: ObjectId) -> String {
        "k".into()
    }
}

fn n_recalled() -> f64 {
    pipeline::counters::counters().into_iter().find(|(name, _)| *name == "recalled").expect("there is one").1
}

/// Whether a program's unit was on disk. It is the one that the front end makes.
fn is_recalled(disk: &DiskCache, program: &Program) -> bool {
    let types = [Type::array(Type::f32(), 1)];
    let before = n_recalled();
    let found = build(program, KERNEL, &types, &Options::default(), Some(disk)).expect("it compiles");
    let made = build(program, KERNEL, &types, &Options::default(), None).expect("it compiles");
    assert_eq!(found.key(), made.key());
    assert_eq!(found.func().to_string(), made.func().to_string());
    assert_eq!(found.func().params, made.func().params);
    n_recalled() > before
}

#[test]
fn a_program_that_answers_otherwise_is_compiled() {
    let dir = std::env::temp_dir().join(format!("gridstride-recall-{}", std::process::id()));
    let disk = DiskCache::open(&dir).expect("a directory of our own is accepted");
    let branches = "def k(a):\n    if FLAG:\n        a[0] = X\n    else:\n        a[0] = m.Y\n";
    let module = ("m", HostValue::Object(ObjectId(3)));
    let with = |flag: bool, x: f64| {
        let names = [("FLAG", HostValue::Bool(flag)), ("X", HostValue::Float(x)), ("Y", HostValue::Float(x))];
        Program::new(branches, &[&names[..], std::slice::from_ref(&module)].concat())
    };
    for (flag, x) in [(true, 0.0), (true, -0.0), (false, 0.0), (false, f64::NAN), (false, -f64::NAN)] {
        assert!(!is_recalled(&disk, &with(flag, x)), "{flag} {x}");
        assert!(is_recalled(&disk, &with(flag, x)), "{flag} {x}");
    }
    // What is not asked may be anything.
    let names = [("FLAG", HostValue::Bool(true)), ("X", HostValue::Float(0.0)), ("Y", HostValue::None)];
    assert!(is_recalled(&disk, &Program::new(branches, &names)));
    // Another text, though its kernel is the same.
    assert!(!is_recalled(&disk, &Program::new("def k(a):\n    a[0] = X\n# end\n", &names)));
    assert!(!is_recalled(&disk, &Program::new("def k(a):\n    a[0] = X\n# END\n", &names)));
    // The newest of many values are kept.
    (0..40).for_each(|x| assert!(!is_recalled(&disk, &with(true, f64::from(x) + 0.5))));
    assert!(is_recalled(&disk, &with(true, 39.5)) && is_recalled(&disk, &with(true, 20.5)));
    assert!(!is_recalled(&disk, &with(true, 0.5)));
    // Code of the program runs.
    let evaluated = Program::new("def k(a):\n    x: float = 1.0\n    a[0] = x\n", &[]);
    assert!(!is_recalled(&disk, &evaluated) && !is_recalled(&disk, &evaluated));
    for entry in std::fs::read_dir(&dir).expect("it is there").flatten() {
        std::fs::write(entry.path(), b"GSOBJ").expect("it is ours");
    }
    assert!(!is_recalled(&disk, &with(true, 39.5)) && is_recalled(&disk, &with(true, 39.5)));
    let _ = std::fs::remove_dir_all(dir);
}
