//! Arguments of a launch: checked against a signature and packed for compiled code.
//!
//! In: a list of Python objects. Out: the packed arguments of `runtime::abi`, and what a launch may rely on.

use crate::array::{self, Array, Where};
use crate::bytes::{Mismatch, Reach, array_words, out_of_reach, write_argument, write_scalar};
use crate::function::Kernel;
use crate::plan::{Plans, UnitKey, Variants};
use crate::tape::{Facts, Place, places};
use crate::types::user_name;
use ir::{LeafKind, Scalar, Type, TypeKind};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList, PyTuple};
use smallvec::SmallVec;
use std::mem::MaybeUninit;
use std::sync::{Arc, Mutex, OnceLock};

/// Packed arguments. Most launches need no memory of their own for them.
pub(crate) type Words = SmallVec<[u64; 64]>;

/// The arguments themselves, held while the launch runs.
pub(crate) type Args<'py> = SmallVec<[Bound<'py, PyAny>; 16]>;

/// Argument types, where each argument lies, and the code compiled for them.
pub(crate) struct Signature {
    pub(crate) types: Vec<Type>,
    slots: Vec<Slot>,
    n_words: usize,
    pub(crate) variants: Variants,
    /// Code for the options in force.
    pub(crate) plans: Plans,
    places: OnceLock<Vec<Place>>,
    /// What the kernel's adjoint needs, by options.
    pub(crate) facts: Mutex<Vec<(UnitKey, Arc<Facts>)>>,
}

struct Slot {
    /// First word.
    word: usize,
    n_bytes: usize,
    kind: SlotKind,
}

enum SlotKind {
    Scalar(Scalar),
    Array {
        elem: Type,
        rank: u32,
    },
    /// Composites, structs and tuples, with the arrays inside.
    Value(Type, Vec<Inner>),
}

/// An array inside a value.
struct Inner {
    /// Bytes from the start of the value to the descriptor.
    offset: usize,
    elem_size: i64,
    rank: usize,
    /// Null means something: a dimension that an indexed array does not index, say.
    is_optional: bool,
}

impl Inner {
    /// Refuses memory out of reach. The bytes of a value do not say where its arrays are; the driver knows.
    fn check(&self, words: &[u64], reach: Reach) -> Result<(), Mismatch> {
        let descriptor = &words[self.offset / 8..][..1 + 2 * self.rank];
        let is_empty = descriptor[0] == 0 || descriptor[1..=self.rank].contains(&0);
        if is_empty || !runtime_cuda::driver::is_started() {
            return Ok(());
        }
        let place = Where::of(descriptor[0]);
        if reach.has(place) {
            return Ok(());
        }
        Err(match out_of_reach(reach, &place.device()) {
            Mismatch::Unfit(why) => Mismatch::Unfit(why.replacen("it is", "an array inside of it is", 1)),
            other => other,
        })
    }
}

/// What the packed arguments turned out to be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Packed {
    /// Numbers of the arguments whose memory must not be written to.
    pub(crate) read_only: SmallVec<[usize; 4]>,
    /// Streams of other libraries that an argument is in use on, by its number.
    pub(crate) streams: SmallVec<[(usize, u64); 2]>,
}

impl Signature {
    pub(crate) fn new(types: Vec<Type>) -> Signature {
        Signature::with_variants(types, Variants::default())
    }

    pub(crate) fn with_variants(types: Vec<Type>, variants: Variants) -> Signature {
        let mut n_words = 0;
        let slot = |&ty: &Type| {
            let n_bytes = ty.size() as usize;
            let word = n_words;
            n_words += n_bytes.div_ceil(8);
            let kind = match ty.kind() {
                TypeKind::Scalar(scalar) => SlotKind::Scalar(*scalar),
                TypeKind::Array { elem, rank } => SlotKind::Array { elem: *elem, rank: *rank },
                _ => SlotKind::Value(ty, arrays_inside(ty)),
            };
            Slot { word, n_bytes, kind }
        };
        let slots = types.iter().map(slot).collect();
        let (plans, places, facts) = (Plans::default(), OnceLock::new(), Mutex::default());
        Signature { types, slots, n_words, variants, plans, places, facts }
    }

    /// Forgets what was compiled.
    pub(crate) fn forget(&self) {
        self.variants.forget();
        self.facts.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clear();
    }

    /// Packs all arguments for a launch that can use memory within `reach`.
    pub(crate) fn pack(
        &self,
        kernel: &Kernel,
        args: &[Bound<'_, PyAny>],
        reach: Reach,
        words: &mut Words,
    ) -> PyResult<Packed> {
        words.clear();
        words.resize(self.n_words, 0);
        let mut packed = Packed::default();
        for (index, arg) in args.iter().enumerate() {
            self.pack_one(kernel, index, arg, reach, words, &mut packed)?;
        }
        Ok(packed)
    }

    /// Packs argument number `index`.
    pub(crate) fn pack_one(
        &self,
        kernel: &Kernel,
        index: usize,
        arg: &Bound<'_, PyAny>,
        reach: Reach,
        words: &mut [u64],
        packed: &mut Packed,
    ) -> PyResult<()> {
        let slot = &self.slots[index];
        let place = &mut words[slot.word..slot.word + slot.n_bytes.div_ceil(8)];
        place.fill(0);
        packed.read_only.retain(|&mut known| known != index);
        packed.streams.retain(|&mut (known, _)| known != index);
        let written = match &slot.kind {
            SlotKind::Scalar(Scalar::F32) if arg.is_exact_instance_of::<PyFloat>() => {
                // The one case that is worth a path of its own.
                let value = arg.extract::<f64>()? as f32;
                place[0] = u64::from(value.to_bits());
                return Ok(());
            }
            SlotKind::Scalar(scalar) => write_scalar(*scalar, arg, &mut bytes_of(place)[..slot.n_bytes]),
            SlotKind::Array { elem, rank } => {
                array_words(*elem, *rank, arg, reach, &mut |found| place.copy_from_slice(found)).map(|taken| {
                    packed.read_only.extend(taken.is_read_only.then_some(index));
                    packed.streams.extend(taken.stream.map(|stream| (index, stream)));
                })
            }
            SlotKind::Value(ty, arrays) => {
                write_argument(*ty, kernel.param_name(index), arg, reach, &mut bytes_of(place)[..slot.n_bytes])
                    .and_then(|()| arrays.iter().try_for_each(|array| array.check(place, reach)))
            }
        };
        written.map_err(|mismatch| kernel.refuse(arg.py(), index, &user_name(self.types[index]), mismatch))
    }

    /// Packs an argument of the usual kinds without running Python code or raising: exact numbers, our own arrays, None
    /// for an array. Says how it lies in memory; nothing where `pack_one` must look at it.
    #[inline]
    pub(crate) fn pack_plain(
        &self,
        index: usize,
        arg: &Bound<'_, PyAny>,
        reach: Reach,
        words: &mut [MaybeUninit<u64>],
    ) -> Option<Layout> {
        let slot = &self.slots[index];
        match &slot.kind {
            SlotKind::Scalar(scalar) => {
                words[slot.word].write(plain_word(*scalar, arg)?);
                Some(Layout::BEST)
            }
            SlotKind::Array { elem, rank } => {
                let place = &mut words[slot.word..][..1 + 2 * *rank as usize];
                if let Some(array) = array::CLASS.known::<Array>(arg) {
                    let array = array.get();
                    if array.elem != *elem || array.descriptor.len() != place.len() || !reach.has(array.place) {
                        return None;
                    }
                    let words = &array.descriptor[..];
                    for (index, place) in place.iter_mut().enumerate() {
                        place.write(words[index]);
                    }
                    return Some(Layout::of(array, reach));
                }
                // None goes the careful way: without memory the code must check its bounds.
                None
            }
            SlotKind::Value(..) => None,
        }
    }

    /// Whether an argument has the type of parameter `index` by itself, as `natural_type` says, and is of the usual kinds.
    pub(crate) fn is_plainly(&self, index: usize, arg: &Bound<'_, PyAny>) -> bool {
        match &self.slots[index].kind {
            SlotKind::Scalar(Scalar::F32) => arg.is_exact_instance_of::<PyFloat>(),
            SlotKind::Scalar(Scalar::I32) => arg.is_exact_instance_of::<PyInt>(),
            SlotKind::Scalar(Scalar::Bool) => arg.is_exact_instance_of::<PyBool>(),
            SlotKind::Array { elem, rank } => array::CLASS.known::<Array>(arg).is_some_and(|array| {
                let array = array.get();
                array.elem == *elem && array.descriptor.len() == 1 + 2 * *rank as usize
            }),
            SlotKind::Scalar(_) | SlotKind::Value(..) => false,
        }
    }

    /// Where the arrays lie among the words.
    pub(crate) fn places(&self) -> &[Place] {
        self.places.get_or_init(|| places(&self.types, |param| self.word_of(param)))
    }

    /// The first word of an argument.
    pub(crate) fn word_of(&self, param: usize) -> usize {
        self.slots[param].word
    }

    /// The words of one argument.
    pub(crate) fn words_of<'w>(&self, index: usize, words: &'w [u64]) -> &'w [u64] {
        let slot = &self.slots[index];
        &words[slot.word..slot.word + slot.n_bytes.div_ceil(8)]
    }

    pub(crate) fn n_words(&self) -> usize {
        self.n_words
    }

    /// Whether every array among the arguments is row-major without gaps.
    pub(crate) fn is_contiguous(&self, words: &[u64]) -> bool {
        self.slots.iter().all(|slot| match &slot.kind {
            SlotKind::Scalar(_) => true,
            SlotKind::Array { elem, rank } => {
                is_contiguous(elem.size() as i64, &words[slot.word..slot.word + slot.n_bytes / 8], *rank as usize)
            }
            SlotKind::Value(_, arrays) => arrays.iter().all(|array| {
                let start = slot.word + array.offset / 8;
                is_contiguous(array.elem_size, &words[start..start + 1 + 2 * array.rank], array.rank)
            }),
        })
    }

    /// How the arrays among the arguments lie in memory, for a launch that can use what is within `reach`.
    pub(crate) fn layout(&self, words: &[u64], reach: Reach) -> Layout {
        let all = |holds: &dyn Fn(u64, &[u64]) -> bool| {
            self.slots.iter().all(|slot| match &slot.kind {
                SlotKind::Scalar(_) => true,
                SlotKind::Array { elem, rank } => holds(elem.size(), &words[slot.word..][..1 + 2 * *rank as usize]),
                SlotKind::Value(_, arrays) => arrays.iter().all(|array| {
                    let descriptor = &words[slot.word + array.offset / 8..][..1 + 2 * array.rank];
                    holds(array.elem_size as u64, descriptor)
                }),
            })
        };
        let is_short = matches!(reach, Reach::Host) || all(&|_, descriptor| array::is_short(descriptor));
        Layout { is_contiguous: is_short && self.is_contiguous(words), is_aligned: all(&array::is_aligned) }
    }

    /// Whether any array among the arguments, or inside one, has no memory behind it.
    pub(crate) fn has_null(&self, words: &[u64]) -> bool {
        self.slots.iter().any(|slot| match &slot.kind {
            SlotKind::Scalar(_) => false,
            SlotKind::Array { .. } => words[slot.word] == 0,
            SlotKind::Value(_, arrays) => {
                arrays.iter().any(|array| !array.is_optional && words[slot.word + array.offset / 8] == 0)
            }
        })
    }

    /// Whether an array argument has no memory behind it.
    pub(crate) fn is_null(&self, index: usize, words: &[u64]) -> bool {
        self.slots.get(index).is_some_and(|slot| matches!(slot.kind, SlotKind::Array { .. }) && words[slot.word] == 0)
    }
}

/// How arrays lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Row-major without gaps; for a GPU with fewer than 2^31 elements besides.
    pub(crate) is_contiguous: bool,
    /// From a multiple of 16 bytes, and every row of an array without gaps too.
    pub(crate) is_aligned: bool,
}

impl Layout {
    pub(crate) const BEST: Layout = Layout { is_contiguous: true, is_aligned: true };

    #[inline]
    pub(crate) fn of(array: &Array, reach: Reach) -> Layout {
        let is_contiguous = array.is_contiguous & (array.is_short | matches!(reach, Reach::Host));
        Layout { is_contiguous, is_aligned: array.is_aligned }
    }

    #[inline]
    pub(crate) fn and(self, other: Layout) -> Layout {
        let is_aligned = self.is_aligned & other.is_aligned;
        Layout { is_contiguous: self.is_contiguous & other.is_contiguous, is_aligned }
    }
}

/// The word of an exact Python number that fits its parameter beyond doubt.
#[inline]
pub(crate) fn plain_word(scalar: Scalar, arg: &Bound<'_, PyAny>) -> Option<u64> {
    /// Ints up to here are floats too, without rounding.
    const EXACT: i64 = 1 << 53;
    match scalar {
        Scalar::F32 | Scalar::F64 => {
            let value = match arg.cast_exact::<PyFloat>() {
                Ok(float) => float.value(),
                Err(_) => plain_int(arg).filter(|value| (-EXACT..=EXACT).contains(value))? as f64,
            };
            Some(if scalar == Scalar::F32 { u64::from((value as f32).to_bits()) } else { value.to_bits() })
        }
        Scalar::Bool => arg.cast_exact::<PyBool>().ok().map(|flag| u64::from(flag.is_true())),
        Scalar::F16 | Scalar::BF16 => None,
        _ => {
            let value = plain_int(arg)?;
            let unused = 64 - scalar.bits();
            let word = (value as u64) << unused >> unused;
            let back = if scalar.is_signed() { (word << unused) as i64 >> unused } else { word as i64 };
            (back == value && (value >= 0 || scalar.is_signed())).then_some(word)
        }
    }
}

/// An exact Python int of 64 bits.
#[inline]
pub(crate) fn plain_int(arg: &Bound<'_, PyAny>) -> Option<i64> {
    if !arg.is_exact_instance_of::<PyInt>() {
        return None;
    }
    // SAFETY: an int, and Python's lock is held, as `arg` shows.
    unsafe {
        let value = ffi::PyLong_AsLongLong(arg.as_ptr());
        if value == -1 && !ffi::PyErr_Occurred().is_null() {
            ffi::PyErr_Clear();
            return None;
        }
        Some(value)
    }
}

/// Arguments as code wants them: bytes of the words.
fn bytes_of(words: &mut [u64]) -> &mut [u8] {
    // SAFETY: any byte is part of a valid word, and bytes need no alignment.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), words.len() * 8) }
}

fn is_contiguous(elem_size: i64, descriptor: &[u64], rank: usize) -> bool {
    let (extents, strides) = descriptor[1..].split_at(rank);
    let mut expected = elem_size;
    let mut is_contiguous = true;
    for (&extent, &stride) in extents.iter().zip(strides).rev() {
        is_contiguous &= extent == 1 || stride as i64 == expected;
        expected = expected.wrapping_mul(extent as i64);
    }
    is_contiguous || extents.contains(&0)
}

fn arrays_inside(ty: Type) -> Vec<Inner> {
    fn collect(ty: Type, base: u64, is_optional: bool, found: &mut Vec<Inner>) {
        if let TypeKind::Array { elem, rank } = ty.kind() {
            let (elem_size, rank) = (elem.size() as i64, *rank as usize);
            found.push(Inner { offset: base as usize, elem_size, rank, is_optional });
        }
        if matches!(ty.kind(), TypeKind::Struct(_) | TypeKind::Tuple(_)) {
            // The indices of an indexed array, and what only says the type of a Fabric array's elements.
            let is_optional = |index: usize| match ty.kind() {
                TypeKind::Struct(s) if s.name == "indexedarray" => index > 0,
                TypeKind::Struct(s) if s.name == "fabricarray" => index + 2 == s.fields.len(),
                _ => false,
            };
            for index in 0..ty.n_components() {
                if let Some(component) = ty.component(index) {
                    collect(component, base + ty.offset(index), is_optional(index), found);
                }
            }
        }
    }
    let mut found = Vec::new();
    if ty.leaves().iter().any(|leaf| leaf.kind == LeafKind::Pointer) {
        collect(ty, 0, false, &mut found);
    }
    found
}

/// The arguments of `inputs`, then those of `outputs`.
pub(crate) fn collect_args<'py>(
    kernel: &Kernel,
    inputs: &Bound<'py, PyAny>,
    outputs: Option<&Bound<'py, PyAny>>,
) -> PyResult<Args<'py>> {
    let mut args = Args::new();
    for list in [Some(inputs), outputs].into_iter().flatten() {
        if let Ok(list) = list.cast::<PyList>() {
            args.extend(list.iter());
        } else if let Ok(tuple) = list.cast::<PyTuple>() {
            args.extend(tuple.iter());
        } else if !list.is_none() {
            for item in list.try_iter()? {
                args.push(item?);
            }
        }
    }
    let n = kernel.params.len();
    if args.len() != n {
        let names: Vec<_> = kernel.params.iter().map(|param| format!("`{}`", param.name)).collect();
        let text = format!(
            "kernel `{}` takes {n} argument{} ({}), got {}",
            kernel.name,
            if n == 1 { "" } else { "s" },
            if names.is_empty() { "none".to_owned() } else { names.join(", ") },
            args.len()
        );
        return Err(crate::errors::argument_error(inputs.py(), text));
    }
    Ok(args)
}
