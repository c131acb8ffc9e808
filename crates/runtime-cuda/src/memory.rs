//! Memory of a device, and memory of the host that devices reach.
//!
//! In: bytes. Out: an [`Allocation`], freed in the order of streams when dropped. A free waits, on the device, for the
//! work that may use the memory: that of the device's own stream where there is no other, else that of every stream.

use crate::device::{Device, lock};
use crate::error::{Error, cu};
use crate::event::{Event, EventOptions};
use crate::stream::{RawStream, Stream};
use cudarc::driver::sys::{
    self, CUdeviceptr, CUipcMemHandle, CUmemAccess_flags, CUmemAccessDesc, CUmemAllocationHandleType,
    CUmemAllocationType, CUmemLocation, CUmemLocationType, CUmemPool_attribute, CUmemPoolProps, CUmemoryPool,
    CUmemorytype, CUpointer_attribute,
};
use std::ptr::null_mut;

/// Where memory lies and who reaches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryKind {
    /// The device's own, from its pool where that is in use.
    Device,
    /// The host's, page-locked: copies run beside other work, and kernels reach it by the same address.
    Pinned,
    /// Moves between the two as it is touched.
    Managed,
}

/// Owned memory.
#[derive(Debug)]
pub struct Allocation {
    ptr: CUdeviceptr,
    n_bytes: usize,
    how: How,
    device: &'static Device,
}

/// How memory was taken, and so how it is given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Pool,
    Plain,
    Host,
    /// Another process has taken it.
    Opened,
}

/// Memory that nobody has any more and that is not free yet.
#[derive(Debug)]
pub(crate) struct Dead(CUdeviceptr, How);

impl Allocation {
    pub fn ptr(&self) -> u64 {
        self.ptr
    }

    pub fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    pub fn device(&self) -> &'static Device {
        self.device
    }

    /// Memory of another process, by the handle that `handle_of` gave there.
    pub fn open(device: &'static Device, handle: [u8; HANDLE_BYTES]) -> Result<Allocation, Error> {
        let _entered = device.enter()?;
        let handle = CUipcMemHandle { reserved: handle.map(|byte| byte as _) };
        let flags = sys::CUipcMem_flags::CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS as u32;
        let (mut ptr, mut n_bytes) = (0, 0);
        // SAFETY: any bytes may be asked about; writes to locals.
        unsafe {
            cu!(cuIpcOpenMemHandle_v2(&mut ptr, handle, flags))?;
            cu!(cuMemGetAddressRange_v2(null_mut(), &mut n_bytes, ptr))?;
        }
        Ok(Allocation { ptr, n_bytes, how: How::Opened, device })
    }
}

/// Bytes of what names memory or an event of one process in another.
pub const HANDLE_BYTES: usize = 64;

/// What another process opens memory by. It must be a device's own, from outside of its pool, from the first byte on.
pub fn handle_of(device: &'static Device, ptr: u64) -> Result<[u8; HANDLE_BYTES], Error> {
    let _entered = device.enter()?;
    let (mut base, mut n_bytes, mut is_legacy) = (0, 0, 0u32);
    let kind = CUpointer_attribute::CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE;
    let mut handle = CUipcMemHandle { reserved: [0; HANDLE_BYTES] };
    let refused = |text: &str| Err(Error::Refused(text.to_owned()));
    // SAFETY: any address may be asked about; writes to locals of the types asked for.
    unsafe {
        cu!(cuPointerGetAttribute((&raw mut is_legacy).cast(), kind, ptr))?;
        if is_legacy == 0 {
            return refused(
                "memory of a pool cannot be shared between processes: make the array within \
                 `wp.ScopedMempool(device, False)`",
            );
        }
        cu!(cuMemGetAddressRange_v2(&mut base, &mut n_bytes, ptr))?;
        if base != ptr {
            return refused("a part of an array cannot be shared between processes: share the whole one");
        }
        cu!(cuIpcGetMemHandle(&mut handle, ptr))?;
    }
    Ok(handle.reserved.map(|byte| byte as u8))
}

/// The allocation that an address lies in: its first byte, and how many it has.
pub fn range_of(device: &'static Device, ptr: u64) -> Result<(u64, usize), Error> {
    let _entered = device.enter()?;
    let (mut base, mut n_bytes) = (0, 0);
    // SAFETY: any address may be asked about; writes to locals.
    unsafe { cu!(cuMemGetAddressRange_v2(&mut base, &mut n_bytes, ptr)) }?;
    Ok((base, n_bytes))
}

/// Memory of the host that is page-locked as long as this lives, so that devices reach it by the same address.
#[derive(Debug)]
pub struct HostLock {
    ptr: u64,
    device: &'static Device,
}

impl HostLock {
    /// Locks memory that the host has.
    ///
    /// # Safety
    /// The memory is there for as long as the lock.
    pub unsafe fn new(device: &'static Device, ptr: u64, n_bytes: usize) -> Result<HostLock, Error> {
        let _entered = device.enter()?;
        let flags = sys::CU_MEMHOSTREGISTER_PORTABLE | sys::CU_MEMHOSTREGISTER_DEVICEMAP;
        // SAFETY: the caller's promise.
        unsafe { cu!(cuMemHostRegister_v2(ptr as *mut _, n_bytes, flags)) }?;
        Ok(HostLock { ptr, device })
    }
}

impl Drop for HostLock {
    fn drop(&mut self) {
        // Copies that streams still have to do come first. An error here is one of work before.
        let _ = Device::all_opened().try_for_each(Device::synchronize);
        let Ok(_entered) = self.device.enter() else { return };
        // SAFETY: memory that was locked, once.
        let _ = unsafe { cu!(cuMemHostUnregister(self.ptr as *mut _)) };
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        let dead = Dead(self.ptr, self.how);
        if self.device.is_capturing() {
            lock(&self.device.dead).push(dead);
        } else {
            // An error here is one of work before, which the next call tells of.
            let _ = self.device.free(&dead);
        }
    }
}

impl Device {
    /// Memory of at least one byte. Its content is not set.
    pub fn allocate(&'static self, kind: MemoryKind, n_bytes: usize) -> Result<Allocation, Error> {
        let _entered = self.enter()?;
        let mut result = self.try_allocate(kind, n_bytes);
        if result.as_ref().is_err_and(Error::is_out_of_memory) {
            // What was freed is in the pool until all work is done.
            let _ = self.synchronize().and_then(|()| self.trim_pool(0));
            result = self.try_allocate(kind, n_bytes);
        }
        let (ptr, how) = result.map_err(|error| self.explain(error, n_bytes))?;
        Ok(Allocation { ptr, n_bytes, how, device: self })
    }

    fn try_allocate(&'static self, kind: MemoryKind, n_bytes: usize) -> Result<(CUdeviceptr, How), Error> {
        let mut ptr: CUdeviceptr = 0;
        match kind {
            MemoryKind::Device => {
                if let Some(pool) = self.pool.filter(|_| self.is_pool_enabled()) {
                    let stream = self.current_stream();
                    if self.is_capturing() && stream.is_capturing()? {
                        // Not a part of the graph: it lives as long as whoever asked for it.
                        let aside = Stream::unordered(self)?;
                        // SAFETY: a pool of this device; writes to a local.
                        unsafe { cu!(cuMemAllocFromPoolAsync(&mut ptr, n_bytes, pool, aside.raw().0)) }?;
                        aside.raw().synchronize()?;
                    } else {
                        // SAFETY: as above.
                        unsafe { cu!(cuMemAllocFromPoolAsync(&mut ptr, n_bytes, pool, stream.0)) }?;
                    }
                    return Ok((ptr, How::Pool));
                }
                // SAFETY: the context is current; writes to a local.
                unsafe { cu!(cuMemAlloc_v2(&mut ptr, n_bytes)) }?;
                Ok((ptr, How::Plain))
            }
            MemoryKind::Pinned => {
                let mut host = null_mut();
                // SAFETY: as above.
                unsafe { cu!(cuMemHostAlloc(&mut host, n_bytes, sys::CU_MEMHOSTALLOC_PORTABLE)) }?;
                Ok((host as CUdeviceptr, How::Host))
            }
            MemoryKind::Managed => {
                let flags = sys::CUmemAttach_flags::CU_MEM_ATTACH_GLOBAL as u32;
                // SAFETY: as above.
                unsafe { cu!(cuMemAllocManaged(&mut ptr, n_bytes, flags)) }?;
                Ok((ptr, How::Plain))
            }
        }
    }

    /// Frees memory once the work that may use it is done.
    pub(crate) fn free(&'static self, dead: &Dead) -> Result<(), Error> {
        let _entered = self.enter()?;
        // SAFETY: memory that this crate took in this way and that nobody has any more.
        unsafe {
            match dead.1 {
                How::Pool => cu!(cuMemFreeAsync(dead.0, self.stream_to_free_on()?)),
                How::Plain => {
                    self.wait_for_others(null_mut())?;
                    cu!(cuMemFree_v2(dead.0))
                }
                How::Opened => {
                    self.synchronize()?;
                    cu!(cuIpcCloseMemHandle(dead.0))
                }
                How::Host => {
                    // Every device reaches it.
                    Device::all_opened().try_for_each(Device::synchronize)?;
                    cu!(cuMemFreeHost(dead.0 as *mut _))
                }
            }
        }
    }

    /// The stream whose order is that of all work. On the legacy default stream, which is in order with every stream of
    /// ours, a free is in order with them all.
    fn stream_to_free_on(&'static self) -> Result<sys::CUstream, Error> {
        let stream = if self.has_other_streams() { null_mut() } else { self.own_stream().raw().0 };
        self.wait_for_others(stream)?;
        Ok(stream)
    }

    /// Makes a stream wait for what the legacy default stream is not in order with: streams that others made, and other
    /// devices that use memory here.
    fn wait_for_others(&'static self, stream: sys::CUstream) -> Result<(), Error> {
        for peer in self.peers() {
            let all = if peer.has_other_streams() { null_mut() } else { peer.own_stream().raw().0 };
            RawStream(stream, self).wait_for(RawStream(all, peer))?;
        }
        for foreign in self.foreign_streams() {
            let event = Event::new(self, EventOptions::default())?;
            let is_there = event.record(RawStream(foreign as sys::CUstream, self)).is_ok();
            if is_there {
                RawStream(stream, self).wait_event(&event)?;
            }
        }
        Ok(())
    }

    fn explain(&self, error: Error, n_bytes: usize) -> Error {
        let (free, total) = self.memory().unwrap_or((0, 0));
        let gib = |bytes: u64| bytes as f64 / (1u64 << 30) as f64;
        match error {
            Error::Call { call, code, name, text, .. } => {
                let hint = format!(
                    "; {:.3} GiB were asked for on cuda:{}, and {:.3} of {:.3} GiB are free",
                    gib(n_bytes as u64),
                    self.ordinal,
                    gib(free),
                    gib(total)
                );
                Error::Call { call, code, name, text, hint }
            }
            other => other,
        }
    }

    /// A pool of our own, so that its settings are nobody else's.
    pub(crate) fn make_pool(&self) -> Result<CUmemoryPool, Error> {
        let _entered = self.enter()?;
        let props = CUmemPoolProps {
            allocType: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
            handleTypes: CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
            location: self.location(),
            win32SecurityAttributes: null_mut(),
            maxSize: 0,
            reserved: [0; 56],
        };
        let mut pool = null_mut();
        // Freed memory stays with the pool up to a quarter of the device: asking the system for it again takes long.
        let mut kept = self.properties.total_memory / 4;
        // SAFETY: the properties are filled in; writes to a local; the attribute is a 64-bit number.
        unsafe {
            cu!(cuMemPoolCreate(&mut pool, &props))?;
            let threshold = CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
            cu!(cuMemPoolSetAttribute(pool, threshold, (&raw mut kept).cast()))?;
        }
        Ok(pool)
    }

    fn location(&self) -> CUmemLocation {
        CUmemLocation { type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, id: self.ordinal as i32 }
    }

    fn pool(&self) -> Result<CUmemoryPool, Error> {
        self.pool.ok_or_else(|| Error::Refused(format!("cuda:{} has no memory pools", self.ordinal)))
    }

    /// Gives memory that the pool keeps but nobody uses back to the system, except for `kept` bytes.
    pub fn trim_pool(&self, kept: usize) -> Result<(), Error> {
        let Some(pool) = self.pool else { return Ok(()) };
        // SAFETY: the device's own pool.
        unsafe { cu!(cuMemPoolTrimTo(pool, kept)) }
    }

    fn pool_attribute(&self, wanted: CUmemPool_attribute) -> Result<u64, Error> {
        let pool = self.pool()?;
        let mut value = 0u64;
        // SAFETY: the attributes asked for are 64-bit numbers.
        unsafe { cu!(cuMemPoolGetAttribute(pool, wanted, (&raw mut value).cast())) }?;
        Ok(value)
    }

    /// Bytes of the pool that are in use, now and at most so far.
    pub fn pool_used(&self) -> Result<(u64, u64), Error> {
        Ok((
            self.pool_attribute(CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT)?,
            self.pool_attribute(CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH)?,
        ))
    }

    /// Bytes that the pool keeps although nobody uses them.
    pub fn release_threshold(&self) -> Result<u64, Error> {
        self.pool_attribute(CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
    }

    pub fn set_release_threshold(&self, mut n_bytes: u64) -> Result<(), Error> {
        let threshold = CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        let pool = self.pool()?;
        // SAFETY: the attribute is a 64-bit number.
        unsafe { cu!(cuMemPoolSetAttribute(pool, threshold, (&raw mut n_bytes).cast())) }
    }

    /// Lets kernels of `peer` use memory of this device's pool, or no longer.
    pub fn set_pool_access(&self, peer: &Device, is_enabled: bool) -> Result<(), Error> {
        let flags = if is_enabled {
            CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE
        } else {
            CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_NONE
        };
        let access = CUmemAccessDesc { location: peer.location(), flags };
        let pool = self.pool()?;
        // SAFETY: one description.
        unsafe { cu!(cuMemPoolSetAccess(pool, &access, 1)) }
    }

    /// Whether kernels of `peer` may use memory of this device's pool.
    pub fn has_pool_access(&self, peer: &Device) -> Result<bool, Error> {
        let mut flags = CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_NONE;
        let mut location = peer.location();
        let pool = self.pool()?;
        // SAFETY: writes to a local.
        unsafe { cu!(cuMemPoolGetAccess(&mut flags, pool, &mut location)) }?;
        Ok(flags == CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
    }
}

/// What the driver knows about an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointerPlace {
    /// Memory of the host that the driver does not know.
    Host,
    /// Page-locked memory of the host.
    Pinned,
    Device(u32),
    Managed,
}

/// Where an address leads. Without a driver in use every address is the host's.
pub fn pointer_place(ptr: u64) -> PointerPlace {
    if !crate::driver::is_started() {
        return PointerPlace::Host;
    }
    let (mut kind, mut ordinal, mut is_managed) = (0u32, 0i32, 0u32);
    let mut attributes = [
        CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
        CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
        CUpointer_attribute::CU_POINTER_ATTRIBUTE_IS_MANAGED,
    ];
    let mut values = [(&raw mut kind).cast(), (&raw mut ordinal).cast(), (&raw mut is_managed).cast()];
    // SAFETY: three attributes and three places of their types; any address may be asked about.
    let found = unsafe { cu!(cuPointerGetAttributes(3, attributes.as_mut_ptr(), values.as_mut_ptr(), ptr)) };
    match found {
        Ok(()) if is_managed != 0 => PointerPlace::Managed,
        Ok(()) if kind == CUmemorytype::CU_MEMORYTYPE_DEVICE as u32 => PointerPlace::Device(ordinal.max(0) as u32),
        Ok(()) if kind == CUmemorytype::CU_MEMORYTYPE_HOST as u32 => PointerPlace::Pinned,
        _ => PointerPlace::Host,
    }
}
