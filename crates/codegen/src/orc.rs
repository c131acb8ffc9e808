//! Loading object files with LLVM's ORC.
//!
//! In: the bytes of an object file that [`crate::compile`] made, now or in another run. Out: a [`LoadedModule`] whose
//! code stays until it is dropped. Each module is linked in a dylib of its own, so equal names never clash; emptied
//! dylibs are kept for the next module, since ORC cannot delete one.

use crate::{Error, Result};
use llvm_sys::core::LLVMCreateMemoryBufferWithMemoryRangeCopy;
use llvm_sys::error::{LLVMDisposeErrorMessage, LLVMErrorRef, LLVMGetErrorMessage};
use llvm_sys::orc2::lljit::{
    LLVMOrcCreateLLJIT, LLVMOrcCreateLLJITBuilder, LLVMOrcLLJITBuilderSetJITTargetMachineBuilder,
    LLVMOrcLLJITGetExecutionSession, LLVMOrcLLJITGetObjLinkingLayer, LLVMOrcLLJITMangleAndIntern, LLVMOrcLLJITRef,
};
use llvm_sys::orc2::*;
use runtime::{BlockEntryPoint, EntryPoint};
use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::{Mutex, OnceLock};

/// Machine code in memory. Dropping it frees the code: no launch may run it then.
#[derive(Debug)]
pub struct LoadedModule {
    entry: EntryPoint,
    tracker: LLVMOrcResourceTrackerRef,
    dylib: LLVMOrcJITDylibRef,
}

// SAFETY: ORC locks its session around every call that takes these pointers, and the code itself is read only.
unsafe impl Send for LoadedModule {}
// SAFETY: as above; sharing gives out the entry point alone.
unsafe impl Sync for LoadedModule {}

impl LoadedModule {
    pub fn entry(&self) -> EntryPoint {
        self.entry
    }

    /// The entry point of a block program. What it is given must be what the kernel's kind demands, as for `entry`.
    pub fn block_entry(&self) -> BlockEntryPoint {
        // SAFETY: the two differ in what one pointer points to; calling it is up to the caller.
        unsafe { std::mem::transmute::<EntryPoint, BlockEntryPoint>(self.entry) }
    }
}

impl Drop for LoadedModule {
    fn drop(&mut self) {
        // SAFETY: the tracker is this module's own and is released once.
        let removed = unsafe {
            let removed = check("LLVMOrcResourceTrackerRemove", LLVMOrcResourceTrackerRemove(self.tracker));
            LLVMOrcReleaseResourceTracker(self.tracker);
            removed
        };
        // A dylib that could not be emptied is not used again.
        if let (Ok(()), Ok(session)) = (removed, session()) {
            session.spare().push(Dylib(self.dylib));
        }
    }
}

/// Links an object file's code into this process.
pub fn load(object: &[u8], symbol: &str) -> Result<LoadedModule> {
    let session = session()?;
    let spare = session.spare().pop();
    let dylib = match spare {
        Some(dylib) => dylib.0,
        None => session.new_dylib()?,
    };
    // SAFETY: the dylib belongs to the session and to this module alone.
    let tracker = unsafe { LLVMOrcJITDylibCreateResourceTracker(dylib) };
    let linked = session.add(tracker, object).and_then(|()| session.find(dylib, symbol));
    match linked {
        Ok(address) => {
            // SAFETY: the object was made by `compile`, whose entry points have this type.
            let entry = unsafe { std::mem::transmute::<usize, EntryPoint>(address) };
            Ok(LoadedModule { entry, tracker, dylib })
        }
        Err(error) => {
            // SAFETY: as in `drop`; the module never came to be.
            unsafe {
                if check("LLVMOrcResourceTrackerRemove", LLVMOrcResourceTrackerRemove(tracker)).is_ok() {
                    session.spare().push(Dylib(dylib));
                }
                LLVMOrcReleaseResourceTracker(tracker);
            }
            Err(error)
        }
    }
}

/// Starts the session, for `warm_up`.
pub(crate) fn start() -> Result<()> {
    session().map(|_| ())
}

struct Dylib(LLVMOrcJITDylibRef);

// SAFETY: ORC locks its session around every call that takes a dylib.
unsafe impl Send for Dylib {}

/// The process's one linker; never disposed of, since code may run until the process ends.
struct Session {
    jit: LLVMOrcLLJITRef,
    spare: Mutex<Vec<Dylib>>,
    n_dylibs: std::sync::atomic::AtomicUsize,
}

// SAFETY: LLJIT may be used from several threads.
unsafe impl Send for Session {}
// SAFETY: as above.
unsafe impl Sync for Session {}

fn session() -> Result<&'static Session> {
    static SESSION: OnceLock<Result<Session>> = OnceLock::new();
    SESSION.get_or_init(Session::new).as_ref().map_err(Error::clone)
}

impl Session {
    fn new() -> Result<Session> {
        let machine = crate::x86::target_machine(crate::Isa::Host)?;
        let raw = machine.as_mut_ptr();
        // The builder takes the machine and disposes of it.
        std::mem::forget(machine);
        let mut jit = std::ptr::null_mut();
        // SAFETY: each call gets what the one before made; ownership moves on as LLVM's headers say.
        unsafe {
            let builder = LLVMOrcCreateLLJITBuilder();
            let machine = LLVMOrcJITTargetMachineBuilderCreateFromTargetMachine(raw);
            LLVMOrcLLJITBuilderSetJITTargetMachineBuilder(builder, machine);
            check("LLVMOrcCreateLLJIT", LLVMOrcCreateLLJIT(&mut jit, builder))?;
            LLVMOrcExecutionSessionSetErrorReporter(
                LLVMOrcLLJITGetExecutionSession(jit),
                drop_report,
                std::ptr::null_mut(),
            );
        }
        Ok(Session { jit, spare: Mutex::default(), n_dylibs: Default::default() })
    }

    fn spare(&self) -> std::sync::MutexGuard<'_, Vec<Dylib>> {
        self.spare.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// A dylib that knows the runtime's functions and nothing of the process.
    fn new_dylib(&self) -> Result<LLVMOrcJITDylibRef> {
        let number = self.n_dylibs.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = c_string(&format!("kernel{number}"))?;
        let mut symbols = Vec::new();
        for (name, address) in crate::symbols::all() {
            let name = c_string(name)?;
            // SAFETY: the name lives through the call.
            let name = unsafe { LLVMOrcLLJITMangleAndIntern(self.jit, name.as_ptr()) };
            // Exported and callable.
            let flags = LLVMJITSymbolFlags { GenericFlags: 1 | 4, TargetFlags: 0 };
            let symbol = LLVMJITEvaluatedSymbol { Address: address as u64, Flags: flags };
            symbols.push(LLVMOrcCSymbolMapPair { Name: name, Sym: symbol });
        }
        // SAFETY: the session is live; `LLVMOrcAbsoluteSymbols` copies the pairs and takes the names.
        unsafe {
            let session = LLVMOrcLLJITGetExecutionSession(self.jit);
            let dylib = LLVMOrcExecutionSessionCreateBareJITDylib(session, name.as_ptr());
            let unit = LLVMOrcAbsoluteSymbols(symbols.as_mut_ptr(), symbols.len());
            check("LLVMOrcJITDylibDefine", LLVMOrcJITDylibDefine(dylib, unit))?;
            Ok(dylib)
        }
    }

    fn add(&self, tracker: LLVMOrcResourceTrackerRef, object: &[u8]) -> Result<()> {
        // SAFETY: the buffer is a copy that ORC takes over; the tracker is live.
        unsafe {
            let buffer =
                LLVMCreateMemoryBufferWithMemoryRangeCopy(object.as_ptr().cast(), object.len(), c"kernel".as_ptr());
            let layer = LLVMOrcLLJITGetObjLinkingLayer(self.jit);
            check(
                "LLVMOrcObjectLayerAddObjectFileWithRT",
                LLVMOrcObjectLayerAddObjectFileWithRT(layer, tracker, buffer),
            )
        }
    }

    /// Links what the symbol needs and gives its address.
    fn find(&self, dylib: LLVMOrcJITDylibRef, symbol: &str) -> Result<usize> {
        let name = c_string(symbol)?;
        let mut order = LLVMOrcCJITDylibSearchOrderElement {
            JD: dylib,
            JDLookupFlags: LLVMOrcJITDylibLookupFlags::LLVMOrcJITDylibLookupFlagsMatchAllSymbols,
        };
        let mut found: Found = (std::sync::Mutex::new(None), std::sync::Condvar::new());
        // SAFETY: the callback runs exactly once, before the wait below ends, so `found` outlives it.
        unsafe {
            let mut wanted = LLVMOrcCLookupSetElement {
                Name: LLVMOrcLLJITMangleAndIntern(self.jit, name.as_ptr()),
                LookupFlags: LLVMOrcSymbolLookupFlags::LLVMOrcSymbolLookupFlagsRequiredSymbol,
            };
            LLVMOrcExecutionSessionLookup(
                LLVMOrcLLJITGetExecutionSession(self.jit),
                LLVMOrcLookupKind::LLVMOrcLookupKindStatic,
                &mut order,
                1,
                &mut wanted,
                1,
                receive,
                (&raw mut found).cast(),
            );
        }
        let mut result = found.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        loop {
            if let Some(result) = result.take() {
                return result;
            }
            result = found.1.wait(result).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }
}

type Found = (Mutex<Option<Result<usize>>>, std::sync::Condvar);

extern "C" fn receive(error: LLVMErrorRef, result: LLVMOrcCSymbolMapPairs, n: usize, ctx: *mut c_void) {
    let found = check("LLVMOrcExecutionSessionLookup", error).and_then(|()| {
        if n == 0 {
            return Err(Error::llvm("LLVMOrcExecutionSessionLookup", "no symbol"));
        }
        // SAFETY: on success LLVM passes `n` pairs.
        Ok(unsafe { (*result).Sym.Address as usize })
    });
    // SAFETY: `find` passes a live `Found` and waits for this call.
    let (place, ready) = unsafe { &*ctx.cast::<Found>() };
    let mut place = place.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    *place = Some(found);
    // Under the lock, so that the waiter cannot go away in between.
    ready.notify_all();
}

/// ORC also prints errors that it returns; the caller reports them.
extern "C" fn drop_report(_: *mut c_void, error: LLVMErrorRef) {
    let _ = check("ORC", error);
}

fn c_string(text: &str) -> Result<CString> {
    CString::new(text).map_err(|error| Error::llvm("symbol name", error))
}

fn check(call: &'static str, error: LLVMErrorRef) -> Result<()> {
    if error.is_null() {
        return Ok(());
    }
    // SAFETY: the error is not null; taking the message consumes it, and the message is disposed of once.
    unsafe {
        let text: *mut c_char = LLVMGetErrorMessage(error);
        let message = CStr::from_ptr(text).to_string_lossy().into_owned();
        LLVMDisposeErrorMessage(text);
        Err(Error::Llvm { call, message })
    }
}
