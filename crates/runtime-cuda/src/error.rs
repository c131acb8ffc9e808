//! What the driver says when a call fails, with the call's name.
//!
//! `cuMemAllocFromPoolAsync: out of memory (CUDA_ERROR_OUT_OF_MEMORY, 2)`

use cudarc::driver::sys::{self, CUresult};
use std::ffi::CStr;

/// Something the driver refused, or a machine without one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("no CUDA driver is installed: the library `libcuda.so.1` was not found")]
    NoDriver,
    #[error("the CUDA driver supports CUDA {}.{}; version 12.0 or newer is needed", .0 / 1000, .0 % 1000 / 10)]
    OldDriver(i32),
    #[error("there is no device cuda:{ordinal}: this machine has {count}")]
    NoDevice { ordinal: u32, count: u32 },
    #[error("cuda:{ordinal} has compute capability {}.{}; 7.5 or newer is needed", .sm / 10, .sm % 10)]
    OldDevice { ordinal: u32, sm: u32 },
    /// `hint` is empty, or a sentence that says what to do.
    #[error("{call}: {text} ({name}, {code}){hint}")]
    Call { call: &'static str, code: u32, name: String, text: String, hint: String },
    /// The driver's compiler on PTX that it did not take.
    #[error("{call}: {text} ({name}, {code}): {log}")]
    Compile { call: &'static str, code: u32, name: String, text: String, log: String },
    #[error("{0}")]
    Refused(String),
}

impl Error {
    /// Whether the device has no memory left.
    pub fn is_out_of_memory(&self) -> bool {
        matches!(self, Error::Call { code, .. } if *code == CUresult::CUDA_ERROR_OUT_OF_MEMORY as u32)
    }

    /// Whether a kernel that ran before is what failed: such an error stays with the context until the process ends.
    pub fn is_from_kernel(&self) -> bool {
        use CUresult::*;
        const CODES: [CUresult; 9] = [
            CUDA_ERROR_ILLEGAL_ADDRESS,
            CUDA_ERROR_LAUNCH_TIMEOUT,
            CUDA_ERROR_ASSERT,
            CUDA_ERROR_HARDWARE_STACK_ERROR,
            CUDA_ERROR_ILLEGAL_INSTRUCTION,
            CUDA_ERROR_MISALIGNED_ADDRESS,
            CUDA_ERROR_INVALID_ADDRESS_SPACE,
            CUDA_ERROR_INVALID_PC,
            CUDA_ERROR_LAUNCH_FAILED,
        ];
        matches!(self, Error::Call { code, .. } if CODES.iter().any(|&known| known as u32 == *code))
    }
}

/// Calls a driver function; the error has its name. For use inside of an `unsafe` block.
macro_rules! cu {
    ($name:ident($($arg:expr),* $(,)?)) => {
        $crate::error::check(stringify!($name), cudarc::driver::sys::$name($($arg),*))
    };
}
pub(crate) use cu;

#[inline]
pub(crate) fn check(call: &'static str, code: CUresult) -> Result<(), Error> {
    if code == CUresult::CUDA_SUCCESS { Ok(()) } else { Err(failed(call, code)) }
}

#[cold]
fn failed(call: &'static str, code: CUresult) -> Error {
    let (name, text) = describe(code);
    let call = call.trim_end_matches("_v2");
    Error::Call { call, code: code as u32, name, text, hint: hint(code).to_owned() }
}

#[cold]
pub(crate) fn failed_compile(call: &'static str, code: CUresult, log: &str) -> Error {
    let (name, text) = describe(code);
    let log = if log.trim().is_empty() { "the driver gave no reason" } else { log.trim() };
    Error::Compile { call: call.trim_end_matches("_v2"), code: code as u32, name, text, log: log.to_owned() }
}

/// The driver's name for a code, and its sentence.
fn describe(code: CUresult) -> (String, String) {
    type Ask = unsafe fn(CUresult, *mut *const std::ffi::c_char) -> CUresult;
    let ask = |ask: Ask, otherwise: &str| {
        let mut text = std::ptr::null();
        // SAFETY: the driver is loaded, since it gave the code; it writes the address of a constant, or null.
        unsafe {
            let found = ask(code, &mut text) == CUresult::CUDA_SUCCESS && !text.is_null();
            if found { CStr::from_ptr(text).to_string_lossy().into_owned() } else { otherwise.to_owned() }
        }
    };
    (ask(sys::cuGetErrorName, "unknown code"), ask(sys::cuGetErrorString, "unrecognized error"))
}

fn hint(code: CUresult) -> &'static str {
    match code {
        CUresult::CUDA_ERROR_NOT_INITIALIZED => {
            "; a process made by fork cannot use CUDA when its parent did: start it with `spawn`"
        }
        CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
        | CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
        | CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
        | CUresult::CUDA_ERROR_STREAM_CAPTURE_UNJOINED => {
            "; while a graph is captured, launches, copies, fills and events of the captured stream are allowed"
        }
        _ => "",
    }
}
