//! Events: points in a stream that other streams and the host wait for, and between which time is measured.

use crate::device::Device;
use crate::error::{Error, cu};
use crate::memory::HANDLE_BYTES;
use crate::stream::RawStream;
use cudarc::driver::sys::{CUevent, CUevent_flags, CUipcEventHandle, CUresult};
use std::ptr::null_mut;

/// An event. Destroyed when dropped, unless others made it.
#[derive(Debug)]
pub struct Event {
    raw: CUevent,
    device: &'static Device,
    is_ours: bool,
}

// SAFETY: handles of the driver may be used from any thread.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventOptions {
    /// Whether time can be measured with it, which makes it dearer.
    pub has_time: bool,
    /// Whether a host that waits sleeps.
    pub sleeps: bool,
    /// Whether other processes may have it too; such events have no time.
    pub is_shared: bool,
}

impl Event {
    pub fn new(device: &'static Device, options: EventOptions) -> Result<Event, Error> {
        let mut flags = 0;
        if !options.has_time {
            flags |= CUevent_flags::CU_EVENT_DISABLE_TIMING as u32;
        }
        if options.sleeps {
            flags |= CUevent_flags::CU_EVENT_BLOCKING_SYNC as u32;
        }
        if options.is_shared {
            flags |= CUevent_flags::CU_EVENT_INTERPROCESS as u32;
        }
        let _entered = device.enter()?;
        let mut raw = null_mut();
        // SAFETY: the context is current; writes to a local.
        unsafe { cu!(cuEventCreate(&mut raw, flags)) }?;
        Ok(Event { raw, device, is_ours: true })
    }

    /// An event that others made, by its handle. They keep it.
    pub fn foreign(device: &'static Device, handle: u64) -> Event {
        Event { raw: handle as CUevent, device, is_ours: false }
    }

    /// An event of another process, by the handle that `shared_handle` gave there.
    pub fn open(device: &'static Device, handle: [u8; HANDLE_BYTES]) -> Result<Event, Error> {
        let _entered = device.enter()?;
        let handle = CUipcEventHandle { reserved: handle.map(|byte| byte as _) };
        let mut raw = null_mut();
        // SAFETY: any bytes may be asked about; writes to a local.
        unsafe { cu!(cuIpcOpenEventHandle(&mut raw, handle)) }?;
        Ok(Event { raw, device, is_ours: true })
    }

    /// What another process opens the event by. It must have been made for that.
    pub fn shared_handle(&self) -> Result<[u8; HANDLE_BYTES], Error> {
        let _entered = self.device.enter()?;
        let mut handle = CUipcEventHandle { reserved: [0; HANDLE_BYTES] };
        // SAFETY: a live event; writes to a local.
        unsafe { cu!(cuIpcGetEventHandle(&mut handle, self.raw)) }?;
        Ok(handle.reserved.map(|byte| byte as u8))
    }

    pub(crate) fn raw(&self) -> CUevent {
        self.raw
    }

    pub fn handle(&self) -> u64 {
        self.raw as u64
    }

    pub fn device(&self) -> &'static Device {
        self.device
    }

    /// Marks the end of what is on the stream now.
    pub fn record(&self, stream: RawStream) -> Result<(), Error> {
        let _entered = stream.device().enter()?;
        // SAFETY: a live event and a live stream.
        unsafe { cu!(cuEventRecord(self.raw, stream.0)) }
    }

    /// Waits on the host.
    pub fn synchronize(&self) -> Result<(), Error> {
        let _entered = self.device.enter()?;
        // SAFETY: a live event.
        unsafe { cu!(cuEventSynchronize(self.raw)) }
    }

    /// Whether all work before it is done.
    pub fn is_complete(&self) -> Result<bool, Error> {
        let _entered = self.device.enter()?;
        // SAFETY: a live event.
        match unsafe { cu!(cuEventQuery(self.raw)) } {
            Ok(()) => Ok(true),
            Err(Error::Call { code, .. }) if code == CUresult::CUDA_ERROR_NOT_READY as u32 => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Milliseconds from this event to `end`, both recorded and complete.
    pub fn elapsed_ms(&self, end: &Event) -> Result<f32, Error> {
        let _entered = self.device.enter()?;
        let mut ms = 0.0;
        // SAFETY: live events; writes to a local.
        unsafe { cu!(cuEventElapsedTime(&mut ms, self.raw, end.raw)) }?;
        Ok(ms)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if self.is_ours
            && let Ok(_entered) = self.device.enter()
        {
            // SAFETY: made by `new` and destroyed only here; streams that wait for it still do.
            let _ = unsafe { cu!(cuEventDestroy_v2(self.raw)) };
        }
    }
}
