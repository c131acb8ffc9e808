//! Which line of the user's source an instruction comes from, for profilers and debuggers.
//!
//! In: spans and the files that they point into. Out: LLVM's metadata, of which its back end makes `.file` and `.loc` lines,
//! and with [`Lines::Full`] the sections of a DWARF compile unit:
//!
//! ```text
//! .file 1 "demo.py"
//! .loc  1 15 5
//! st.global.b32 [%rd4], %r1;
//! ```
//!
//! Calls are written out by then, so that all lines are the kernel's; those of other files keep their file.

use super::PtxOptions;
use diagnostics::{FileId, SourceMap, Span};
use inkwell::builder::Builder;
use inkwell::context::{AsContextRef, Context};
use inkwell::module::Module as LlvmModule;
use inkwell::values::{AsValueRef, FunctionValue};
use ir::Function;
use llvm_sys::LLVMModuleFlagBehavior;
use llvm_sys::core::{
    LLVMAddModuleFlag, LLVMConstInt, LLVMGetFirstBasicBlock, LLVMGetFirstInstruction, LLVMGetNextBasicBlock,
    LLVMGetNextInstruction, LLVMInt32TypeInContext, LLVMSetCurrentDebugLocation2, LLVMValueAsMetadata,
};
use llvm_sys::debuginfo::{
    LLVMCreateDIBuilder, LLVMDIBuilderCreateDebugLocation, LLVMDIBuilderCreateFile, LLVMDIBuilderCreateFunction,
    LLVMDIBuilderCreateLexicalBlockFile, LLVMDIBuilderCreateSubroutineType, LLVMDIBuilderFinalize, LLVMDIFlagZero,
    LLVMDWARFSourceLanguage, LLVMDisposeDIBuilder, LLVMInstructionGetDebugLoc, LLVMInstructionSetDebugLoc,
    LLVMSetSubprogram,
};
use llvm_sys::prelude::{LLVMBool, LLVMContextRef, LLVMDIBuilderRef, LLVMMetadataRef};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{c_char, c_uint};
use std::rc::Rc;

/// How much a kernel's text says of its source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Lines {
    #[default]
    None,
    /// Lines alone.
    Directives,
    /// Sections for a debugger besides.
    Full,
}

/// LLVM's numbers of what a compile unit emits. Its C header does not name the one for lines alone.
const FULL: c_uint = 1;
const DIRECTIVES_ONLY: c_uint = 3;

unsafe extern "C" {
    /// As llvm-sys declares it, but for the type of `kind`, whose numbers it does not have all.
    #[link_name = "LLVMDIBuilderCreateCompileUnit"]
    fn create_compile_unit(
        builder: LLVMDIBuilderRef,
        language: LLVMDWARFSourceLanguage,
        file: LLVMMetadataRef,
        producer: *const c_char,
        producer_len: usize,
        is_optimized: LLVMBool,
        flags: *const c_char,
        flags_len: usize,
        runtime_version: c_uint,
        split_name: *const c_char,
        split_name_len: usize,
        kind: c_uint,
        dwo_id: c_uint,
        split_debug_inlining: LLVMBool,
        for_profiling: LLVMBool,
        sys_root: *const c_char,
        sys_root_len: usize,
        sdk: *const c_char,
        sdk_len: usize,
    ) -> LLVMMetadataRef;
}

/// The lines of one kernel. Both its bodies, the scalar and the coarsened one, share them.
#[derive(Clone)]
pub(crate) struct LineTable(Rc<Table>);

struct Table {
    ctx: LLVMContextRef,
    builder: LLVMDIBuilderRef,
    sources: SourceMap,
    subprogram: LLVMMetadataRef,
    /// Where the kernel starts, for instructions of no line.
    first: LLVMMetadataRef,
    /// As `subprogram` and `first`, for a function that the kernel is written out into.
    outer: (LLVMMetadataRef, LLVMMetadataRef),
    scopes: RefCell<HashMap<FileId, LLVMMetadataRef>>,
}

impl LineTable {
    /// None where no instruction has a line.
    pub(super) fn new(
        ctx: &Context,
        llvm: &LlvmModule<'_>,
        sources: &SourceMap,
        func: &Function,
        function: FunctionValue<'_>,
        options: &PtxOptions,
    ) -> Option<LineTable> {
        let spans = || func.insts.iter().map(|inst| inst.span).filter(|span| sources.get(span.file).is_some());
        let body = func.terminator(func.body).map(|id| func.inst(id).span);
        let own = body.filter(|span| sources.get(span.file).is_some()).or_else(|| spans().next())?.file;
        // A function is called by a kernel that no user wrote.
        let called = FileId(own.0 + 1);
        let file = if options.is_function && sources.get(called).is_some() { called } else { own };
        let start = spans().filter(|span| span.file == file).map(|span| span.start).min().unwrap_or(0);
        let (line, column) = sources.get(file)?.position(start);
        let text = |text: &'static str| text.as_ptr().cast::<c_char>();
        let name = func.name.as_bytes();
        let linkage = function.get_name().to_bytes();
        // SAFETY: a live module and context; every text is passed with its length; the builder is disposed with the table.
        let (builder, subprogram, first, outer) = unsafe {
            let builder = LLVMCreateDIBuilder(llvm.as_mut_ptr());
            let file_ref = create_file(builder, sources, file);
            let kind = if options.lines == Lines::Full { FULL } else { DIRECTIVES_ONLY };
            let language = LLVMDWARFSourceLanguage::LLVMDWARFSourceLanguagePython;
            let (made_by, empty) = (text("gridstride"), text(""));
            create_compile_unit(
                builder, language, file_ref, made_by, 10, 1, empty, 0, 0, empty, 0, kind, 0, 1, 0, empty, 0, empty, 0,
            );
            let mut nothing = std::ptr::null_mut();
            let ty = LLVMDIBuilderCreateSubroutineType(builder, file_ref, &mut nothing, 1, LLVMDIFlagZero);
            let (name_len, linkage_len) = (name.len(), linkage.len());
            let (name, linkage) = (name.as_ptr().cast(), linkage.as_ptr().cast());
            let subprogram = |linkage, linkage_len| {
                let (file, flags) = (file_ref, LLVMDIFlagZero);
                LLVMDIBuilderCreateFunction(
                    builder,
                    file,
                    name,
                    name_len,
                    linkage,
                    linkage_len,
                    file,
                    line,
                    ty,
                    0,
                    1,
                    line,
                    flags,
                    1,
                )
            };
            let (inner, outer) = (subprogram(linkage, linkage_len), subprogram(name, name_len));
            LLVMSetSubprogram(function.as_value_ref(), inner);
            let int = LLVMInt32TypeInContext(ctx.as_ctx_ref());
            for (key, value) in [("Debug Info Version", 3), ("Dwarf Version", 2)] {
                let value = LLVMValueAsMetadata(LLVMConstInt(int, value, 0));
                let behavior = LLVMModuleFlagBehavior::LLVMModuleFlagBehaviorWarning;
                LLVMAddModuleFlag(llvm.as_mut_ptr(), behavior, key.as_ptr().cast(), key.len(), value);
            }
            let null = std::ptr::null_mut();
            let first = |scope| LLVMDIBuilderCreateDebugLocation(ctx.as_ctx_ref(), line, column, scope, null);
            (builder, inner, first(inner), (outer, first(outer)))
        };
        let scopes = RefCell::new(HashMap::from([(file, subprogram)]));
        let (ctx, sources) = (ctx.as_ctx_ref(), sources.clone());
        Some(LineTable(Rc::new(Table { ctx, builder, sources, subprogram, first, outer, scopes })))
    }

    /// What is built from now on comes from a span.
    pub(crate) fn set(&self, builder: &Builder<'_>, span: Span) {
        let table = &*self.0;
        let Some(file) = table.sources.get(span.file) else { return };
        let (line, column) = file.position(span.start);
        let scope = *table.scopes.borrow_mut().entry(span.file).or_insert_with(|| {
            // SAFETY: live metadata of the module that the builder is for.
            unsafe {
                let file = create_file(table.builder, &table.sources, span.file);
                LLVMDIBuilderCreateLexicalBlockFile(table.builder, table.subprogram, file, 0)
            }
        });
        // SAFETY: a live builder and context, and a scope of this module.
        unsafe {
            let at = LLVMDIBuilderCreateDebugLocation(table.ctx, line, column, scope, std::ptr::null_mut());
            LLVMSetCurrentDebugLocation2(builder.as_mut_ptr(), at);
        }
    }

    /// Gives the instructions without a line that of the kernel's start: a call needs one.
    pub(super) fn complete(&self, function: FunctionValue<'_>) {
        self.complete_with(function, self.0.first);
    }

    /// Gives a function that calls the kernel's lines.
    pub(super) fn wrap(&self, function: FunctionValue<'_>) {
        let (subprogram, first) = self.0.outer;
        // SAFETY: a live function, and metadata of its module.
        unsafe { LLVMSetSubprogram(function.as_value_ref(), subprogram) };
        self.complete_with(function, first);
    }

    fn complete_with(&self, function: FunctionValue<'_>, at: LLVMMetadataRef) {
        // SAFETY: a live function, whose blocks and instructions are walked and not changed but for their lines.
        unsafe {
            let mut block = LLVMGetFirstBasicBlock(function.as_value_ref());
            while !block.is_null() {
                let mut inst = LLVMGetFirstInstruction(block);
                while !inst.is_null() {
                    if LLVMInstructionGetDebugLoc(inst).is_null() {
                        LLVMInstructionSetDebugLoc(inst, at);
                    }
                    inst = LLVMGetNextInstruction(inst);
                }
                block = LLVMGetNextBasicBlock(block);
            }
        }
    }

    /// Makes the metadata whole. No more lines are asked for then.
    pub(super) fn finish(&self) {
        // SAFETY: the module is alive.
        unsafe { LLVMDIBuilderFinalize(self.0.builder) };
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        // SAFETY: made by `LLVMCreateDIBuilder` and used by nobody else.
        unsafe { LLVMDisposeDIBuilder(self.builder) };
    }
}

/// # Safety
/// The builder is alive.
unsafe fn create_file(builder: LLVMDIBuilderRef, sources: &SourceMap, file: FileId) -> LLVMMetadataRef {
    let name = sources.get(file).map_or("", |file| file.name.as_str());
    // SAFETY: texts with their lengths.
    unsafe { LLVMDIBuilderCreateFile(builder, name.as_ptr().cast(), name.len(), c"".as_ptr(), 0) }
}
