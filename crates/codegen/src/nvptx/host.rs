//! What a kernel on the GPU says to the host: reports of failed checks, and printed text.
//!
//! A failed check jumps to one block of the kernel that takes the flag of the [`super::FaultBytes`] and writes it; no
//! memory of the thread is used. Text goes to `vprintf`, the driver's, as a format and packed operands. The words that
//! the CPU prints are all 64 bits wide, so conversions of integers get the length `ll`.

use super::entry::GLOBAL;
use crate::llvm::Lowering;
use crate::llvm::types;
use crate::{Error, Result};
use inkwell::AddressSpace;
use inkwell::IntPredicate;
use inkwell::basic_block::BasicBlock;
use inkwell::module::Linkage;
use inkwell::values::{IntValue, PhiValue, PointerValue};

/// Most values that a check reports: four indices and four extents.
const MAX_VALUES: usize = 8;

/// Most operands of one text, the driver's limit.
const MAX_OPERANDS: usize = 32;

/// Where checks go that fail.
pub(crate) struct Report<'c> {
    block: BasicBlock<'c>,
    site: PhiValue<'c>,
    /// The number of values, then the values.
    words: Vec<PhiValue<'c>>,
}

impl<'c> Lowering<'c, '_> {
    /// Ends the thread with a report where `ok` does not hold.
    pub(crate) fn report_unless(&mut self, ok: IntValue<'c>, site: u32, values: &[IntValue<'c>]) -> Result<()> {
        if values.len() > MAX_VALUES {
            return Err(Error::Invalid("a check reports too many values".into()));
        }
        let (go_on, fail) = (self.block(), self.block());
        self.branch_likely(ok, go_on, fail)?;
        self.builder.position_at_end(fail);
        let site = self.ctx.i32_type().const_int(site.into(), false);
        let n = self.i64(values.len() as u64);
        let none = self.i64(0);
        let report = self.report()?;
        report.site.add_incoming(&[(&site, fail)]);
        let words = std::iter::once(&n).chain(values).chain(std::iter::repeat(&none));
        for (phi, word) in report.words.iter().zip(words) {
            phi.add_incoming(&[(word, fail)]);
        }
        let block = report.block;
        self.builder.build_unconditional_branch(block)?;
        self.builder.position_at_end(go_on);
        Ok(())
    }

    fn report(&mut self) -> Result<&Report<'c>> {
        let block = self.block();
        let (ctx, b) = (self.ctx, self.ctx.create_builder());
        let device = self.device.as_mut().ok_or_else(|| Error::Invalid("not for a GPU".into()))?;
        if device.report.is_some() {
            block.remove_from_function().map_err(|()| Error::Invalid("a block of no function".into()))?;
        }
        if device.report.is_none() {
            b.position_at_end(block);
            let site = b.build_phi(ctx.i32_type(), "site")?;
            let words =
                (0..=MAX_VALUES).map(|_| b.build_phi(ctx.i64_type(), "")).collect::<std::result::Result<_, _>>()?;
            device.report = Some(Report { block, site, words });
        }
        device.report.as_ref().ok_or_else(|| Error::Invalid("no report".into()))
    }

    /// Writes what happens where a check failed. Gives whether there is any.
    pub(crate) fn finish_report(&mut self) -> Result<bool> {
        let Some(report) = self.device.as_mut().and_then(|device| device.report.take()) else { return Ok(false) };
        let b = &self.builder;
        b.position_at_end(report.block);
        let record =
            b.build_address_space_cast(self.thread.fault, self.ctx.ptr_type(AddressSpace::from(GLOBAL)), "")?;
        let short = self.ctx.i32_type();
        // The record is memory of the host, which takes atomics in the scope of the system on few machines; but threads
        // of one device alone take it, and the host reads when they are done.
        let (_, first) = self.device_exchange_if(record, short.const_zero(), short.const_int(1, false))?;
        let write = self.block();
        b.build_conditional_branch(first, write, self.thread.end)?;
        b.position_at_end(write);
        b.build_store(self.at_byte(record, 4)?, report.site.as_basic_value())?;
        let thread = self.reported_thread()?.map(Into::into);
        let words = thread.into_iter().chain(report.words.iter().map(|word| word.as_basic_value()));
        for (offset, word) in (8..).step_by(8).zip(words) {
            b.build_store(self.at_byte(record, offset)?, word)?;
        }
        b.build_unconditional_branch(self.thread.end)?;
        Ok(true)
    }

    /// Prints `text` over 64-bit words.
    pub(crate) fn device_print(&mut self, text: &str, words: &[IntValue<'c>]) -> Result<()> {
        let (format, operands) = translate(text, words.len());
        if operands.len() > MAX_OPERANDS {
            let n = operands.len();
            return Err(Error::Unsupported(format!(
                "a text of {n} operands: `printf` on the GPU takes {MAX_OPERANDS}"
            )));
        }
        let (offsets, bytes) = lay_out(&operands);
        let buffer = self.reserve(bytes)?;
        for ((operand, offset), &word) in operands.iter().zip(offsets).zip(words) {
            let at = self.at_byte(buffer, offset)?;
            match operand {
                Operand::Word => self.builder.build_store(at, word)?,
                Operand::Int => {
                    let narrow = self.builder.build_int_truncate(word, self.ctx.i32_type(), "")?;
                    self.builder.build_store(at, narrow)?
                }
                Operand::Unsigned => self.builder.build_store(at, self.as_unsigned_int(word)?)?,
                Operand::Truth => {
                    let b = &self.builder;
                    let is_set = b.build_int_compare(IntPredicate::NE, word, self.i64(0), "")?;
                    let (yes, no) = (self.text_constant("True"), self.text_constant("False"));
                    let word = self.select(is_set, yes.into(), no.into())?;
                    self.builder.build_store(at, word)?
                }
            };
        }
        let ptr = types::pointer(self.ctx);
        let function = self.llvm.get_function("vprintf").unwrap_or_else(|| {
            let ty = self.ctx.i32_type().fn_type(&[ptr.into(), ptr.into()], false);
            self.llvm.add_function("vprintf", ty, None)
        });
        self.builder.build_call(function, &[self.text_constant(&format).into(), buffer.into()], "")?;
        Ok(())
    }

    /// A negative i32 as C's `%x` sees it: `runtime::format` says why.
    fn as_unsigned_int(&self, word: IntValue<'c>) -> Result<IntValue<'c>> {
        let b = &self.builder;
        let from_least = b.build_int_add(word, self.i64(1 << 31), "")?;
        let is_negative_int = b.build_int_compare(IntPredicate::ULT, from_least, self.i64(1 << 31), "")?;
        self.select_int(is_negative_int, b.build_and(word, self.i64(0xffff_ffff), "")?, word)
    }

    fn text_constant(&self, text: &str) -> PointerValue<'c> {
        let bytes = self.ctx.const_string(text.as_bytes(), true);
        let global = self.llvm.add_global(bytes.get_type(), None, "text");
        global.set_initializer(&bytes);
        global.set_linkage(Linkage::Private);
        global.set_constant(true);
        global.as_pointer_value()
    }
}

/// How `vprintf` reads an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operand {
    /// Eight bytes: an integer with `ll`, or a double.
    Word,
    /// As `Word`, with a negative i32 zero-extended.
    Unsigned,
    /// Four bytes: a width, a precision, a character.
    Int,
    /// The text True or False.
    Truth,
}

/// The driver's format for one of `runtime::format`, and how each of its operands is passed. A conversion that is
/// unknown, or lacks its word, stays as written.
fn translate(text: &str, n_words: usize) -> (String, Vec<Operand>) {
    let (mut format, mut operands, mut rest) = (String::new(), Vec::new(), text);
    while let Some(at) = rest.find('%') {
        format.push_str(&rest[..at]);
        let spec = Spec::read(&rest[at..]);
        let n_stars = spec.flags.matches('*').count();
        match spec.translate() {
            Some((written, Some(operand))) if operands.len() + n_stars < n_words => {
                operands.extend(std::iter::repeat_n(Operand::Int, n_stars));
                operands.push(operand);
                format.push_str(&written);
            }
            Some((written, None)) => format.push_str(&written),
            _ => format.push_str(&format!("%{}", &rest[at..at + spec.len])),
        }
        rest = &rest[at + spec.len..];
    }
    format.push_str(rest);
    (format, operands)
}

/// A conversion specification, `%-8.3lf`.
struct Spec<'a> {
    /// Flags, width and precision.
    flags: &'a str,
    is_long: bool,
    conversion: char,
    len: usize,
}

impl<'a> Spec<'a> {
    /// Reads what `text` starts with.
    fn read(text: &'a str) -> Spec<'a> {
        let rest = &text[1..];
        let modifiers = rest.find(|c: char| !"-+ #0123456789.*".contains(c)).unwrap_or(rest.len());
        let (flags, rest) = rest.split_at(modifiers);
        let end = rest.find(|c: char| !"hlLqjzt".contains(c)).unwrap_or(rest.len());
        let conversion = rest[end..].chars().next().filter(char::is_ascii_graphic);
        Spec {
            flags,
            is_long: rest[..end].contains(|c| c != 'h'),
            conversion: conversion.unwrap_or('\0'),
            len: 1 + flags.len() + end + usize::from(conversion.is_some()),
        }
    }

    /// As the driver writes it, and its operand where it has one.
    fn translate(&self) -> Option<(String, Option<Operand>)> {
        let flags = self.flags;
        Some(match self.conversion {
            '%' if !flags.contains('*') => ("%%".into(), None),
            'd' | 'i' => (format!("%{flags}lld"), Some(Operand::Word)),
            'p' => (format!("%#{flags}llx"), Some(Operand::Word)),
            c @ ('u' | 'x' | 'X' | 'o') => {
                (format!("%{flags}ll{c}"), Some(if self.is_long { Operand::Word } else { Operand::Unsigned }))
            }
            'c' => (format!("%{flags}c"), Some(Operand::Int)),
            // A precision would cut the text.
            '?' if !flags.contains('.') => (format!("%{flags}s"), Some(Operand::Truth)),
            'F' => (format!("%{flags}f"), Some(Operand::Word)),
            c @ ('e' | 'E' | 'f' | 'g' | 'G' | 'a' | 'A') => (format!("%{flags}{c}"), Some(Operand::Word)),
            _ => return None,
        })
    }
}

/// Where each operand lies, aligned to its size, and how many bytes all take.
fn lay_out(operands: &[Operand]) -> (Vec<u64>, u64) {
    let mut end = 0u64;
    let place = |operand: &Operand| {
        let size = if *operand == Operand::Int { 4 } else { 8 };
        let at = end.next_multiple_of(size);
        end = at + size;
        at
    };
    (operands.iter().map(place).collect(), end)
}

#[cfg(test)]
mod tests {
    use super::Operand::{Int, Truth, Unsigned, Word};
    use super::*;

    #[test]
    fn integers_are_long() {
        assert_eq!(translate("%d %5u %#lx\n", 3), ("%lld %5llu %#llx\n".into(), vec![Word, Unsigned, Word]));
        assert_eq!(translate("%-8.3f|%g%%", 2), ("%-8.3f|%g%%".into(), vec![Word, Word]));
    }

    #[test]
    fn widths_and_characters_take_four_bytes() {
        let (format, operands) = translate("%*c%c%d", 4);
        assert_eq!((format.as_str(), &operands), ("%*c%c%lld", &vec![Int, Int, Int, Word]));
        assert_eq!(lay_out(&operands), (vec![0, 4, 8, 16], 24));
    }

    #[test]
    fn what_c_does_not_know_is_spelt_out_or_kept() {
        assert_eq!(translate("%? %s 100%", 2), ("%s %%s 100%%".into(), vec![Truth]));
        assert_eq!(translate("%d %d", 1), ("%lld %%d".into(), vec![Word]));
    }
}
