//! Instructions, each op in the form that the printer gives it.

use super::Parsed;
use super::function::Reader;
use crate::func::{Attr, FuncRef, Inst, InstId, PathElem, RegionId, SiteId, Value, ValueDef};
use crate::literal::parse_const;
use crate::op::{AtomicOp, AttrKind, FenceScope, Op, ShuffleMode, VoteMode};
use crate::types::Type;
use diagnostics::Span;
use smallvec::SmallVec;

/// Reads `results = op …` with the regions it owns.
pub(super) fn instruction(reader: &mut Reader) -> Parsed<InstId> {
    let id = InstId(reader.func.insts.len() as u32);
    // The place in the table comes first, because results and regions name it.
    reader.func.insts.push(Inst {
        op: Op::Unreachable,
        operands: SmallVec::new(),
        results: SmallVec::new(),
        attr: Attr::None,
        regions: SmallVec::new(),
        span: Span::NONE,
    });
    let mut results: SmallVec<[Value; 1]> = SmallVec::new();
    let mut first_type = None;
    if reader.cursor.is_at_value() {
        while results.is_empty() || reader.cursor.eat(",") {
            let (value, ty) = reader.definition(ValueDef::Result(id, results.len() as u32))?;
            first_type.get_or_insert(ty);
            results.push(value);
        }
        reader.cursor.expect("=")?;
    }
    let at = reader.cursor.position();
    let name = reader.cursor.name()?;
    let Some(op) = Op::from_name(&name) else {
        return Err(reader.cursor.error_at(at, &format!("there is no op `{name}`")));
    };
    let inst = &mut reader.func.insts[id.index()];
    (inst.op, inst.results) = (op, results);
    let (operands, attr) = match op {
        Op::Const => (Vec::new(), constant(reader, first_type)?),
        Op::Load | Op::Store | Op::Atomic | Op::AtomicCas | Op::CheckBounds => access(reader, op)?,
        _ if op.attr_kind() == AttrKind::Func => call(reader, id)?,
        Op::Print | Op::CallExtern => {
            let text = reader.cursor.string()?;
            let operands = if reader.cursor.eat(",") { reader.operands()? } else { Vec::new() };
            (operands, Attr::Text(text.into()))
        }
        Op::For => (for_(reader, id)?, Attr::None),
        Op::Loop => (loop_(reader, id)?, Attr::None),
        Op::If => (if_(reader, id)?, Attr::None),
        Op::Each => {
            let region = own_region(reader, id);
            reader.region_param(region)?;
            reader.cursor.expect("=")?;
            let n = reader.operand()?;
            reader.region(region)?;
            (vec![n], Attr::None)
        }
        Op::Threads => {
            let region = own_region(reader, id);
            reader.region(region)?;
            (Vec::new(), Attr::None)
        }
        _ => {
            let operands = reader.operands()?;
            (operands, attribute(reader, op)?)
        }
    };
    let inst = &mut reader.func.insts[id.index()];
    inst.operands = operands.into();
    // A call by name gets its attribute at the end of the module.
    if attr != Attr::None {
        inst.attr = attr;
    }
    Ok(id)
}

fn constant(reader: &mut Reader, ty: Option<Type>) -> Parsed<Attr> {
    let at = reader.cursor.position();
    let text = reader.cursor.literal();
    let Some(scalar) = ty.and_then(Type::as_scalar) else {
        return Err(reader.cursor.error_at(at, "a constant needs one result of scalar type"));
    };
    parse_const(scalar, text).map(Attr::Const).map_err(|message| reader.cursor.error_at(at, &message))
}

/// `{1}`, `{3, 4}`, `{site 0}`, or the bare number of `tid 0`.
fn attribute(reader: &mut Reader, op: Op) -> Parsed<Attr> {
    if op.attr_kind() == AttrKind::Index && !reader.cursor.is_at("{") {
        return Ok(Attr::Index(reader.cursor.integer32()?));
    }
    if op.attr_kind() == AttrKind::None {
        return Ok(Attr::None);
    }
    reader.cursor.expect("{")?;
    let attr = match op.attr_kind() {
        AttrKind::Index => Attr::Index(reader.cursor.integer32()?),
        AttrKind::Extents => {
            let mut extents = Vec::new();
            while !reader.cursor.is_at("}") && (extents.is_empty() || reader.cursor.eat(",")) {
                extents.push(reader.cursor.integer()?);
            }
            Attr::Extents(extents.into())
        }
        AttrKind::Atomic => Attr::Atomic(mode(reader, AtomicOp::from_name)?, Box::default()),
        AttrKind::Site => site(reader)?,
        AttrKind::Scope => Attr::Scope(mode(reader, FenceScope::from_name)?),
        AttrKind::Shuffle => Attr::Shuffle(mode(reader, ShuffleMode::from_name)?),
        AttrKind::Vote => Attr::Vote(mode(reader, VoteMode::from_name)?),
        kind => return Err(reader.cursor.error(&format!("an attribute of kind {kind:?} is not written in braces"))),
    };
    reader.cursor.expect("}")?;
    Ok(attr)
}

fn mode<T>(reader: &mut Reader, from_name: fn(&str) -> Option<T>) -> Parsed<T> {
    let at = reader.cursor.position();
    let name = reader.cursor.name()?;
    from_name(&name).ok_or_else(|| reader.cursor.error_at(at, &format!("there is no `{name}` of this op")))
}

fn site(reader: &mut Reader) -> Parsed<Attr> {
    reader.cursor.word("site")?;
    Ok(Attr::Site(SiteId(reader.cursor.integer32()?)))
}

/// `add v1[v3].0.?v5, v4`.
fn access(reader: &mut Reader, op: Op) -> Parsed<(Vec<Value>, Attr)> {
    let mut atomic = None;
    if op == Op::Atomic {
        let at = reader.cursor.position();
        let name = reader.cursor.name()?;
        atomic = AtomicOp::from_name(&name);
        if atomic.is_none() {
            return Err(reader.cursor.error_at(at, &format!("there is no atomic operation `{name}`")));
        }
    }
    let mut operands = vec![reader.operand()?];
    operands.extend(reader.bracketed("[", "]")?);
    let mut path = Vec::new();
    while reader.cursor.eat_attached('.') {
        if reader.cursor.eat_attached('?') {
            path.push(PathElem::Dynamic);
            if reader.cursor.is_at("(") {
                operands.extend(reader.bracketed("(", ")")?);
            } else {
                operands.push(reader.operand()?);
            }
        } else {
            path.push(PathElem::Static(reader.cursor.integer32()?));
        }
    }
    while reader.cursor.eat(",") {
        operands.push(reader.operand()?);
    }
    let attr = match atomic {
        Some(atomic) => Attr::Atomic(atomic, path.into()),
        None if op == Op::CheckBounds => {
            reader.cursor.expect("{")?;
            let site = site(reader)?;
            reader.cursor.expect("}")?;
            site
        }
        None => Attr::Path(path.into()),
    };
    Ok((operands, attr))
}

/// `@f(v1, v2)`, or `@#3(…)` by number.
fn call(reader: &mut Reader, id: InstId) -> Parsed<(Vec<Value>, Attr)> {
    reader.cursor.expect("@")?;
    let attr = if reader.cursor.eat_attached('#') {
        Attr::Func(FuncRef(reader.cursor.integer32()?))
    } else {
        let at = reader.cursor.position();
        let name = reader.cursor.name()?;
        reader.named_call(id, name, at);
        Attr::None
    };
    Ok((reader.bracketed("(", ")")?, attr))
}

fn own_region(reader: &mut Reader, id: InstId) -> RegionId {
    let region = reader.func.add_region(&[]);
    reader.func.insts[id.index()].regions.push(region);
    region
}

fn for_(reader: &mut Reader, id: InstId) -> Parsed<Vec<Value>> {
    let region = own_region(reader, id);
    reader.region_param(region)?;
    reader.cursor.expect("=")?;
    let mut operands = vec![reader.operand()?];
    reader.cursor.word("to")?;
    operands.push(reader.operand()?);
    reader.cursor.word("step")?;
    operands.push(reader.operand()?);
    if reader.cursor.eat_word("with") {
        operands.extend(carried(reader, region)?);
    }
    reader.region(region)?;
    Ok(operands)
}

fn loop_(reader: &mut Reader, id: InstId) -> Parsed<Vec<Value>> {
    let region = own_region(reader, id);
    let operands = if reader.cursor.is_at("(") { carried(reader, region)? } else { Vec::new() };
    reader.region(region)?;
    Ok(operands)
}

/// `(v6: f32 = v4, …)`.
fn carried(reader: &mut Reader, region: RegionId) -> Parsed<Vec<Value>> {
    reader.cursor.expect("(")?;
    let mut operands = Vec::new();
    while !reader.cursor.is_at(")") && (operands.is_empty() || reader.cursor.eat(",")) {
        reader.region_param(region)?;
        reader.cursor.expect("=")?;
        operands.push(reader.operand()?);
    }
    reader.cursor.expect(")")?;
    Ok(operands)
}

fn if_(reader: &mut Reader, id: InstId) -> Parsed<Vec<Value>> {
    let condition = reader.operand()?;
    let then = own_region(reader, id);
    reader.region(then)?;
    let or = own_region(reader, id);
    if reader.cursor.eat_word("else") {
        reader.region(or)?;
    } else {
        let nothing = reader.func.add_inst(Op::Yield, &[], Attr::None, &[], &[], Span::NONE);
        reader.func.regions[or.index()].insts.push(nothing);
    }
    Ok(vec![condition])
}
