use super::*;
use crate::builder::Builder;
use crate::func::{FunctionKind, Param, RegionId, Value};
use crate::op::Op;
use crate::types::Scalar;
use diagnostics::Span;

/// A function of an f32 and an i64 whose body `fill` writes, verified.
fn check(fill: impl FnOnce(&mut Builder, Value, Value)) -> String {
    let params = vec![
        Param { name: "x".into(), ty: Type::f32() },
        Param { name: "i".into(), ty: Type::i64() },
        Param { name: "a".into(), ty: Type::array(Type::vector(Scalar::F32, 3), 1) },
    ];
    let mut func = Function::new("f", FunctionKind::Function, params, vec![Type::f32()]);
    let mut b = Builder::new(&mut func);
    let (x, i) = (b.param(0), b.param(1));
    fill(&mut b, x, i);
    let module = Module { funcs: vec![func], ..Module::default() };
    match verify(&module) {
        Ok(()) => "ok".to_string(),
        Err(errors) => report(&module, &errors),
    }
}

#[test]
fn a_valid_function_passes() {
    assert_eq!(check(|b, x, _| b.ret(&[x])), "ok");
}

#[test]
fn errors_stand_under_their_instruction() {
    let text = check(|b, x, i| {
        let sum = b.binary(Op::Add, x, i);
        b.ret(&[sum]);
    });
    insta::assert_snapshot!(text, @r"
    func @f(v0: f32, v1: i64, v2: array<vec<f32, 3>, 1>) -> f32 {
      v3: f32 = add v0, v1
      ^ error: operands of `add` must be of one type, found f32 and i64
      return v3
    }
    ");
}

#[test]
fn a_value_is_visible_in_its_region_only() {
    let text = check(|b, _, i| {
        let zero = b.int(Scalar::I64, 0);
        let condition = b.compare(Op::Lt, i, zero);
        let (then, or) = (b.func.add_region(&[]), b.func.add_region(&[]));
        b.push(Op::If, &[condition], Attr::None, &[then, or], &[]);
        let outer = b.enter(then);
        let inner = b.float(Scalar::F32, 1.0);
        b.yield_(&[]);
        b.enter(or);
        b.yield_(&[inner]);
        b.enter(outer);
        b.ret(&[inner]);
    });
    assert_eq!(text.matches("v5 is not defined on the way here").count(), 2, "{text}");
}

#[test]
fn a_path_must_lead_somewhere() {
    let text = check(|b, x, i| {
        let array = b.param(2);
        let path = Attr::Path(Box::new([crate::func::PathElem::Static(3)]));
        b.push(Op::Load, &[array, i], path, &[], &[Type::f32()]);
        b.ret(&[x]);
    });
    assert!(text.contains("the path leads to no piece of vec<f32, 3>"), "{text}");
}

#[test]
fn broken_tables_are_errors_and_not_panics() {
    let mut func = Function::new("f", FunctionKind::Function, vec![], vec![]);
    let (a, b) = (func.add_region(&[]), func.add_region(&[]));
    let inst = func.add_inst(Op::If, &[Value(77)], Attr::None, &[a, a, RegionId(9)], &[Type::f32()], Span::NONE);
    // A region that contains the instruction that owns it.
    func.regions[a.index()].insts.push(inst);
    func.regions[b.index()].params.push(Value(50));
    func.regions[0].insts.extend([inst, InstId(4), inst]);
    let module = Module { funcs: vec![func.clone(), func], ..Module::default() };
    let errors = verify(&module).unwrap_err();
    let text = report(&module, &errors);
    for part in ["there is no value v77", "no region 9", "no instruction 4", "listed twice", "a second function"] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
}

#[test]
fn recursion_is_found() {
    let call = |callee: u32| {
        let mut func = Function::new(format!("f{callee}"), FunctionKind::Function, vec![], vec![]);
        let mut b = Builder::new(&mut func);
        b.push(Op::Call, &[], Attr::Func(FuncRef(callee)), &[], &[]);
        b.ret(&[]);
        func
    };
    let module = Module { funcs: vec![call(1), call(2), call(0)], ..Module::default() };
    let errors = verify(&module).unwrap_err();
    assert_eq!(errors.len(), 1);
    assert!(errors[0].message.contains("calls itself"), "{}", errors[0]);
}

#[test]
fn a_tower_of_regions_is_refused() {
    let mut func = Function::new("f", FunctionKind::Function, vec![], vec![]);
    let mut b = Builder::new(&mut func);
    for _ in 0..20_000 {
        let inner = b.func.add_region(&[]);
        b.push(Op::Loop, &[], Attr::None, &[inner], &[]);
        b.break_(&[]);
        b.enter(inner);
    }
    b.break_(&[]);
    let module = Module { funcs: vec![func], ..Module::default() };
    let errors = verify(&module).unwrap_err();
    assert!(errors[0].message.contains("nested more than"), "{}", errors[0].message);
    report(&module, &errors);
}
