//! The arrays among a launch's packed arguments, those inside of structs included.

use ir::{Class, Type, TypeKind};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyListMethods};
use tape::Span;

/// Where one array's descriptor lies, and how to get from the argument to the array object.
#[derive(Debug)]
pub(crate) struct Place {
    /// Number of the parameter.
    pub(crate) param: usize,
    /// First word of the descriptor.
    pub(crate) word: usize,
    pub(crate) elem: Type,
    pub(crate) rank: usize,
    /// Fields that lead from the argument to the array.
    pub(crate) path: Vec<String>,
    /// Whether its elements carry derivatives.
    pub(crate) is_float: bool,
    /// Whether its elements hold arrays whose elements do; the gradients of those are nowhere to be found.
    pub(crate) hides_floats: bool,
}

impl Place {
    pub(crate) fn n_words(&self) -> usize {
        1 + 2 * self.rank
    }

    /// What the array covers; nothing where it is null or empty.
    pub(crate) fn span(&self, words: &[u64]) -> Option<Span> {
        Span::of_array(&words[self.word..self.word + self.n_words()], self.elem.size())
    }

    /// Whether two elements of the array may share memory.
    pub(crate) fn elements_may_overlap(&self, words: &[u64]) -> bool {
        Span::elements_may_overlap(&words[self.word..self.word + self.n_words()], self.elem.size())
    }

    /// The array object, from the argument that it lies in.
    pub(crate) fn object<'py>(&self, arg: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let mut found = arg.clone();
        for name in &self.path {
            // The indices of an indexed array are a list on the host.
            found = match name.strip_prefix("indices").and_then(|dim| dim.parse::<usize>().ok()) {
                Some(dim) if !found.hasattr(name.as_str())? => {
                    let list = found.getattr(pyo3::intern!(arg.py(), "indices"))?.cast_into::<PyList>()?;
                    list.get_item(dim)?
                }
                _ => found.getattr(name.as_str())?,
            };
            if found.is_none() {
                return Ok(None);
            }
        }
        Ok((!found.is_none()).then_some(found))
    }
}

/// All places of a signature; `word_of` gives the first word of a parameter.
pub(crate) fn places(types: &[Type], word_of: impl Fn(usize) -> usize) -> Vec<Place> {
    fn collect(ty: Type, param: usize, byte: u64, path: &mut Vec<String>, found: &mut Vec<Place>) {
        match ty.kind() {
            TypeKind::Array { elem, rank } => found.push(Place {
                param,
                word: byte as usize / 8,
                elem: *elem,
                rank: *rank as usize,
                path: path.clone(),
                is_float: carries_derivatives(*elem),
                hides_floats: pipeline::leads_to_floats(*elem),
            }),
            TypeKind::Struct(s) => {
                for (index, (name, field)) in s.fields.iter().enumerate() {
                    path.push(name.clone());
                    collect(*field, param, byte + ty.offset(index), path, found);
                    path.pop();
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    for (param, &ty) in types.iter().enumerate() {
        collect(ty, param, 8 * word_of(param) as u64, &mut Vec::new(), &mut found);
    }
    found
}

/// Whether elements of an array that is written to may share memory. `written` is per parameter.
pub(crate) fn elements_may_overlap(places: &[Place], words: &[u64], written: &[bool]) -> bool {
    places.iter().any(|place| written[place.param] && place.elements_may_overlap(words))
}

/// Whether no array that is written to shares memory with another, nor do its elements. `written` is per parameter.
pub(crate) fn are_distinct(places: &[Place], words: &[u64], written: &[bool]) -> bool {
    places.iter().enumerate().filter(|(_, place)| written[place.param]).all(|(at, place)| {
        let Some(span) = place.span(words) else { return true };
        let mut others = places.iter().enumerate().filter(|&(other, _)| other != at);
        let is_alone = !others.any(|(_, other)| other.span(words).is_some_and(|other| other.overlaps(span)));
        is_alone && !place.elements_may_overlap(words)
    })
}

/// Whether a value of this type, or what it holds, has a derivative.
pub(crate) fn carries_derivatives(ty: Type) -> bool {
    ty.leaves().iter().any(|leaf| matches!(leaf.kind, ir::LeafKind::Scalar(scalar) if scalar.class() == Class::Float))
}
