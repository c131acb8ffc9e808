//! The linker: an object file's code and constants as bytes that run wherever they lie.
//!
//! In: an ELF object that [`crate::compile`] made, now or in another run, or what is left of one: every number in it is
//! checked. Out: an [`Image`], or an error.
//!
//! ```text
//! .text  .text.unlikely.  jumps to the runtime's functions | .rodata  .rodata.cst8 …
//!                                                          ^ a page begins
//! ```
//!
//! Kernels have no memory of their own that is written to, and all that one part says of another is a distance. An
//! object with anything else is refused.
//!
//! "System V Application Binary Interface, AMD64 Architecture Processor Supplement", 4.4 Relocation.

use crate::{Error, Result};

pub(crate) const PAGE: usize = 4096;

/// Linked code: pages to execute, then pages to read.
pub(crate) struct Image {
    pub(crate) bytes: Vec<u8>,
    /// Bytes of the pages with code.
    pub(crate) n_code: usize,
    /// Where the wanted symbol is.
    pub(crate) entry: usize,
}

/// Links an object whose undefined symbols `find` gives addresses of.
pub(crate) fn link(object: &[u8], symbol: &str, find: impl Fn(&str) -> Option<usize>) -> Result<Image> {
    let object = Object::read(object)?;
    let mut linker = Linker { places: vec![None; object.sections.len()], bytes: Vec::new(), object, find };
    linker.lay_out(|section| section.is_code());
    // Room for one jump each is found before constants have their places.
    let jumps = linker.jumps()?;
    let n_code = linker.pad(PAGE);
    linker.lay_out(|section| !section.is_code());
    linker.pad(PAGE);
    linker.relocate(&jumps)?;
    let symbol = linker.object.symbols()?.into_iter().find(|known| known.name == symbol && known.section != 0);
    let symbol = symbol.ok_or_else(|| refused("the entry point is missing"))?;
    let entry = linker.place(symbol.section)? + symbol.value;
    if entry >= n_code {
        return Err(refused("the entry point is no code"));
    }
    Ok(Image { bytes: linker.bytes, n_code, entry })
}

fn refused(why: &str) -> Error {
    Error::llvm("linker", why)
}

struct Linker<'a, F> {
    object: Object<'a>,
    find: F,
    /// By section: where it begins among the bytes.
    places: Vec<Option<usize>>,
    bytes: Vec<u8>,
}

/// A symbol of elsewhere, by number, and where the jump to it is.
type Jump = (usize, usize);

impl<F: Fn(&str) -> Option<usize>> Linker<'_, F> {
    fn lay_out(&mut self, is_wanted: impl Fn(&Section<'_>) -> bool) {
        for index in 0..self.object.sections.len() {
            let section = self.object.sections[index];
            if section.is_loaded() && is_wanted(&section) {
                self.places[index] = Some(self.pad(section.align));
                self.bytes.extend(section.bytes);
            }
        }
    }

    /// Gives the length, a multiple of `align`.
    fn pad(&mut self, align: usize) -> usize {
        self.bytes.resize(self.bytes.len().next_multiple_of(align), 0);
        self.bytes.len()
    }

    fn place(&self, section: usize) -> Result<usize> {
        self.places.get(section).copied().flatten().ok_or_else(|| refused("a symbol lies nowhere"))
    }

    /// Writes `jmp *(%rip)` and an address for each function of elsewhere that is called.
    fn jumps(&mut self) -> Result<Vec<Jump>> {
        let symbols = self.object.symbols()?;
        let mut jumps: Vec<Jump> = Vec::new();
        for relocation in self.object.relocations()? {
            let symbol = symbols.get(relocation.symbol).ok_or_else(|| refused("no such symbol"))?;
            if symbol.section != 0 || jumps.iter().any(|(known, _)| *known == relocation.symbol) {
                continue;
            }
            let address = (self.find)(symbol.name).ok_or_else(|| refused(&format!("no function `{}`", symbol.name)))?;
            jumps.push((relocation.symbol, self.pad(16)));
            self.bytes.extend([0xff, 0x25, 0, 0, 0, 0]);
            self.bytes.extend((address as u64).to_le_bytes());
        }
        Ok(jumps)
    }

    fn relocate(&mut self, jumps: &[Jump]) -> Result<()> {
        const PC32: u32 = 2;
        const PLT32: u32 = 4;
        let symbols = self.object.symbols()?;
        for Relocation { section, offset, kind, symbol: number, addend } in self.object.relocations()? {
            let symbol = symbols.get(number).ok_or_else(|| refused("no such symbol"))?;
            let target = match jumps.iter().find(|(known, _)| *known == number) {
                // A jump is no function: it must not be read.
                Some(_) if kind != PLT32 => return Err(refused("the address of a function of elsewhere is taken")),
                Some((_, jump)) => *jump,
                None => self.place(symbol.section)? + symbol.value,
            };
            if !matches!(kind, PC32 | PLT32) {
                return Err(refused(&format!("a relocation of kind {kind}")));
            }
            let end = self.object.sections[section].bytes.len();
            if offset.checked_add(4).is_none_or(|past| past > end) {
                return Err(refused("a relocation outside of its section"));
            }
            let at = self.place(section)? + offset;
            let distance = (target as i64).wrapping_add(addend).wrapping_sub(at as i64);
            let distance = i32::try_from(distance).map_err(|_| refused("a distance of more than 2 GiB"))?;
            self.bytes[at..at + 4].copy_from_slice(&distance.to_le_bytes());
        }
        Ok(())
    }
}

/// What is read of an ELF file.
struct Object<'a> {
    sections: Vec<Section<'a>>,
}

#[derive(Clone, Copy)]
struct Section<'a> {
    kind: u32,
    flags: u64,
    /// Of relocations: the section that they change. Of symbols: the section of their names.
    link: usize,
    info: usize,
    align: usize,
    bytes: &'a [u8],
}

struct Symbol<'a> {
    name: &'a str,
    /// 0: elsewhere.
    section: usize,
    value: usize,
}

struct Relocation {
    section: usize,
    offset: usize,
    kind: u32,
    symbol: usize,
    addend: i64,
}

const SYMBOLS: u32 = 2;
const RELOCATIONS: u32 = 4;
const NO_BYTES: u32 = 8;

impl Section<'_> {
    fn is_loaded(&self) -> bool {
        const ALLOC: u64 = 2;
        self.flags & ALLOC != 0
    }

    fn is_code(&self) -> bool {
        const EXECUTED: u64 = 4;
        self.flags & EXECUTED != 0
    }
}

impl<'a> Object<'a> {
    fn read(file: &'a [u8]) -> Result<Object<'a>> {
        Object::sections(file).ok_or_else(|| refused("no ELF object, or a damaged one")).and_then(Object::checked)
    }

    fn sections(file: &'a [u8]) -> Option<Object<'a>> {
        const SECTION: usize = 64;
        // 64 bits, little-endian, to be linked, for x86-64.
        if !file.starts_with(b"\x7fELF\x02\x01") || file.get(16..20)? != [1, 0, 62, 0] {
            return None;
        }
        let (begin, n) = (number::<8>(file, 40)?, number::<2>(file, 60)?);
        let table = file.get(begin..)?.get(..n * SECTION)?;
        let section = |entry: &'a [u8]| {
            let kind = number::<4>(entry, 4)? as u32;
            let bytes = if kind == NO_BYTES {
                &[]
            } else {
                file.get(number::<8>(entry, 24)?..)?.get(..number::<8>(entry, 32)?)?
            };
            let (flags, align) = (number::<8>(entry, 8)? as u64, number::<8>(entry, 48)?);
            let (link, info) = (number::<4>(entry, 40)?, number::<4>(entry, 44)?);
            Some(Section { kind, flags, link, info, align: align.max(1), bytes })
        };
        Some(Object { sections: table.chunks_exact(SECTION).map(section).collect::<Option<_>>()? })
    }

    fn checked(self) -> Result<Object<'a>> {
        const WRITTEN: u64 = 1;
        for section in self.sections.iter().filter(|section| section.is_loaded()) {
            if section.flags & WRITTEN != 0 || section.kind == NO_BYTES {
                return Err(refused("a section that is written to"));
            }
            if section.align > PAGE || !section.align.is_power_of_two() {
                return Err(refused("a section that no page is aligned for"));
            }
        }
        Ok(self)
    }

    fn symbols(&self) -> Result<Vec<Symbol<'a>>> {
        let Some(table) = self.sections.iter().find(|section| section.kind == SYMBOLS) else { return Ok(Vec::new()) };
        let names = self.sections.get(table.link).map_or(&[][..], |names| names.bytes);
        let symbol = |entry: &'a [u8]| {
            let name = names.get(number::<4>(entry, 0)?..)?;
            let name = &name[..name.iter().position(|&byte| byte == 0)?];
            let (section, value) = (number::<2>(entry, 6)?, number::<8>(entry, 8)?);
            // Within what was read: sums of places stay small.
            let size = self.sections.get(section).map_or(0, |section| section.bytes.len());
            Some(Symbol { name: std::str::from_utf8(name).ok()?, section, value: value.min(size) })
        };
        table.bytes.chunks_exact(24).map(symbol).collect::<Option<_>>().ok_or_else(|| refused("a damaged symbol"))
    }

    /// Those of sections that are loaded.
    fn relocations(&self) -> Result<Vec<Relocation>> {
        let mut found = Vec::new();
        for table in self.sections.iter().filter(|section| section.kind == RELOCATIONS) {
            if !self.sections.get(table.info).is_some_and(Section::is_loaded) {
                continue;
            }
            for entry in table.bytes.chunks_exact(24) {
                let read = || {
                    Some(Relocation {
                        section: table.info,
                        offset: number::<8>(entry, 0)?,
                        kind: number::<4>(entry, 8)? as u32,
                        symbol: number::<4>(entry, 12)?,
                        addend: number::<8>(entry, 16)? as i64,
                    })
                };
                found.push(read().ok_or_else(|| refused("a damaged relocation"))?);
            }
        }
        Ok(found)
    }
}

/// A little-endian number of so many bytes.
fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<usize> {
    let mut number = [0; 8];
    number[..N].copy_from_slice(bytes.get(at..at.checked_add(N)?)?);
    Some(u64::from_le_bytes(number) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CpuOptions;

    /// An object with constants that calls a function of elsewhere.
    fn object() -> Vec<u8> {
        let text = "kernel @f(v0: array<f64, 1>) {
            v1: i64 = tid 0
            v2: f64 = load v0[v1]
            v3: f64 = const 0.1
            v4: f64 = rem v2, v3
            v5: f64 = const 3.7
            v6: f64 = mul v4, v5
            store v0[v1], v6
            return
          }";
        let module = ir::parse::parse_module(text).unwrap_or_else(|error| panic!("{error:?}"));
        crate::compile(&module, ir::FuncRef(0), &CpuOptions::default()).expect("it compiles")
    }

    fn check(object: &[u8]) -> Result<Image> {
        link(object, "gs_kernel_f", |name| (name == "fmod").then_some(0x1234_5678_9abc))
    }

    #[test]
    fn functions_of_elsewhere_are_jumped_to() {
        let image = check(&object()).expect("it links");
        let jump = [0xff, 0x25, 0, 0, 0, 0, 0xbc, 0x9a, 0x78, 0x56, 0x34, 0x12, 0, 0];
        assert!(image.bytes[..image.n_code].windows(jump.len()).any(|bytes| bytes == jump));
        let constant = 0.1f64.to_le_bytes();
        assert!(image.bytes[image.n_code..].windows(8).any(|bytes| bytes == constant));
        assert!(image.entry < image.n_code && image.bytes.len().is_multiple_of(PAGE));
        let missing = link(&object(), "gs_kernel_f", |_| None).map(|_| ()).map_err(|error| error.to_string());
        assert_eq!(missing, Err("linker: no function `fmod`".into()));
        let missing = link(&object(), "gs_kernel_g", |_| Some(0)).map(|_| ()).map_err(|error| error.to_string());
        assert_eq!(missing, Err("linker: the entry point is missing".into()));
    }

    #[test]
    fn damage_is_refused_or_stays_within_bounds() {
        let object = object();
        for n in 0..object.len() {
            assert!(check(&object[..n]).is_err(), "of {n} bytes");
        }
        for at in 0..object.len() {
            for byte in [0, 1, 0x7f, 0xff] {
                let mut damaged = object.clone();
                damaged[at] = byte;
                let image = check(&damaged);
                assert!(image.is_err() || image.is_ok_and(|image| image.entry < image.n_code), "byte {at}");
            }
        }
    }
}
