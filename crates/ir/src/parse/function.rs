//! Functions and regions. Instructions are in `instruction`.

use super::cursor::Cursor;
use super::types::parse_type;
use super::{NamedCall, Parsed, instruction};
use crate::func::{FuncRef, Function, FunctionKind, InstId, Param, RegionId, Value, ValueData, ValueDef};
use crate::types::Type;
use crate::verify::MAX_DEPTH;

/// What is known of the function being read.
pub(super) struct Reader<'c, 'a> {
    pub cursor: &'c mut Cursor<'a>,
    pub func: Function,
    pub this: FuncRef,
    pub calls: &'c mut Vec<NamedCall>,
    defined: Vec<Option<ValueData>>,
    /// Values in operands, and where; looked up when the function has been read.
    uses: Vec<(Value, usize)>,
    depth: usize,
}

pub(super) fn function(
    cursor: &mut Cursor,
    kind: FunctionKind,
    this: FuncRef,
    calls: &mut Vec<NamedCall>,
) -> Parsed<Function> {
    cursor.expect("@")?;
    let name = cursor.name()?;
    let func = Function::new(name, kind, Vec::new(), Vec::new());
    let mut reader = Reader { cursor, func, this, calls, defined: Vec::new(), uses: Vec::new(), depth: 0 };
    let body = reader.func.body;
    reader.cursor.expect("(")?;
    while !reader.cursor.is_at(")") && (reader.func.params.is_empty() || reader.cursor.eat(",")) {
        let (param, ty) = reader.region_param(body)?;
        reader.func.params.push(Param { name: format!("v{}", param.0), ty });
    }
    reader.cursor.expect(")")?;
    if reader.cursor.eat("->") {
        reader.func.results = results(reader.cursor)?;
    }
    reader.region(body)?;
    reader.finish()
}

fn results(cursor: &mut Cursor) -> Parsed<Vec<Type>> {
    if !cursor.eat("(") {
        return Ok(vec![parse_type(cursor)?]);
    }
    let mut types = Vec::new();
    while !cursor.is_at(")") {
        if !types.is_empty() {
            cursor.expect(",")?;
        }
        types.push(parse_type(cursor)?);
    }
    cursor.expect(")")?;
    Ok(types)
}

impl Reader<'_, '_> {
    /// `v3: f32`, defined as `def`.
    pub(super) fn definition(&mut self, def: ValueDef) -> Parsed<(Value, Type)> {
        let at = self.cursor.position();
        let value = self.cursor.value()?;
        self.cursor.expect(":")?;
        let ty = parse_type(self.cursor)?;
        if self.defined.len() <= value.index() {
            self.defined.resize(value.index() + 1, None);
        }
        if self.defined[value.index()].replace(ValueData { ty, def }).is_some() {
            return Err(self.cursor.error_at(at, &format!("v{} is defined twice", value.0)));
        }
        Ok((value, ty))
    }

    pub(super) fn region_param(&mut self, region: RegionId) -> Parsed<(Value, Type)> {
        let index = self.func.region(region).params.len() as u32;
        let (value, ty) = self.definition(ValueDef::Param(region, index))?;
        self.func.regions[region.index()].params.push(value);
        Ok((value, ty))
    }

    pub(super) fn operand(&mut self) -> Parsed<Value> {
        let at = self.cursor.position();
        let value = self.cursor.value()?;
        self.uses.push((value, at));
        Ok(value)
    }

    /// Operands up to the end of the line or what follows them.
    pub(super) fn operands(&mut self) -> Parsed<Vec<Value>> {
        let mut values = Vec::new();
        if !self.cursor.is_at_inst_end() && self.cursor.is_at_value() {
            values.push(self.operand()?);
            while self.cursor.eat(",") {
                values.push(self.operand()?);
            }
        }
        Ok(values)
    }

    /// Operands between brackets.
    pub(super) fn bracketed(&mut self, open: &str, close: &str) -> Parsed<Vec<Value>> {
        self.cursor.expect(open)?;
        let mut values = Vec::new();
        while !self.cursor.is_at(close) && (values.is_empty() || self.cursor.eat(",")) {
            values.push(self.operand()?);
        }
        self.cursor.expect(close)?;
        Ok(values)
    }

    /// `{ … }` into a region whose parameters are known.
    pub(super) fn region(&mut self, region: RegionId) -> Parsed<()> {
        if self.depth > MAX_DEPTH {
            return Err(self.cursor.error("regions are nested too deep"));
        }
        self.cursor.expect("{")?;
        self.depth += 1;
        loop {
            while self.cursor.eat(";") {}
            if self.cursor.eat("}") {
                break;
            }
            let inst = instruction::instruction(self)?;
            self.func.regions[region.index()].insts.push(inst);
            if !self.cursor.is_at_inst_end() {
                return Err(self.cursor.error("expected the end of the instruction: a line break, `;` or `}`"));
            }
        }
        self.depth -= 1;
        Ok(())
    }

    /// Notes a call by name, for when all functions have been read.
    pub(super) fn named_call(&mut self, inst: InstId, name: String, at: usize) {
        self.calls.push(NamedCall { func: self.this, inst, name, at });
    }

    fn finish(self) -> Parsed<Function> {
        for (value, at) in self.uses {
            if self.defined.get(value.index()).is_none_or(Option::is_none) {
                return Err(self.cursor.error_at(at, &format!("v{} is not defined in this function", value.0)));
            }
        }
        // Numbers that the text leaves out belong to no region.
        let gap = ValueData { ty: Type::bool(), def: ValueDef::Param(self.func.body, u32::MAX) };
        let mut func = self.func;
        func.values = self.defined.into_iter().map(|value| value.unwrap_or(gap)).collect();
        Ok(func)
    }
}
