//! Graphs: work captured from a stream once and launched many times.
//!
//! Between [`begin_capture`] and [`end_capture`] work on the stream is noted instead of run. Memory that is given up
//! meanwhile belongs to the graph, whose launches may use it.

use crate::condition::add_part;
use crate::device::{Device, lock};
use crate::error::{Error, cu};
use crate::memory::Dead;
use crate::stream::RawStream;
use cudarc::driver::sys::{CUgraph, CUgraphDebugDot_flags, CUgraphExec, CUstreamCaptureMode};
use std::ffi::CString;
use std::ptr::null_mut;

/// A captured graph, ready to be launched.
#[derive(Debug)]
pub struct Graph {
    graph: CUgraph,
    exec: CUgraphExec,
    device: &'static Device,
    /// Freed with the graph.
    dead: Vec<Dead>,
}

// SAFETY: handles of the driver may be used from any thread; Python's lock keeps two launches apart.
unsafe impl Send for Graph {}
// SAFETY: as above.
unsafe impl Sync for Graph {}

/// Begins a capture of the stream. It must not be the legacy default stream.
pub fn begin_capture(stream: RawStream) -> Result<(), Error> {
    let device = stream.device();
    let _entered = device.enter()?;
    // Relaxed: kernels are loaded and memory is taken meanwhile, neither of which is part of the graph.
    let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
    // SAFETY: a live stream.
    unsafe { cu!(cuStreamBeginCapture_v2(stream.0, mode)) }?;
    device.count_capture(true);
    Ok(())
}

/// Ends the capture, whatever comes of it.
pub fn end_capture(stream: RawStream) -> Result<Graph, Error> {
    let device = stream.device();
    let _entered = device.enter()?;
    let mut graph = null_mut();
    // SAFETY: a live stream; writes to a local.
    let ended = unsafe { cu!(cuStreamEndCapture(stream.0, &mut graph)) };
    let dead = if device.count_capture(false) == 0 { std::mem::take(&mut *lock(&device.dead)) } else { Vec::new() };
    if device.note_broken_body(false) {
        // The driver does not get over such a graph, neither by making it ready nor by destroying it.
        return Err(Error::Refused("a part of the graph with a condition could not be captured".to_owned()));
    }
    let mut made = Graph { graph, exec: null_mut(), device, dead };
    ended?;
    // SAFETY: the graph that was just captured; writes to the new object.
    unsafe { cu!(cuGraphInstantiateWithFlags(&mut made.exec, graph, 0)) }?;
    Ok(made)
}

impl Graph {
    pub fn device(&self) -> &'static Device {
        self.device
    }

    /// Runs everything that was captured, in order with the stream; where another graph is captured from that, this one
    /// becomes a part of it.
    pub fn launch(&self, stream: RawStream) -> Result<(), Error> {
        if self.device.is_capturing() && stream.is_capturing()? {
            return add_part(stream, self.graph);
        }
        let _entered = self.device.enter()?;
        // SAFETY: a graph that was instantiated and a live stream.
        unsafe { cu!(cuGraphLaunch(self.exec, stream.0)) }
    }

    /// Moves the graph to the device ahead of its first launch.
    pub fn upload(&self, stream: RawStream) -> Result<(), Error> {
        let _entered = self.device.enter()?;
        // SAFETY: as above.
        unsafe { cu!(cuGraphUpload(self.exec, stream.0)) }
    }

    /// Number of operations.
    pub fn n_nodes(&self) -> Result<usize, Error> {
        let mut n = 0;
        // SAFETY: with no place for nodes, their number alone is written.
        unsafe { cu!(cuGraphGetNodes(self.graph, null_mut(), &mut n)) }?;
        Ok(n)
    }

    /// Writes the graph to a file for Graphviz.
    pub fn write_dot(&self, path: &str, is_verbose: bool) -> Result<(), Error> {
        let refused = |_| Error::Refused(format!("{path:?} is not the name of a file"));
        let path = CString::new(path).map_err(refused)?;
        let flags = if is_verbose { CUgraphDebugDot_flags::CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE as u32 } else { 0 };
        // SAFETY: a live graph and a text that ends with a zero.
        unsafe { cu!(cuGraphDebugDotPrint(self.graph, path.as_ptr(), flags)) }
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        let Ok(_entered) = self.device.enter() else { return };
        // SAFETY: made in `end_capture` and destroyed only here; launches that run still end.
        unsafe {
            if !self.exec.is_null() {
                let _ = cu!(cuGraphExecDestroy(self.exec));
            }
            if !self.graph.is_null() {
                let _ = cu!(cuGraphDestroy(self.graph));
            }
        }
        for dead in &self.dead {
            let _ = self.device.free(dead);
        }
    }
}
