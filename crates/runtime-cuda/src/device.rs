//! A device in use: its primary context, its memory pool, the stream that work goes to.

use crate::driver::{self, Properties};
use crate::error::{Error, cu};
use crate::fault::Faults;
use crate::memory::Dead;
use crate::scratch::Scratch;
use crate::stream::{RawStream, Stream};
use cudarc::driver::sys::{self, CUcontext, CUdevice, CUdevice_attribute, CUmemoryPool, CUstream};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};

/// Oldest devices that PTX is made for.
const MIN_SM: u32 = 75;
const MAX_DEVICES: usize = 64;

/// A device whose context exists. Lives as long as the process, as the primary context does.
#[derive(Debug)]
pub struct Device {
    pub ordinal: u32,
    pub properties: Properties,
    pub(crate) handle: CUdevice,
    pub(crate) context: CUcontext,
    /// None where memory cannot be allocated in stream order.
    pub(crate) pool: Option<CUmemoryPool>,
    is_pool_enabled: AtomicBool,
    /// The device's own stream: in order with the legacy default stream, which others use.
    own: OnceLock<Stream>,
    current: AtomicPtr<sys::CUstream_st>,
    /// Whether the current stream was made here.
    is_current_ours: AtomicBool,
    /// Keeps the current stream.
    current_kept: Mutex<Option<Stream>>,
    /// Whether work may have gone to a stream other than `own`: memory is then freed in the order of all streams.
    has_other_streams: AtomicBool,
    /// Streams that others made and that are not ordered with the legacy default stream.
    foreign: Mutex<Vec<usize>>,
    /// Bits of the devices whose kernels use memory here, or once did.
    peers: AtomicU64,
    n_captures: AtomicUsize,
    /// Whether a body of a graph that is being captured was refused.
    has_broken_body: AtomicBool,
    /// Memory that was given up while a graph was being captured: the graph may use it at every launch.
    pub(crate) dead: Mutex<Vec<Dead>>,
    /// What launches of a stream use one after the other.
    pub(crate) scratch: Mutex<Scratch>,
    pub(crate) faults: Faults,
}

// SAFETY: handles of the driver may be used from any thread; the rest is atomic or behind a lock.
unsafe impl Send for Device {}
// SAFETY: as above.
unsafe impl Sync for Device {}

static DEVICES: [OnceLock<Result<&'static Device, Error>>; MAX_DEVICES] = [const { OnceLock::new() }; MAX_DEVICES];

impl Device {
    /// Device number `ordinal`, with its context made on first use.
    pub fn get(ordinal: u32) -> Result<&'static Device, Error> {
        let none = || Error::NoDevice { ordinal, count: driver::device_count() };
        DEVICES.get(ordinal as usize).ok_or_else(none)?.get_or_init(|| Device::open(ordinal)).clone()
    }

    /// The device, if it is in use already.
    pub fn opened(ordinal: u32) -> Option<&'static Device> {
        DEVICES.get(ordinal as usize)?.get()?.as_ref().ok().copied()
    }

    /// Every device in use.
    pub(crate) fn all_opened() -> impl Iterator<Item = &'static Device> {
        (0..MAX_DEVICES as u32).filter_map(Device::opened)
    }

    fn open(ordinal: u32) -> Result<&'static Device, Error> {
        let handle = driver::handle(ordinal)?;
        let properties = driver::properties(ordinal)?;
        if properties.sm < MIN_SM {
            return Err(Error::OldDevice { ordinal, sm: properties.sm });
        }
        let mut context = null_mut();
        // SAFETY: a device that exists; writes to a local.
        unsafe { cu!(cuDevicePrimaryCtxRetain(&mut context, handle)) }?;
        let has_pools = properties.has_pools;
        let device = Box::leak(Box::new(Device {
            ordinal,
            properties,
            handle,
            context,
            pool: None,
            is_pool_enabled: AtomicBool::new(has_pools),
            own: OnceLock::new(),
            current: AtomicPtr::new(null_mut()),
            is_current_ours: AtomicBool::new(true),
            current_kept: Mutex::default(),
            has_other_streams: AtomicBool::new(false),
            foreign: Mutex::default(),
            peers: AtomicU64::new(0),
            n_captures: AtomicUsize::new(0),
            has_broken_body: AtomicBool::new(false),
            dead: Mutex::default(),
            scratch: Mutex::default(),
            faults: Faults::default(),
        }));
        if has_pools {
            device.pool = Some(device.make_pool()?);
        }
        let device: &'static Device = device;
        let own = Stream::ordered(device, 0)?;
        device.current.store(own.raw().0, Ordering::Release);
        let _ = device.own.set(own);
        Ok(device)
    }

    /// Makes the context current for this thread while the result lives. Costs little where it is already.
    #[inline]
    pub fn enter(&self) -> Result<Entered, Error> {
        let mut before: CUcontext = null_mut();
        // SAFETY: the driver is started, since there is a device; writes to a local.
        unsafe { cu!(cuCtxGetCurrent(&mut before)) }?;
        if before == self.context {
            return Ok(Entered { restore: null_mut() });
        }
        // SAFETY: a context that lives as long as the process.
        unsafe { cu!(cuCtxSetCurrent(self.context)) }?;
        // A thread without a context keeps this one.
        Ok(Entered { restore: before })
    }

    /// The primary context's address.
    pub fn context_address(&self) -> u64 {
        self.context as u64
    }

    pub fn attribute(&self, wanted: CUdevice_attribute) -> Result<u32, Error> {
        driver::attribute(self.handle, wanted)
    }

    /// Bytes of memory that are free now, and all.
    pub fn memory(&self) -> Result<(u64, u64), Error> {
        let _entered = self.enter()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: writes to locals.
        unsafe { cu!(cuMemGetInfo_v2(&mut free, &mut total)) }?;
        Ok((free as u64, total as u64))
    }

    /// Lets a profiler that waits for it collect from now on, or no longer.
    pub fn set_profiled(&self, is_profiled: bool) -> Result<(), Error> {
        let _entered = self.enter()?;
        // SAFETY: the context is current.
        unsafe { if is_profiled { cu!(cuProfilerStart()) } else { cu!(cuProfilerStop()) } }
    }

    /// Waits for all work of the device.
    pub fn synchronize(&self) -> Result<(), Error> {
        let _entered = self.enter()?;
        // SAFETY: the context is current.
        unsafe { cu!(cuCtxSynchronize()) }
    }

    // Streams.

    /// The device's own stream.
    pub fn own_stream(&self) -> &Stream {
        self.own.get().unwrap_or_else(|| unreachable!("made with the device"))
    }

    /// The stream that work goes to where none is named.
    #[inline]
    pub fn current_stream(&'static self) -> RawStream {
        RawStream(self.current.load(Ordering::Acquire), self)
    }

    pub fn set_current_stream(&self, stream: &Stream) {
        self.current.store(stream.raw().0, Ordering::Release);
        self.is_current_ours.store(stream.is_ours(), Ordering::Release);
        *lock(&self.current_kept) = Some(stream.clone());
    }

    /// Whether the current stream was made here and no graph is captured: repeated launches may take the short way.
    #[inline]
    pub fn is_current_plain(&self) -> bool {
        self.is_current_ours.load(Ordering::Acquire) && !self.is_capturing()
    }

    pub(crate) fn note_other_stream(&self) {
        self.has_other_streams.store(true, Ordering::Relaxed);
    }

    /// Notes a stream that others made, for as long as we know that it lives. Memory is freed after what is on it then.
    pub(crate) fn note_foreign_stream(&self, stream: CUstream) {
        self.note_other_stream();
        lock(&self.foreign).push(stream as usize);
    }

    pub(crate) fn forget_foreign_stream(&self, stream: CUstream) {
        let mut foreign = lock(&self.foreign);
        if let Some(at) = foreign.iter().position(|&known| known == stream as usize) {
            foreign.swap_remove(at);
        }
    }

    pub(crate) fn foreign_streams(&self) -> Vec<usize> {
        lock(&self.foreign).clone()
    }

    pub(crate) fn has_other_streams(&self) -> bool {
        self.has_other_streams.load(Ordering::Relaxed)
    }

    /// Devices whose kernels may use memory here.
    pub(crate) fn peers(&self) -> impl Iterator<Item = &'static Device> {
        let bits = self.peers.load(Ordering::Relaxed);
        (0..u64::BITS).filter(move |ordinal| bits >> ordinal & 1 == 1).filter_map(Device::opened)
    }

    // Captures.

    #[inline]
    pub fn is_capturing(&self) -> bool {
        self.n_captures.load(Ordering::Acquire) != 0
    }

    /// Says whether a body was broken before.
    pub(crate) fn note_broken_body(&self, is_broken: bool) -> bool {
        self.has_broken_body.swap(is_broken, Ordering::AcqRel)
    }

    pub(crate) fn count_capture(&self, begins: bool) -> usize {
        if begins {
            self.n_captures.fetch_add(1, Ordering::AcqRel) + 1
        } else {
            self.n_captures.fetch_sub(1, Ordering::AcqRel) - 1
        }
    }

    // Pools.

    /// Whether memory comes from the device's pool, in the order of streams.
    pub fn is_pool_enabled(&self) -> bool {
        self.is_pool_enabled.load(Ordering::Relaxed)
    }

    pub fn enable_pool(&self, is_enabled: bool) -> Result<(), Error> {
        if is_enabled && self.pool.is_none() {
            return Err(Error::Refused(format!("cuda:{} has no memory pools", self.ordinal)));
        }
        self.is_pool_enabled.store(is_enabled, Ordering::Relaxed);
        Ok(())
    }

    // Peers.

    /// Whether kernels here can read memory of `peer`.
    pub fn can_access(&self, peer: &Device) -> Result<bool, Error> {
        if self.ordinal == peer.ordinal {
            return Ok(true);
        }
        let mut can = 0;
        // SAFETY: two devices that exist; writes to a local.
        unsafe { cu!(cuDeviceCanAccessPeer(&mut can, self.handle, peer.handle)) }?;
        Ok(can != 0)
    }

    /// Lets kernels here read and write memory of `peer` that is not from its pool, or no longer.
    pub fn set_peer_access(&self, peer: &Device, is_enabled: bool) -> Result<(), Error> {
        if is_enabled {
            peer.peers.fetch_or(1 << self.ordinal, Ordering::Relaxed);
        }
        let _entered = self.enter()?;
        // SAFETY: the context of another device.
        let result = unsafe {
            if is_enabled {
                cu!(cuCtxEnablePeerAccess(peer.context, 0))
            } else {
                cu!(cuCtxDisablePeerAccess(peer.context))
            }
        };
        use sys::CUresult::{CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, CUDA_ERROR_PEER_ACCESS_NOT_ENABLED};
        let done = [CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED as u32, CUDA_ERROR_PEER_ACCESS_NOT_ENABLED as u32];
        match result {
            Err(Error::Call { code, .. }) if done.contains(&code) => Ok(()),
            other => other,
        }
    }
}

/// A thread's loan of a context: the one before comes back.
#[must_use]
pub struct Entered {
    restore: CUcontext,
}

impl Drop for Entered {
    fn drop(&mut self) {
        if !self.restore.is_null() {
            // SAFETY: it was current before.
            let _ = unsafe { cu!(cuCtxSetCurrent(self.restore)) };
        }
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
