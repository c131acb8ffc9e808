//! Places: what subscripts and attributes lead to, before it is read or written.
//!
//! `a[i].m[0, 1]` is one place in array memory, so that reading it loads one scalar and writing it stores one.
//! A piece of a local value is read by `extract` and written by making the value anew (see `assign`).

use super::lower::{Binding, Lower, Result};
use super::operand::Operand;
use crate::HostValue;
use crate::warp::tiles::TilePart;
use diagnostics::Span;
use fabric::Fabric;
use ir::{Attr, Op, PathElem, Scalar, Type, TypeKind, Value};
use ruff_python_ast::{Expr, ExprSlice, ExprSubscript};

mod component;
mod fabric;
mod indexed;
mod view;

pub(crate) use indexed::{array_type, is_mapped_array};

/// Something that can be read, and perhaps written.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// A result that no name holds.
    Operand(Operand),
    /// A name of this body.
    Name(String, Operand),
    /// An array's element or a piece of it.
    Memory(Access),
    /// A part of a tile.
    Tile(Value, TilePart),
    /// A piece of another place that no memory path can name.
    Piece(Box<Place>, Piece),
}

/// An element of an array, or a piece of one.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub(crate) array: Value,
    /// One i64 a dimension, in range unless the program is wrong.
    pub(crate) indices: Vec<Value>,
    pub(crate) path: Vec<PathElem>,
    pub(crate) path_indices: Vec<Value>,
    pub(crate) ty: Type,
    /// The array as the user wrote it.
    pub(crate) name: String,
    pub(crate) span: Span,
}

/// Part of a composite, struct or tuple.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub(crate) kind: PieceKind,
    pub(crate) ty: Type,
}

#[derive(Clone, Debug)]
pub(crate) enum PieceKind {
    Component(u32),
    /// Components in an order of their own: a swizzle, a slice, a row, the parts of a transform.
    Several(Vec<u32>),
    /// A scalar at a run-time index; row and column of a matrix.
    At(Vec<Value>),
    /// A row or column of a matrix at a run-time index.
    Line {
        index: Value,
        is_row: bool,
    },
}

/// An evaluated index and where it stands.
pub(crate) type Index = (Operand, Span);

impl Access {
    /// The access one step further.
    pub(crate) fn step(mut self, step: PathElem, indices: &[Value], ty: Type) -> Access {
        self.path.push(step);
        self.path_indices.extend(indices);
        self.ty = ty;
        self
    }
}

impl Lower<'_, '_> {
    /// What an expression leads to, without reading it.
    pub(crate) fn place(&mut self, expr: &Expr) -> Result<Place> {
        let here = self.span_of(expr);
        let outer = std::mem::replace(&mut self.span, here);
        let result = match expr {
            Expr::Attribute(attribute) => self.attribute_place(attribute),
            Expr::Subscript(subscript) => self.subscript_place(subscript),
            Expr::Name(name) => match self.names.get(name.id.as_str()) {
                Some(Binding::Is(operand)) => {
                    let operand = operand.clone();
                    Ok(Place::Name(name.id.to_string(), self.opened(&operand)))
                }
                _ => self.expr(expr).map(Place::Operand),
            },
            _ => self.expr(expr).map(Place::Operand),
        };
        self.span = outer;
        result
    }

    /// The operand at a place; loads only the piece.
    pub(crate) fn read(&mut self, place: Place) -> Result<Operand> {
        if let Some(read) = self.rules.read
            && let Some(operand) = read(self, &place)?
        {
            return Ok(operand);
        }
        match place {
            Place::Operand(operand) | Place::Name(_, operand) => Ok(operand),
            Place::Memory(access) => Ok(Operand::Value(self.load(&access))),
            Place::Tile(tile, part) => self.read_tile_part(tile, &part),
            Place::Piece(base, piece) => {
                if let Place::Memory(access) = &*base
                    && let Some(accesses) = self.spread(access, &piece)
                {
                    let items: Vec<Value> = accesses.iter().map(|access| self.load(access)).collect();
                    return Ok(Operand::Value(self.b().construct(piece.ty, &items)));
                }
                let base = self.read(*base)?;
                self.piece_of(&base, &piece)
            }
        }
    }

    pub(crate) fn load(&mut self, access: &Access) -> Value {
        self.b().load(access.array, &access.indices, &access.path, &access.path_indices)
    }

    /// The scalars that a piece of an array element consists of.
    pub(crate) fn spread(&mut self, access: &Access, piece: &Piece) -> Option<Vec<Access>> {
        let scalar = Type::scalar(piece.ty.element()?);
        match &piece.kind {
            PieceKind::Several(list) => {
                Some(list.iter().map(|&k| access.clone().step(PathElem::Static(k), &[], scalar)).collect())
            }
            PieceKind::Line { index, is_row } => {
                let n = piece.ty.n_components();
                let indices = (0..n).map(|k| self.line_index(*index, *is_row, k as u32)).collect::<Vec<_>>();
                Some(indices.iter().map(|at| access.clone().step(PathElem::Dynamic, at, scalar)).collect())
            }
            PieceKind::Component(_) | PieceKind::At(_) => None,
        }
    }

    /// Row and column of component `k` of a matrix row or column.
    pub(crate) fn line_index(&mut self, index: Value, is_row: bool, k: u32) -> [Value; 2] {
        let k = self.b().int(Scalar::I64, i128::from(k));
        if is_row { [index, k] } else { [k, index] }
    }

    /// Reads a piece of an operand.
    fn piece_of(&mut self, base: &Operand, piece: &Piece) -> Result<Operand> {
        if let Operand::Static(HostValue::Composite(ty, leaves)) = base {
            let part = |k: u32| {
                let start = ty.leaf_start(k as usize);
                let n = ty.component(k as usize).map_or(0, Type::n_leaves);
                leaves.get(start..start + n).unwrap_or_default().to_vec()
            };
            let found = match &piece.kind {
                PieceKind::Component(k) => Some(part(*k)),
                PieceKind::Several(list) => Some(list.iter().flat_map(|&k| part(k)).collect()),
                _ => None,
            };
            if let Some(leaves) = found {
                return Ok(Operand::Static(match (piece.ty.as_scalar(), leaves.first()) {
                    (Some(scalar), Some(&leaf)) => HostValue::Scalar(scalar, leaf),
                    _ => HostValue::Composite(piece.ty, leaves),
                }));
            }
        }
        let value = self.value(base, self.span)?;
        Ok(Operand::Value(match &piece.kind {
            PieceKind::Component(k) => self.b().extract(value, *k),
            PieceKind::Several(list) => {
                let items: Vec<Value> = list.iter().map(|&k| self.b().extract(value, k)).collect();
                self.b().construct(piece.ty, &items)
            }
            PieceKind::At(indices) => self.extract_at(value, indices, piece.ty),
            PieceKind::Line { index, is_row } => {
                let Some(scalar) = piece.ty.element().map(Type::scalar) else { return Ok(base.clone()) };
                let n = piece.ty.n_components() as u32;
                let mut items = Vec::new();
                for k in 0..n {
                    let at = self.line_index(*index, *is_row, k);
                    items.push(self.extract_at(value, &at, scalar));
                }
                self.b().construct(piece.ty, &items)
            }
        }))
    }

    fn extract_at(&mut self, value: Value, indices: &[Value], ty: Type) -> Value {
        let operands = [&[value], indices].concat();
        self.b().push1(Op::ExtractDyn, &operands, Attr::None, ty)
    }

    /// The type of what is at a place.
    pub(crate) fn place_type(&self, place: &Place) -> Option<Type> {
        match place {
            Place::Operand(operand) | Place::Name(_, operand) => self.type_of(operand),
            Place::Memory(access) => Some(access.ty),
            Place::Tile(tile, part) => self.tile_part_type(*tile, part),
            Place::Piece(_, piece) => Some(piece.ty),
        }
    }

    /// A piece of a place, in the simplest form: steps are folded into memory paths and into each other.
    pub(crate) fn piece(&mut self, base: Place, kind: PieceKind, ty: Type) -> Place {
        match (base, kind) {
            (Place::Memory(access), PieceKind::Component(k)) => {
                Place::Memory(access.step(PathElem::Static(k), &[], ty))
            }
            (Place::Memory(access), PieceKind::At(indices)) => {
                Place::Memory(access.step(PathElem::Dynamic, &indices, ty))
            }
            (Place::Piece(inner, Piece { kind: PieceKind::Several(list), .. }), PieceKind::Component(k)) => {
                self.piece(*inner, PieceKind::Component(list[k as usize]), ty)
            }
            (Place::Piece(inner, Piece { kind: PieceKind::Several(list), .. }), PieceKind::Several(of)) => {
                let list = of.iter().map(|&k| list[k as usize]).collect();
                self.piece(*inner, PieceKind::Several(list), ty)
            }
            (Place::Piece(inner, Piece { kind: PieceKind::Several(list), ty: outer }), PieceKind::At(indices)) => {
                match (self.whole_row(&inner, &list), &indices[..]) {
                    (Some(row), &[column]) => {
                        let row = self.b().int(Scalar::I64, i128::from(row));
                        self.piece(*inner, PieceKind::At(vec![row, column]), ty)
                    }
                    _ => {
                        let base = Place::Piece(inner, Piece { kind: PieceKind::Several(list), ty: outer });
                        Place::Piece(Box::new(base), Piece { kind: PieceKind::At(indices), ty })
                    }
                }
            }
            (Place::Piece(inner, Piece { kind: PieceKind::Line { index, is_row }, .. }), PieceKind::Component(k)) => {
                let at = self.line_index(index, is_row, k);
                self.piece(*inner, PieceKind::At(at.to_vec()), ty)
            }
            (Place::Piece(inner, Piece { kind: PieceKind::Line { index, is_row }, .. }), PieceKind::At(indices)) => {
                let other = indices.first().copied().unwrap_or(index);
                let at = if is_row { vec![index, other] } else { vec![other, index] };
                self.piece(*inner, PieceKind::At(at), ty)
            }
            (base, kind) => Place::Piece(Box::new(base), Piece { kind, ty }),
        }
    }

    /// The row number where components of a matrix are exactly one of its rows.
    fn whole_row(&self, matrix: &Place, list: &[u32]) -> Option<u32> {
        let TypeKind::Matrix { cols, .. } = *self.place_type(matrix)?.kind() else { return None };
        let first = *list.first()?;
        let is_row = first % cols == 0 && list.len() == cols as usize && (first..).zip(list).all(|(a, &b)| a == b);
        is_row.then_some(first / cols)
    }

    fn subscript_place(&mut self, subscript: &ExprSubscript) -> Result<Place> {
        let base = self.place(&subscript.value);
        let indices = self.indices(&subscript.slice);
        self.subscripted(base?, &indices?, subscript)
    }

    fn subscripted(&mut self, base: Place, indices: &[Index], subscript: &ExprSubscript) -> Result<Place> {
        let span = self.span_of(subscript);
        if let Some(own) = self.rules.subscript {
            let name = self.text_of(&*subscript.value).to_owned();
            if let Some(place) = own(self, &base, indices, &name, span)? {
                return Ok(place);
            }
        }
        let ty = self.place_type(&base);
        if let Some(ty) = ty.filter(|ty| ty.is_array()) {
            let name = self.text_of(&*subscript.value).to_owned();
            let array = self.read(base)?;
            let array = self.value_as(&array, ty, span)?;
            return self.array_place(array, indices, &name, span);
        }
        match (&base, ty) {
            (_, Some(ty)) if ty.as_tile().is_some() => {
                let tile = self.read(base)?;
                self.tile_place(tile, indices, span)
            }
            (_, Some(ty)) if is_mapped_array(ty) => {
                let name = self.text_of(&*subscript.value).to_owned();
                let mapped = self.read(base)?;
                let mapped = self.value(&mapped, span)?;
                match Fabric::of(ty) {
                    Some(_) => self.fabric_place(mapped, indices, &name, span),
                    None => self.indexed_place(mapped, indices, &name, span),
                }
            }
            (_, Some(ty)) if ty.is_composite() => self.component_place(base, ty, indices, span),
            (Place::Operand(operand) | Place::Name(_, operand), _) => {
                let operand = operand.clone();
                self.item(&operand, indices, span).map(Place::Operand)
            }
            (_, Some(ty)) if matches!(ty.kind(), TypeKind::Tuple(_)) => {
                let operand = self.read(base)?;
                self.item(&operand, indices, span).map(Place::Operand)
            }
            _ => {
                let operand = self.read(base)?;
                Err(self.not_subscriptable(&operand, span))
            }
        }
    }

    /// The indices of a subscript, evaluated.
    fn indices(&mut self, slice: &Expr) -> Result<Vec<Index>> {
        let exprs = match slice {
            Expr::Tuple(tuple) => &tuple.elts[..],
            _ => std::slice::from_ref(slice),
        };
        let mut indices = Vec::new();
        for expr in exprs {
            let span = self.span_of(expr);
            let operand = match expr {
                Expr::Slice(slice) => self.slice(slice)?,
                Expr::EllipsisLiteral(_) if let Some(mark) = self.rules.ellipsis => {
                    Operand::Static(HostValue::Builtin(mark.into()))
                }
                _ => self.expr(expr)?,
            };
            match operand {
                Operand::Tuple(items) => indices.extend(items.into_iter().map(|item| (item, span))),
                operand => indices.push((operand, span)),
            }
        }
        Ok(indices)
    }

    fn slice(&mut self, slice: &ExprSlice) -> Result<Operand> {
        let mut bound = |expr: &Option<Box<Expr>>| match expr {
            Some(expr) => self.expr(expr),
            None => Ok(Operand::NONE),
        };
        Ok(Operand::Slice(Box::new([bound(&slice.lower)?, bound(&slice.upper)?, bound(&slice.step)?])))
    }

    /// An item of a tuple, of `a.shape`, or a part of a tuple.
    fn item(&mut self, operand: &Operand, indices: &[Index], span: Span) -> Result<Operand> {
        let is_tuple = match operand {
            Operand::Tuple(_) | Operand::Shape(_) | Operand::Static(HostValue::Tuple(_)) => true,
            Operand::Value(value) => matches!(self.ty(*value).kind(), TypeKind::Tuple(_)),
            _ => false,
        };
        let [(index, at)] = indices else {
            return Err(match is_tuple {
                true => self.error("too-many-indices", span, "a tuple takes one index"),
                false => self.not_subscriptable(operand, span),
            });
        };
        if !is_tuple {
            return Err(self.not_subscriptable(operand, span));
        }
        if let Operand::Shape(array) = *operand {
            let rank = self.ty(array).as_array().map_or(0, |(_, rank)| rank);
            if let Some(index) = index.as_int() {
                // As in Warp, a shape has four entries, those past the array's dimensions 0.
                if (i128::from(rank)..4).contains(&index) {
                    return Ok(Operand::int(0));
                }
                let dim = self.static_index(index, rank, "the shape", *at)?;
                return Ok(Operand::Value(self.extent_of(array, dim)));
            }
            if !matches!(index, Operand::Slice(_)) {
                let items = self.items(operand, span)?;
                let extents: Vec<Value> = items.iter().filter_map(Operand::as_value).collect();
                let ty = Type::vector(Scalar::I32, rank);
                let shape = Operand::Value(self.b().construct(ty, &extents));
                let place = self.component_place(Place::Operand(shape), ty, indices, span)?;
                return self.read(place);
            }
        }
        if let (Operand::Value(value), Some(index)) = (operand, index.as_int()) {
            let n = self.ty(*value).n_components() as u32;
            let k = self.static_index(index, n, "the tuple", *at)?;
            return Ok(Operand::Value(self.b().extract(*value, k)));
        }
        let items = self.items(operand, span)?;
        if let Operand::Slice(bounds) = index {
            let list = self.static_slice(bounds, items.len() as u32, *at)?;
            return Ok(Operand::Tuple(list.iter().map(|&k| items[k as usize].clone()).collect()));
        }
        let Some(index) = index.as_int() else {
            return self.dynamic_item(&items, &indices[0], span);
        };
        let k = self.static_index(index, items.len() as u32, "the tuple", *at)?;
        Ok(items[k as usize].clone())
    }

    /// The items of a starred argument. A slice of an array has to have constant bounds: `f(*a[0:3])`.
    pub(crate) fn starred(&mut self, expr: &Expr) -> Result<Vec<Operand>> {
        let span = self.span_of(expr);
        if let Expr::Subscript(subscript) = expr
            && let Expr::Slice(slice) = &*subscript.slice
        {
            let base = self.place(&subscript.value)?;
            let bounds = self.slice(slice)?;
            let array = self.place_type(&base).filter(|ty| ty.as_array().is_some_and(|(_, rank)| rank == 1));
            if let Some(ty) = array {
                let list = match constant_slice(&bounds) {
                    Ok(list) => list,
                    Err(why) => return Err(self.error("static-index", span, why)),
                };
                let name = self.text_of(&*subscript.value).to_owned();
                let base = self.read(base)?;
                let array = self.value_as(&base, ty, span)?;
                let mut items = Vec::new();
                for index in list {
                    let access = self.element(array, &[(Operand::int(index), span)], &name, span)?;
                    items.push(self.read(Place::Memory(access))?);
                }
                return Ok(items);
            }
            let place = self.subscripted(base, &[(bounds, self.span_of(slice))], subscript)?;
            let operand = self.read(place)?;
            return self.items(&operand, span);
        }
        let operand = self.expr(expr)?;
        self.items(&operand, span)
    }

    fn not_subscriptable(&mut self, operand: &Operand, span: Span) -> super::Reported {
        let what = self.describe(operand);
        let mut report = self.report("not-subscriptable", span, format!("{what} cannot be indexed"));
        if let Operand::Static(HostValue::Object(_)) = operand {
            report = report.help("pass an array as an argument, or look a constant up with `wp.static(…)`");
        }
        self.emit(report)
    }
}

/// The indices that a slice selects of an array that is long enough, or why they are not known while compiling.
fn constant_slice(slice: &Operand) -> std::result::Result<Vec<i128>, &'static str> {
    const MOST: usize = 1024;
    const OPEN: &str = "the bounds of an unpacked slice must be constants";
    let Operand::Slice(bounds) = slice else { return Err(OPEN) };
    let [start, stop, step] = &**bounds;
    if stop.is_none() {
        return Err("unpacking a slice of an array requires explicit upper bound");
    }
    let or = |bound: &Operand, default| if bound.is_none() { Some(default) } else { bound.as_int() };
    let (Some(start), Some(stop), Some(step)) = (or(start, 0), stop.as_int(), or(step, 1)) else { return Err(OPEN) };
    if step < 1 {
        return Err("an unpacked slice goes forward: its step cannot be negative or zero");
    }
    if start < 0 || stop < 0 {
        return Err("the bounds of an unpacked slice cannot be negative for arrays");
    }
    let list: Vec<i128> = (0..).map(|k| start + k * step).take_while(|&k| k < stop).take(MOST + 1).collect();
    if list.len() <= MOST { Ok(list) } else { Err("an unpacked slice is too long") }
}
