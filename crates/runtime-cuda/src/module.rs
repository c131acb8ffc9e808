//! Code on the device: PTX to machine code by the driver's compiler, machine code to functions.

use crate::device::Device;
use crate::error::{Error, cu, failed_compile};
use cudarc::driver::sys::{self, CUfunction, CUfunction_attribute, CUjit_option, CUjitInputType, CUmodule, CUresult};
use std::ffi::{CString, c_void};
use std::ptr::null_mut;

/// How PTX becomes machine code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkOptions {
    /// Registers of a thread at most; 0 leaves it to the compiler.
    pub max_registers: u32,
    /// Whether profilers see source lines.
    pub has_line_info: bool,
}

/// Code of other compilers that a kernel is linked with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LinkInput {
    pub kind: LinkKind,
    pub bytes: Vec<u8>,
    /// For messages.
    pub name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LinkKind {
    Ptx,
    Cubin,
    Fatbin,
    Object,
    Archive,
    /// For NVIDIA's linker, which is none of the driver's.
    LtoIr,
}

impl LinkKind {
    /// By the usual ending of a file's name.
    pub fn from_extension(extension: &str) -> Option<LinkKind> {
        match extension {
            "ptx" => Some(LinkKind::Ptx),
            "cubin" => Some(LinkKind::Cubin),
            "fatbin" => Some(LinkKind::Fatbin),
            "o" => Some(LinkKind::Object),
            "a" => Some(LinkKind::Archive),
            "ltoir" => Some(LinkKind::LtoIr),
            _ => None,
        }
    }

    /// The usual ending of a file's name.
    pub fn extension(self) -> &'static str {
        match self {
            LinkKind::Ptx => "ptx",
            LinkKind::Cubin => "cubin",
            LinkKind::Fatbin => "fatbin",
            LinkKind::Object => "o",
            LinkKind::Archive => "a",
            LinkKind::LtoIr => "ltoir",
        }
    }

    fn raw(self) -> Result<CUjitInputType, Error> {
        Ok(match self {
            LinkKind::Ptx => CUjitInputType::CU_JIT_INPUT_PTX,
            LinkKind::Cubin => CUjitInputType::CU_JIT_INPUT_CUBIN,
            LinkKind::Fatbin => CUjitInputType::CU_JIT_INPUT_FATBINARY,
            LinkKind::Object => CUjitInputType::CU_JIT_INPUT_OBJECT,
            LinkKind::Archive => CUjitInputType::CU_JIT_INPUT_LIBRARY,
            LinkKind::LtoIr => return Err(Error::Refused("the driver does not link LTO-IR".to_owned())),
        })
    }
}

const LOG_BYTES: usize = 8192;

/// Machine code for a device from PTX and what it is linked with, as it can be kept on disk.
pub fn link(device: &'static Device, ptx: &str, inputs: &[LinkInput], options: LinkOptions) -> Result<Vec<u8>, Error> {
    let _entered = device.enter()?;
    let no_zero = |_| Error::Refused("the PTX, or a name of what is linked with it, has a zero byte".to_owned());
    let own = (LinkKind::Ptx, ptx.as_bytes(), "gridstride");
    let others = inputs.iter().map(|input| (input.kind, &input.bytes[..], &input.name[..]));
    let mut pieces = Vec::new();
    for (kind, bytes, name) in [own].into_iter().chain(others) {
        let kind = kind.raw()?;
        let mut bytes = bytes.to_vec();
        if kind == CUjitInputType::CU_JIT_INPUT_PTX {
            // A text ends with a zero, which is counted; other compilers' may have one.
            bytes.truncate(bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len()));
            bytes.push(0);
        }
        pieces.push((kind, bytes, CString::new(name).map_err(no_zero)?));
    }
    let mut log = vec![0u8; LOG_BYTES];
    let mut names = vec![CUjit_option::CU_JIT_ERROR_LOG_BUFFER, CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    let mut values: Vec<*mut c_void> = vec![log.as_mut_ptr().cast(), LOG_BYTES as *mut c_void];
    if options.max_registers != 0 {
        names.push(CUjit_option::CU_JIT_MAX_REGISTERS);
        values.push(options.max_registers as usize as *mut c_void);
    }
    if options.has_line_info {
        names.push(CUjit_option::CU_JIT_GENERATE_LINE_INFO);
        values.push(std::ptr::without_provenance_mut(1));
    }
    let mut state = null_mut();
    // SAFETY: as many values as options, which live, like the log, until the linker is destroyed; texts end with a zero,
    // which is counted; the linker's output is copied before it is destroyed.
    unsafe {
        cu!(cuLinkCreate_v2(names.len() as u32, names.as_mut_ptr(), values.as_mut_ptr(), &mut state))?;
        let mut run = || -> Result<Vec<u8>, (&'static str, CUresult)> {
            for (kind, bytes, name) in &mut pieces {
                let (data, size) = (bytes.as_mut_ptr().cast(), bytes.len());
                match sys::cuLinkAddData_v2(state, *kind, data, size, name.as_ptr(), 0, null_mut(), null_mut()) {
                    CUresult::CUDA_SUCCESS => {}
                    code => return Err(("cuLinkAddData", code)),
                }
            }
            let (mut image, mut n_bytes) = (null_mut(), 0);
            match sys::cuLinkComplete(state, &mut image, &mut n_bytes) {
                CUresult::CUDA_SUCCESS => Ok(std::slice::from_raw_parts(image.cast::<u8>(), n_bytes).to_vec()),
                code => Err(("cuLinkComplete", code)),
            }
        };
        let result = run();
        let _ = cu!(cuLinkDestroy(state));
        result.map_err(|(call, code)| {
            let end = log.iter().position(|&byte| byte == 0).unwrap_or(LOG_BYTES);
            failed_compile(call, code, &String::from_utf8_lossy(&log[..end]))
        })
    }
}

/// Loaded code. Never unloaded: a kernel of it may be running.
#[derive(Clone, Copy, Debug)]
pub struct Module {
    raw: CUmodule,
    device: &'static Device,
}

// SAFETY: handles of the driver may be used from any thread.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}

/// What a function needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FunctionProperties {
    pub n_registers: u32,
    /// Of a block, as the code says; what the launch adds is not counted.
    pub shared_bytes: u32,
    /// Of a thread.
    pub local_bytes: u32,
    pub max_threads_per_block: u32,
}

impl Module {
    /// Loads machine code.
    pub fn load(device: &'static Device, image: &[u8]) -> Result<Module, Error> {
        let _entered = device.enter()?;
        let mut raw = null_mut();
        // SAFETY: an image that says its own length; writes to a local.
        unsafe { cu!(cuModuleLoadData(&mut raw, image.as_ptr().cast())) }?;
        Ok(Module { raw, device })
    }

    /// The code of a library that another part of the process has loaded, and keeps.
    ///
    /// # Safety
    /// The address is a living `CUlibrary`'s, and stays one.
    pub unsafe fn of_library(device: &'static Device, library: u64) -> Result<Module, Error> {
        let _entered = device.enter()?;
        let mut raw = null_mut();
        // SAFETY: the caller's promise; writes to a local.
        unsafe { cu!(cuLibraryGetModule(&mut raw, library as sys::CUlibrary)) }?;
        Ok(Module { raw, device })
    }

    pub fn device(&self) -> &'static Device {
        self.device
    }

    /// A function by its name.
    pub(crate) fn function(&self, name: &str) -> Result<CUfunction, Error> {
        let _entered = self.device.enter()?;
        let name = CString::new(name).map_err(|_| Error::Refused("the name has a zero byte".to_owned()))?;
        let mut function = null_mut();
        // SAFETY: a loaded module, a text that ends with a zero; writes to a local.
        unsafe { cu!(cuModuleGetFunction(&mut function, self.raw, name.as_ptr())) }?;
        Ok(function)
    }

    /// Lets a function's blocks have that many dynamic shared bytes.
    pub(crate) fn allow_shared(function: CUfunction, n_bytes: u32) -> Result<(), Error> {
        let wanted = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: a function of a loaded module.
        unsafe { cu!(cuFuncSetAttribute(function, wanted, n_bytes as i32)) }
    }

    pub(crate) fn properties(function: CUfunction) -> Result<FunctionProperties, Error> {
        use CUfunction_attribute::*;
        let get = |attribute| {
            let mut value = 0;
            // SAFETY: a function of a loaded module; writes to a local.
            unsafe { cu!(cuFuncGetAttribute(&mut value, attribute, function)) }?;
            Ok::<u32, Error>(value.max(0) as u32)
        };
        Ok(FunctionProperties {
            n_registers: get(CU_FUNC_ATTRIBUTE_NUM_REGS)?,
            shared_bytes: get(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
            local_bytes: get(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
            max_threads_per_block: get(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        })
    }
}
