//! The driver: found, started and asked what there is. Nothing here makes a context.

use crate::error::{Error, cu};
use cudarc::driver::sys::{self, CUdevice, CUdevice_attribute};
use std::ffi::CStr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

static IS_STARTED: AtomicBool = AtomicBool::new(false);

/// Starts the driver, once. Every other function of this crate does so when it must.
pub fn start() -> Result<(), Error> {
    static STARTED: OnceLock<Result<(), Error>> = OnceLock::new();
    STARTED
        .get_or_init(|| {
            // SAFETY: loads the driver's library, whose initializers are safe to run, and calls it with no pointers
            // but to a local.
            unsafe {
                if !sys::is_culib_present() {
                    return Err(Error::NoDriver);
                }
                let mut version = 0;
                cu!(cuDriverGetVersion(&mut version))?;
                if version < 12000 {
                    return Err(Error::OldDriver(version));
                }
                cu!(cuInit(0))?;
            }
            IS_STARTED.store(true, Ordering::Release);
            Ok(())
        })
        .clone()
}

/// Whether anything has started the driver yet.
pub fn is_started() -> bool {
    IS_STARTED.load(Ordering::Acquire)
}

/// The CUDA version that the driver supports: (13, 0).
pub fn version() -> Result<(u32, u32), Error> {
    start()?;
    let mut version = 0;
    // SAFETY: writes to a local.
    unsafe { cu!(cuDriverGetVersion(&mut version)) }?;
    Ok((version as u32 / 1000, version as u32 % 1000 / 10))
}

/// Number of devices, 0 without a driver.
pub fn device_count() -> u32 {
    static COUNT: OnceLock<u32> = OnceLock::new();
    *COUNT.get_or_init(|| {
        let mut count = 0;
        // SAFETY: the driver is started; writes to a local.
        let found = start().and_then(|()| unsafe { cu!(cuDeviceGetCount(&mut count)) });
        if found.is_ok() { count as u32 } else { 0 }
    })
}

/// What a device is, without a context on it.
#[derive(Clone, Debug)]
pub struct Properties {
    pub name: String,
    /// Compute capability: 90 for 9.0.
    pub sm: u32,
    pub n_multiprocessors: u32,
    pub max_threads_per_block: u32,
    /// Bytes that a block may ask for.
    pub max_shared_bytes: u32,
    pub total_memory: u64,
    /// As `nvidia-smi -L` shows it.
    pub uuid: String,
    pub pci_bus_id: String,
    pub has_unified_addressing: bool,
    pub has_pools: bool,
    pub has_managed_memory: bool,
    pub has_concurrent_managed_access: bool,
    /// Whether kernels read memory of `malloc`.
    pub reads_host_memory: bool,
    pub has_ipc: bool,
    /// Kilohertz of the multiprocessors at most.
    pub clock_khz: u32,
}

/// A device's handle by its number.
pub(crate) fn handle(ordinal: u32) -> Result<CUdevice, Error> {
    start()?;
    let count = device_count();
    if ordinal >= count {
        return Err(Error::NoDevice { ordinal, count });
    }
    let mut handle = 0;
    // SAFETY: writes to a local.
    unsafe { cu!(cuDeviceGet(&mut handle, ordinal as i32)) }?;
    Ok(handle)
}

pub(crate) fn attribute(device: CUdevice, attribute: CUdevice_attribute) -> Result<u32, Error> {
    let mut value = 0;
    // SAFETY: writes to a local.
    unsafe { cu!(cuDeviceGetAttribute(&mut value, attribute, device)) }?;
    Ok(value.max(0) as u32)
}

/// What device number `ordinal` is.
pub fn properties(ordinal: u32) -> Result<Properties, Error> {
    use CUdevice_attribute::*;
    let device = handle(ordinal)?;
    let get = |wanted| attribute(device, wanted);
    let flag = |wanted| attribute(device, wanted).map(|value| value != 0);
    let mut name = [0; 256];
    let mut bus = [0; 32];
    let mut uuid = sys::CUuuid { bytes: [0; 16] };
    let mut total = 0;
    // SAFETY: the buffers have the lengths that are passed; the driver ends the texts with a zero.
    let (name, bus) = unsafe {
        cu!(cuDeviceGetName(name.as_mut_ptr(), name.len() as i32, device))?;
        cu!(cuDeviceGetPCIBusId(bus.as_mut_ptr(), bus.len() as i32, device))?;
        cu!(cuDeviceGetUuid_v2(&mut uuid, device))?;
        cu!(cuDeviceTotalMem_v2(&mut total, device))?;
        (CStr::from_ptr(name.as_ptr()), CStr::from_ptr(bus.as_ptr()))
    };
    let major = get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    let minor = get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
    Ok(Properties {
        name: name.to_string_lossy().into_owned(),
        sm: major * 10 + minor,
        n_multiprocessors: get(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        max_threads_per_block: get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        max_shared_bytes: get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
        total_memory: total as u64,
        uuid: shown_uuid(&uuid.bytes.map(|byte| byte as u8)),
        pci_bus_id: bus.to_string_lossy().into_owned(),
        has_unified_addressing: flag(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING)?,
        has_pools: flag(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED)?,
        has_managed_memory: flag(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY)?,
        has_concurrent_managed_access: flag(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS)?,
        reads_host_memory: flag(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS)?,
        has_ipc: flag(CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED)?,
        clock_khz: get(CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?,
    })
}

fn shown_uuid(bytes: &[u8; 16]) -> String {
    let mut text = "GPU-".to_owned();
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_uuid_reads_as_nvidia_smi_shows_it() {
        let bytes = std::array::from_fn(|index| index as u8);
        assert_eq!(super::shown_uuid(&bytes), "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f");
    }
}
