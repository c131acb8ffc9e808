//! The calling thread's stack of contexts, which all libraries of the process share.

use crate::driver;
use crate::error::{Error, cu};
use cudarc::driver::sys::CUcontext;
use std::ptr::null_mut;

/// Address of the current context, 0 where there is none.
pub fn current_context() -> Result<u64, Error> {
    driver::start()?;
    let mut found: CUcontext = null_mut();
    // SAFETY: writes to a local.
    unsafe { cu!(cuCtxGetCurrent(&mut found)) }?;
    Ok(found as u64)
}

/// Makes a context the current one until it is popped.
///
/// # Safety
/// The address is a living context's.
pub unsafe fn push_context(context: u64) -> Result<(), Error> {
    driver::start()?;
    // SAFETY: the caller's promise.
    unsafe { cu!(cuCtxPushCurrent_v2(context as CUcontext)) }
}

/// Takes the current context off; gives its address, 0 where there is none.
pub fn pop_context() -> Result<u64, Error> {
    if current_context()? == 0 {
        return Ok(0);
    }
    let mut found: CUcontext = null_mut();
    // SAFETY: there is a context; writes to a local.
    unsafe { cu!(cuCtxPopCurrent_v2(&mut found)) }?;
    Ok(found as u64)
}
