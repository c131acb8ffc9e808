//! `CText`: C text that has kernels, which takes the place of a kernel's Python function.

use crate::errors::Failure;
use crate::types::PyIrType;
use frontend::{CGlobal, CKernel, Dialect, FuncSource, c_globals, c_kernel};
use pyo3::prelude::*;
use std::sync::Arc;

/// Text in the C dialect, with the macros that it gets from outside.
#[pyclass(name = "CText", module = "gridstride._native", frozen)]
pub(crate) struct CText {
    file: String,
    text: Arc<str>,
    defines: Vec<(String, String)>,
}

/// Name, type and the type as C writes it.
type Param = (String, PyIrType, String);
/// Name, type of the elements, how many, and the bytes that they begin with.
type Global = (String, PyIrType, u64, std::borrow::Cow<'static, [u8]>);

#[pymethods]
impl CText {
    #[new]
    fn new(file: String, text: &str, defines: Vec<(String, String)>) -> CText {
        CText { file, text: text.into(), defines }
    }

    /// The parameters of a kernel and the variables of the device. Raises `CompileError`.
    fn signature(&self, py: Python<'_>, name: &str) -> PyResult<(Vec<Param>, Vec<Global>)> {
        let CKernel { params, globals } = c_kernel(&self.file, &self.text, name, &self.defines)
            .map_err(|rejected| Failure::rejected("kernel", name, &rejected).raise(py))?;
        let params = params.into_iter().map(|param| (param.name, PyIrType(param.ty), param.spelled));
        Ok((params.collect(), globals.into_iter().map(global).collect()))
    }

    /// The variables of the device. Raises `CompileError`.
    fn variables(&self, py: Python<'_>) -> PyResult<Vec<Global>> {
        let globals = c_globals(&self.file, &self.text, &self.defines)
            .map_err(|rejected| Failure::rejected("module", &self.file, &rejected).raise(py))?;
        Ok(globals.into_iter().map(global).collect())
    }
}

impl CText {
    /// The source of the kernel `name`.
    pub(crate) fn source(&self, name: &str) -> FuncSource {
        FuncSource {
            name: name.to_owned(),
            file: self.file.clone(),
            text: self.text.clone(),
            first_line: 1,
            params: Vec::new(),
            returns: None,
            dialect: Dialect::C,
            defines: self.defines.clone(),
        }
    }
}

fn global(one: CGlobal) -> Global {
    (one.name, PyIrType(one.elem), one.len, one.begins_with.into())
}
