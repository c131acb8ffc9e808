//! Streams: queues of work on a device, and the copies and fills that go onto them.

use crate::device::Device;
use crate::error::{Error, cu};
use crate::event::{Event, EventOptions};
use cudarc::driver::sys::{CUresult, CUstream, CUstream_flags, CUstreamCaptureStatus};
use std::ptr::null_mut;
use std::sync::Arc;

/// The host, where a device is asked for: `CU_DEVICE_CPU`.
const HOST: i32 = -1;

/// A stream, destroyed with its last owner unless others made it.
#[derive(Clone, Debug)]
pub struct Stream(Arc<Owned>);

#[derive(Debug)]
struct Owned {
    raw: RawStream,
    is_ours: bool,
    is_borrowed: bool,
}

/// A stream without the duty to destroy it. Whoever has one keeps the `Stream` meanwhile.
#[derive(Clone, Copy, Debug)]
pub struct RawStream(pub(crate) CUstream, pub(crate) &'static Device);

// SAFETY: handles of the driver may be used from any thread.
unsafe impl Send for RawStream {}
// SAFETY: as above.
unsafe impl Sync for RawStream {}

impl Stream {
    /// A stream in order with the legacy default stream. Lower numbers go first, within what the device has.
    pub fn new(device: &'static Device, priority: i32) -> Result<Stream, Error> {
        let made = Stream::ordered(device, priority)?;
        // Memory that was freed on the device's own stream so far may be used here next. A graph frees none.
        if !device.is_capturing() {
            made.raw().wait_for(device.own_stream().raw())?;
        }
        device.note_other_stream();
        Ok(made)
    }

    /// As `new`, for the device's first stream.
    pub(crate) fn ordered(device: &'static Device, priority: i32) -> Result<Stream, Error> {
        Stream::make(device, priority, CUstream_flags::CU_STREAM_DEFAULT)
    }

    /// A stream in no order with others.
    pub(crate) fn unordered(device: &'static Device) -> Result<Stream, Error> {
        Stream::make(device, 0, CUstream_flags::CU_STREAM_NON_BLOCKING)
    }

    fn make(device: &'static Device, priority: i32, flags: CUstream_flags) -> Result<Stream, Error> {
        let _entered = device.enter()?;
        let (mut least, mut greatest, mut raw) = (0, 0, null_mut());
        // SAFETY: the context is current; writes to locals.
        unsafe {
            cu!(cuCtxGetStreamPriorityRange(&mut least, &mut greatest))?;
            let priority = priority.clamp(greatest.min(least), least.max(greatest));
            cu!(cuStreamCreateWithPriority(&mut raw, flags as u32, priority))?;
        }
        Ok(Stream(Arc::new(Owned { raw: RawStream(raw, device), is_ours: true, is_borrowed: false })))
    }

    /// A stream that others made, by its handle; 0 is the legacy default stream. They keep it.
    pub fn foreign(device: &'static Device, handle: u64) -> Stream {
        let raw = handle as CUstream;
        // 0 and 1 are the legacy default stream, which is in order with ours.
        if handle > 1 {
            device.note_foreign_stream(raw);
        }
        Stream(Arc::new(Owned { raw: RawStream(raw, device), is_ours: false, is_borrowed: false }))
    }

    /// As `foreign`, where those who made it may destroy it before the last use of memory here is over. Nothing is noted:
    /// whoever puts work there makes the device's own stream wait for it.
    pub fn borrowed(device: &'static Device, handle: u64) -> Stream {
        device.note_other_stream();
        Stream(Arc::new(Owned { raw: RawStream(handle as CUstream, device), is_ours: false, is_borrowed: true }))
    }

    #[inline]
    pub fn raw(&self) -> RawStream {
        self.0.raw
    }

    /// Whether the device's own stream must wait for each launch on it.
    pub fn is_borrowed(&self) -> bool {
        self.0.is_borrowed
    }

    /// Whether it was made here.
    pub fn is_ours(&self) -> bool {
        self.0.is_ours
    }

    pub fn priority(&self) -> Result<i32, Error> {
        let _entered = self.0.raw.1.enter()?;
        let mut priority = 0;
        // SAFETY: a live stream; writes to a local.
        unsafe { cu!(cuStreamGetPriority(self.0.raw.0, &mut priority)) }?;
        Ok(priority)
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        if self.is_borrowed {
            return;
        }
        self.raw.1.forget_scratch(self.raw);
        if !self.is_ours {
            // Nothing where it was not noted.
            return self.raw.1.forget_foreign_stream(self.raw.0);
        }
        if let Ok(_entered) = self.raw.1.enter() {
            // SAFETY: made by `make` and destroyed only here; work on it still runs to its end.
            let _ = unsafe { cu!(cuStreamDestroy_v2(self.raw.0)) };
        }
    }
}

impl RawStream {
    pub fn handle(self) -> u64 {
        self.0 as u64
    }

    pub fn device(self) -> &'static Device {
        self.1
    }

    /// Waits on the host for all work on the stream.
    pub fn synchronize(self) -> Result<(), Error> {
        let _entered = self.1.enter()?;
        // SAFETY: a live stream.
        unsafe { cu!(cuStreamSynchronize(self.0)) }
    }

    /// Whether all work on it is done.
    pub fn is_complete(self) -> Result<bool, Error> {
        let _entered = self.1.enter()?;
        // SAFETY: a live stream.
        match unsafe { cu!(cuStreamQuery(self.0)) } {
            Ok(()) => Ok(true),
            Err(Error::Call { code, .. }) if code == CUresult::CUDA_ERROR_NOT_READY as u32 => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Whether a graph is being captured from it.
    pub fn is_capturing(self) -> Result<bool, Error> {
        let mut status = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
        let _entered = self.1.enter()?;
        // SAFETY: a live stream; writes to a local.
        unsafe { cu!(cuStreamIsCapturing(self.0, &mut status)) }?;
        Ok(status == CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE)
    }

    /// Later work here waits for the event.
    pub fn wait_event(self, event: &Event) -> Result<(), Error> {
        let _entered = self.1.enter()?;
        // SAFETY: a live stream and a live event.
        unsafe { cu!(cuStreamWaitEvent(self.0, event.raw(), 0)) }
    }

    /// Later work here waits for what is on `other` now.
    pub fn wait_for(self, other: RawStream) -> Result<(), Error> {
        if self.0 == other.0 && self.1.ordinal == other.1.ordinal {
            return Ok(());
        }
        let event = Event::new(other.1, EventOptions::default())?;
        event.record(other)?;
        self.wait_event(&event)
    }

    /// Copies from the host. Where `src` is page-locked it must keep its content until the stream is there; other
    /// memory may change as soon as this returns.
    ///
    /// # Safety
    /// `dst` has `n_bytes` on the stream's device, and `src` on the host.
    pub unsafe fn upload(self, dst: u64, src: *const u8, n_bytes: usize) -> Result<(), Error> {
        let _entered = self.1.enter()?;
        // SAFETY: the caller's promise.
        unsafe { cu!(cuMemcpyHtoDAsync_v2(dst, src.cast(), n_bytes, self.0)) }
    }

    /// Copies to the host. Where `dst` is page-locked the bytes are there when the stream has been synchronized.
    ///
    /// # Safety
    /// As for `upload`; `dst` lives until then.
    pub unsafe fn download(self, dst: *mut u8, src: u64, n_bytes: usize) -> Result<(), Error> {
        let _entered = self.1.enter()?;
        // SAFETY: the caller's promise.
        unsafe { cu!(cuMemcpyDtoHAsync_v2(dst.cast(), src, n_bytes, self.0)) }
    }

    /// Copies between devices, or within one.
    ///
    /// # Safety
    /// `dst` has `n_bytes` on `to`, `src` on `from`.
    pub unsafe fn copy(
        self,
        (to, dst): (&'static Device, u64),
        (from, src): (&'static Device, u64),
        n_bytes: usize,
    ) -> Result<(), Error> {
        let _entered = self.1.enter()?;
        // SAFETY: the caller's promise.
        unsafe {
            if to.ordinal == from.ordinal {
                cu!(cuMemcpyDtoDAsync_v2(dst, src, n_bytes, self.0))
            } else {
                cu!(cuMemcpyPeerAsync(dst, to.context, src, from.context, n_bytes, self.0))
            }
        }
    }

    /// Moves managed memory to the stream's device, or to the host, ahead of its use there.
    ///
    /// # Safety
    /// `ptr` has `n_bytes` of managed memory.
    pub unsafe fn prefetch(self, ptr: u64, n_bytes: usize, to_host: bool) -> Result<(), Error> {
        let _entered = self.1.enter()?;
        let target = if to_host { HOST } else { self.1.handle };
        // SAFETY: the caller's promise.
        unsafe { cu!(cuMemPrefetchAsync(ptr, n_bytes, target, self.0)) }
    }

    /// Sets bytes.
    ///
    /// # Safety
    /// `dst` has `n_bytes` on the stream's device.
    pub unsafe fn fill(self, dst: u64, byte: u8, n_bytes: usize) -> Result<(), Error> {
        let _entered = self.1.enter()?;
        // SAFETY: the caller's promise.
        unsafe { cu!(cuMemsetD8Async(dst, byte, n_bytes, self.0)) }
    }

    /// Sets every element to `value`, where the driver can: its bytes must repeat after 1, 2 or 4. Says whether it did.
    ///
    /// # Safety
    /// `dst` has `count` elements of the value's size, at a multiple of it, on the stream's device.
    pub unsafe fn fill_elements(self, dst: u64, value: &[u8], count: usize) -> Result<bool, Error> {
        let repeats = |n: usize| value.len().is_multiple_of(n) && value.chunks_exact(n).all(|part| part == &value[..n]);
        let n_bytes = value.len() * count;
        let _entered = self.1.enter()?;
        // SAFETY: the caller's promise.
        unsafe {
            match value {
                [byte, ..] if repeats(1) => cu!(cuMemsetD8Async(dst, *byte, n_bytes, self.0))?,
                [a, b, ..] if repeats(2) => {
                    cu!(cuMemsetD16Async(dst, u16::from_ne_bytes([*a, *b]), n_bytes / 2, self.0))?;
                }
                [a, b, c, d, ..] if repeats(4) => {
                    cu!(cuMemsetD32Async(dst, u32::from_ne_bytes([*a, *b, *c, *d]), n_bytes / 4, self.0))?;
                }
                _ => return Ok(false),
            }
        }
        Ok(true)
    }
}
