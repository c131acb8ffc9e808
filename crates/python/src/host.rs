//! The running Python program as the front end's [`Host`].
//!
//! In: a kernel or function object. Out: its source, and the values of the names it uses, copied as they are now.

use crate::c_text::CText;
use crate::function::{Function, Kernel, annotation, param_names};
use crate::types::PyIrType;
use crate::value::{Found, to_host_value, to_python};
use frontend::{
    Custom, Dialect, Extended, FuncSource, Host, HostArgument, HostOperand, HostValue, ObjectId, ParamSource, Passing,
    TypePattern,
};
use ir::{Const, Type};
use pyo3::exceptions::{PyException, PySyntaxWarning, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyDict, PyFloat, PyInt, PyString, PyTuple, PyType};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::CString;
use std::sync::Arc;

/// Live objects of one compilation. Those that the front end was told of stay alive with it.
pub(crate) struct LiveHost<'py> {
    py: Python<'py>,
    objects: RefCell<Vec<Bound<'py, PyAny>>>,
    ids: RefCell<HashMap<usize, ObjectId>>,
    sources: RefCell<HashMap<ObjectId, Arc<FuncSource>>>,
    /// What names in scopes and attributes of objects are, until code of the program runs.
    names: Known,
    attributes: Known,
    /// What a `static` expression raised that is no mistake of the kernel's: Ctrl-C, an exit.
    interrupt: RefCell<Option<PyErr>>,
    /// What functions of other compilers that are called need to be linked with.
    linked: RefCell<Vec<Bound<'py, PyAny>>>,
    /// Reports of what may be a mistake.
    warnings: RefCell<Vec<String>>,
}

type Known = RefCell<HashMap<ObjectId, HashMap<String, Option<HostValue>>>>;

/// Lists nested more deeply are objects: one may hold itself.
const MAX_NESTING: usize = 8;

impl<'py> LiveHost<'py> {
    pub(crate) fn new(py: Python<'py>) -> LiveHost<'py> {
        LiveHost {
            py,
            objects: RefCell::default(),
            ids: RefCell::default(),
            sources: RefCell::default(),
            names: RefCell::default(),
            attributes: RefCell::default(),
            interrupt: RefCell::default(),
            linked: RefCell::default(),
            warnings: RefCell::default(),
        }
    }

    /// Passes on what the compiler warned of, as a `SyntaxWarning`; an error where the program makes errors of these.
    pub(crate) fn warn_of(&self, kernel: &str) -> PyResult<()> {
        let reports = std::mem::take(&mut *self.warnings.borrow_mut());
        if reports.is_empty() {
            return Ok(());
        }
        let text = CString::new(format!("kernel `{kernel}`:\n\n{}", reports.join("\n\n")))?;
        PyErr::warn(self.py, &self.py.get_type::<PySyntaxWarning>(), &text, 2)
    }

    /// What functions of other compilers that were called need to be linked with, a list each.
    pub(crate) fn linked(&self) -> Vec<Bound<'py, PyAny>> {
        self.linked.borrow().clone()
    }

    /// The exception that interrupted the compilation, if one did.
    pub(crate) fn interrupted(&self) -> PyResult<()> {
        self.interrupt.borrow_mut().take().map_or(Ok(()), Err)
    }

    /// Code of the program ran, and may have changed what names stand for.
    fn forget(&self) {
        self.names.borrow_mut().clear();
        self.attributes.borrow_mut().clear();
    }

    /// The id of an object, the same for the same object.
    pub(crate) fn register(&self, object: &Bound<'py, PyAny>) -> ObjectId {
        *self.ids.borrow_mut().entry(object.as_ptr() as usize).or_insert_with(|| {
            let mut objects = self.objects.borrow_mut();
            objects.push(object.clone());
            ObjectId(objects.len() as u32 - 1)
        })
    }

    pub(crate) fn object(&self, id: ObjectId) -> Bound<'py, PyAny> {
        self.objects.borrow()[id.0 as usize].clone()
    }

    fn host_value(&self, value: &Bound<'py, PyAny>) -> HostValue {
        self.nested_value(value, 0)
    }

    fn nested_value(&self, value: &Bound<'py, PyAny>, depth: usize) -> HostValue {
        // A property or `__gs_bytes__` that raises makes its object one that kernels cannot use.
        match to_host_value(value) {
            Ok(Found::Value(value)) => value,
            Ok(Found::Tuple(items)) if depth < MAX_NESTING => {
                HostValue::Tuple(items.iter().map(|item| self.nested_value(item, depth + 1)).collect())
            }
            Ok(Found::Func) => HostValue::Func(self.register(value)),
            Ok(Found::Tuple(_) | Found::Object) | Err(_) => HostValue::Object(self.register(value)),
        }
    }

    fn pyfunc(&self, id: ObjectId) -> PyResult<Bound<'py, PyAny>> {
        let object = self.object(id);
        if let Ok(kernel) = object.cast::<Kernel>() {
            return Ok(kernel.get().pyfunc.bind(self.py).clone());
        }
        match object.cast::<Function>() {
            Ok(function) => Ok(function.get().pyfunc.bind(self.py).clone()),
            Err(_) => Err(PyTypeError::new_err(format!("{} is not a kernel function", self.describe(id)))),
        }
    }

    fn find_source(&self, id: ObjectId) -> PyResult<FuncSource> {
        let py = self.py;
        let pyfunc = self.pyfunc(id)?;
        if let (Ok(text), Ok(kernel)) = (pyfunc.cast::<CText>(), self.object(id).cast::<Kernel>()) {
            return Ok(text.get().source(&kernel.get().name));
        }
        let code = pyfunc.getattr(intern!(py, "__code__"))?;
        let file: String = code.getattr(intern!(py, "co_filename"))?.extract()?;
        let text = py.import(intern!(py, "gridstride._source"))?.call_method1(intern!(py, "text"), (&pyfunc,))?;
        let text =
            text.cast::<PyString>().map_err(|_| PyValueError::new_err(format!("the text of {file} is not known")))?;
        let qualified: String = pyfunc.getattr(intern!(py, "__qualname__"))?.extract()?;
        let (annotations, returns) = self.annotations(id)?;
        let defaults = self.defaults(&pyfunc)?;
        let n_positional: usize = code.getattr(intern!(py, "co_argcount"))?.extract()?;
        let n_unnamed: usize = code.getattr(intern!(py, "co_posonlyargcount"))?.extract()?;
        let params = param_names(&pyfunc)?.into_iter().enumerate().map(|(index, name)| {
            let passing = match index {
                _ if index < n_unnamed => Passing::ByPosition,
                _ if index < n_positional => Passing::Either,
                _ => Passing::ByName,
            };
            let annotation = annotations.iter().find(|(known, _)| *known == name).and_then(|(_, p)| p.clone());
            let default = defaults.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone());
            ParamSource { name, annotation, default, passing }
        });
        Ok(FuncSource {
            name: qualified.rsplit('.').next().unwrap_or(&qualified).to_owned(),
            file,
            text: Arc::from(text.to_str()?),
            first_line: code.getattr(intern!(py, "co_firstlineno"))?.extract()?,
            params: params.collect(),
            returns,
            dialect: self.dialect(id),
            defines: Vec::new(),
        })
    }

    fn dialect(&self, id: ObjectId) -> Dialect {
        let object = self.object(id);
        match (object.cast::<Kernel>(), object.cast::<Function>()) {
            (Ok(kernel), _) => kernel.get().dialect,
            (_, Ok(function)) => function.get().dialect,
            _ => Dialect::Warp,
        }
    }

    #[allow(clippy::type_complexity)]
    fn annotations(&self, id: ObjectId) -> PyResult<(Vec<(String, Option<TypePattern>)>, Option<TypePattern>)> {
        let object = self.object(id);
        if let Ok(kernel) = object.cast::<Kernel>() {
            let params = kernel.get().params.iter();
            return Ok((
                params.map(|param| (param.name.clone(), Some(param.pattern.clone()))).collect(),
                kernel.get().returns.clone(),
            ));
        }
        let function = object.cast::<Function>()?.get();
        let annotations = function.annotations.bind(self.py);
        let params = param_names(function.pyfunc.bind(self.py))?.into_iter();
        let params = params.map(|name| annotation(annotations, &name).map(|pattern| (name, pattern)));
        Ok((params.collect::<PyResult<_>>()?, annotation(annotations, "return")?))
    }

    fn defaults(&self, pyfunc: &Bound<'py, PyAny>) -> PyResult<Vec<(String, HostValue)>> {
        let py = self.py;
        let names = param_names(pyfunc)?;
        let n_positional: usize =
            pyfunc.getattr(intern!(py, "__code__"))?.getattr(intern!(py, "co_argcount"))?.extract()?;
        let mut found = Vec::new();
        if let Ok(values) = pyfunc.getattr(intern!(py, "__defaults__"))?.cast::<PyTuple>() {
            // Defaults belong to the last positional parameters.
            let first = n_positional.saturating_sub(values.len());
            found.extend(
                values.iter().zip(&names[first..]).map(|(value, name)| (name.clone(), self.host_value(&value))),
            );
        }
        if let Ok(values) = pyfunc.getattr(intern!(py, "__kwdefaults__"))?.cast::<PyDict>() {
            for (name, value) in values.iter() {
                found.push((name.extract()?, self.host_value(&value)));
            }
        }
        Ok(found)
    }

    fn find_name(&self, scope: ObjectId, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        let py = self.py;
        let pyfunc = self.pyfunc(scope)?;
        for (free, value) in closure(&pyfunc)? {
            if free == name {
                return Ok(value);
            }
        }
        let globals = pyfunc.getattr(intern!(py, "__globals__"))?;
        if let Some(found) = globals.cast::<PyDict>()?.get_item(name)? {
            return Ok(Some(found));
        }
        if let Some(found) = py.import(intern!(py, "builtins"))?.getattr_opt(name)? {
            return Ok(Some(found));
        }
        if self.dialect(scope) != Dialect::Warp {
            return Ok(None);
        }
        // As in Warp, a kernel may leave out the module of a function or type of the language.
        let found = py.import(intern!(py, "gridstride._builtins"))?.call_method1(intern!(py, "find"), (name,))?;
        Ok(if found.is_none() { None } else { Some(found) })
    }

    /// `gridstride.numba.cuda.extending`; a program that extends nothing has not loaded it.
    fn extensions(&self) -> PyResult<Option<Bound<'py, PyAny>>> {
        let modules = self.py.import(intern!(self.py, "sys"))?.getattr(intern!(self.py, "modules"))?;
        Ok(modules.get_item("gridstride.numba.cuda.extending").ok())
    }

    /// What `gridstride.numba.cuda.extending` answers: a device function, or None.
    fn find_implementation(&self, what: Extended<'_>, args: &[HostArgument]) -> PyResult<Option<ObjectId>> {
        let py = self.py;
        let Some(registry) = self.extensions()? else { return Ok(None) };
        let mut positional = Vec::new();
        let named = PyDict::new(py);
        for arg in args {
            let value = self.told(&arg.value)?;
            match &arg.name {
                Some(name) => named.set_item(name, value)?,
                None => positional.push(value),
            }
        }
        let found = match what {
            Extended::Call(object) => {
                let object = self.object(object);
                if let Some(linked) = object.getattr_opt(intern!(py, "__gs_link__"))? {
                    self.linked.borrow_mut().push(linked);
                }
                registry.call_method1(intern!(py, "find_call"), (object, positional, named))?
            }
            Extended::Method(name) => registry.call_method1(intern!(py, "find_method"), (name, positional, named))?,
            Extended::Attribute(name) => registry.call_method1(intern!(py, "find_attribute"), (name, positional))?,
        };
        Ok(if found.is_none() { None } else { Some(self.register(&found)) })
    }

    /// An argument as Python is told of it: its Numba type.
    fn told(&self, value: &HostOperand) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        let dtypes = py.import(intern!(py, "gridstride.numba._dtypes"))?;
        match value {
            HostOperand::Type(ty) => dtypes.call_method1(intern!(py, "from_compiler"), (PyIrType(*ty),)),
            HostOperand::Value(HostValue::Func(id) | HostValue::Object(id)) => Ok(self.object(*id)),
            HostOperand::Value(value) => {
                let value = to_python(py, value, &|id| self.object(id))?.unwrap_or_else(|| py.None().into_bound(py));
                dtypes.call_method1(intern!(py, "literal"), (value,))
            }
            HostOperand::Tuple(items) => {
                let items = items.iter().map(|item| self.told(item)).collect::<PyResult<Vec<_>>>()?;
                dtypes.call_method1(intern!(py, "tuple_of"), (items,))
            }
            HostOperand::Function => dtypes.getattr(intern!(py, "FUNCTION")),
        }
    }

    fn find_value(&self, scope: ObjectId, expression: &str, locals: &[(String, HostValue)]) -> PyResult<HostValue> {
        let py = self.py;
        let pyfunc = self.pyfunc(scope)?;
        // One dictionary for all: a comprehension inside the expression sees globals, but not the locals of `eval`.
        let names = pyfunc.getattr(intern!(py, "__globals__"))?.cast::<PyDict>()?.copy()?;
        for (name, value) in closure(&pyfunc)? {
            if let Some(value) = value {
                names.set_item(name, value)?;
            }
        }
        for (name, value) in locals {
            if let Some(value) = to_python(py, value, &|id| self.object(id))? {
                names.set_item(name, value)?;
            }
        }
        let builtins = py.import(intern!(py, "builtins"))?;
        // In parentheses, the text may go on over several lines.
        let code = builtins.call_method1(intern!(py, "compile"), (format!("({expression}\n)"), "<static>", "eval"))?;
        let value = builtins.call_method1(intern!(py, "eval"), (code, names))?;
        Ok(self.host_value(&value))
    }
}

/// What was found earlier, else what `find` gives: most kernels name few things often.
fn known(known: &Known, of: ObjectId, name: &str, find: impl FnOnce() -> Option<HostValue>) -> Option<HostValue> {
    if let Some(found) = known.borrow().get(&of).and_then(|names| names.get(name)) {
        return found.clone();
    }
    let found = find();
    known.borrow_mut().entry(of).or_default().insert(name.to_owned(), found.clone());
    found
}

/// Whether a value is Python's `int`, `float`, `bool` or `complex`.
fn is_number_class(value: &Bound<'_, PyAny>) -> bool {
    let py = value.py();
    value.is(py.get_type::<PyInt>())
        || value.is(py.get_type::<PyFloat>())
        || value.is(py.get_type::<PyBool>())
        || value.is(py.get_type::<PyComplex>())
}

/// The name of a class or function.
fn name_of(class: &Bound<'_, PyAny>) -> String {
    class.getattr(intern!(class.py(), "__name__")).and_then(|name| name.extract()).unwrap_or_default()
}

/// Free variables of a function and their values; none for one that has no value yet.
fn closure<'py>(pyfunc: &Bound<'py, PyAny>) -> PyResult<Vec<(String, Option<Bound<'py, PyAny>>)>> {
    let py = pyfunc.py();
    let cells = pyfunc.getattr(intern!(py, "__closure__"))?;
    let Ok(cells) = cells.cast::<PyTuple>() else { return Ok(Vec::new()) };
    let names: Vec<String> = pyfunc.getattr(intern!(py, "__code__"))?.getattr(intern!(py, "co_freevars"))?.extract()?;
    let contents = cells.iter().map(|cell| cell.getattr(intern!(py, "cell_contents")).ok());
    Ok(names.into_iter().zip(contents).collect())
}

impl Host for LiveHost<'_> {
    fn warn(&self, report: String) {
        self.warnings.borrow_mut().push(report);
    }

    fn source(&self, func: ObjectId) -> Result<Arc<FuncSource>, String> {
        if let Some(known) = self.sources.borrow().get(&func) {
            return Ok(known.clone());
        }
        let source = Arc::new(self.find_source(func).map_err(|error| error.value(self.py).to_string())?);
        self.sources.borrow_mut().insert(func, source.clone());
        Ok(source)
    }

    fn overloads(&self, func: ObjectId) -> Vec<ObjectId> {
        let object = self.object(func);
        let Ok(function) = object.cast::<Function>() else { return vec![func] };
        let mut found: Vec<_> = function
            .get()
            .overloads
            .bind(self.py)
            .iter()
            .filter(|overload| overload.cast::<Function>().is_ok())
            .map(|overload| self.register(&overload))
            .collect();
        if !found.contains(&func) {
            found.insert(0, func);
        }
        found
    }

    fn custom(&self, func: ObjectId, kind: Custom) -> Option<ObjectId> {
        let name = match kind {
            Custom::Gradient => intern!(self.py, "custom_grad"),
            Custom::Replay => intern!(self.py, "custom_replay"),
        };
        let found = self.object(func).getattr_opt(name).ok()??;
        (!found.is_none()).then(|| self.register(&found))
    }

    fn lookup(&self, scope: ObjectId, name: &str) -> Option<HostValue> {
        known(&self.names, scope, name, || {
            let value = self.find_name(scope, name).ok()??;
            // Warp reads Python's number classes as types of its own; elsewhere they are functions.
            if self.dialect(scope) == Dialect::Numba && value.cast::<PyType>().is_ok() && is_number_class(&value) {
                return Some(HostValue::Builtin(name_of(&value)));
            }
            Some(self.host_value(&value))
        })
    }

    fn names(&self, scope: ObjectId) -> Vec<String> {
        let find = || -> PyResult<Vec<String>> {
            let pyfunc = self.pyfunc(scope)?;
            let free = closure(&pyfunc)?.into_iter().map(|(name, _)| name);
            let globals = pyfunc.getattr(intern!(self.py, "__globals__"))?;
            let globals = globals.cast::<PyDict>()?.keys();
            Ok(free.chain(globals.iter().filter_map(|name| name.extract().ok())).collect())
        };
        find().unwrap_or_default()
    }

    fn attribute(&self, object: ObjectId, name: &str) -> Option<HostValue> {
        known(&self.attributes, object, name, || {
            let value = self.object(object).getattr_opt(name).ok()??;
            Some(self.host_value(&value))
        })
    }

    fn library_name(&self, object: ObjectId) -> Option<String> {
        let object = self.object(object);
        let module: String = object.getattr_opt(intern!(self.py, "__module__")).ok()??.extract().ok()?;
        (module == "numpy").then(|| format!("numpy.{}", name_of(&object)))
    }

    fn is_extended(&self) -> bool {
        self.extensions().is_ok_and(|found| found.is_some())
    }

    fn implementation(&self, what: Extended<'_>, args: &[HostArgument]) -> Result<Option<ObjectId>, String> {
        let found = self.find_implementation(what, args);
        self.forget();
        found.map_err(|error| {
            if !error.is_instance_of::<PyException>(self.py) {
                self.interrupt.borrow_mut().get_or_insert_with(|| error.clone_ref(self.py));
            }
            error.value(self.py).to_string()
        })
    }

    fn device_array(&self, object: ObjectId) -> Option<(Type, u64, Vec<u64>)> {
        let mut object = self.object(object);
        if object.cast::<crate::array::Array>().is_err() {
            object.getattr_opt(intern!(self.py, "__cuda_array_interface__")).ok()??;
            // The description alone is looked at: the program's object keeps the memory.
            let module = self.py.import(intern!(self.py, "gridstride.numba.cuda._interface")).ok()?;
            object = module.call_method1(intern!(self.py, "as_cuda_array"), (object,)).ok()?;
        }
        let array = object.cast::<crate::array::Array>().ok()?.get();
        let (elem, rank) = array.ty().as_array()?;
        let extents = array.descriptor[1..].iter().take(rank as usize).copied().collect();
        (array.is_contiguous && array.descriptor[0] != 0).then_some((elem, array.descriptor[0], extents))
    }

    fn member(&self, class: ObjectId, name: &str) -> Option<HostValue> {
        let members = self.object(class).getattr_opt(intern!(self.py, "__members__")).ok()??;
        members.get_item(name).ok().map(|member| self.host_value(&member))
    }

    fn evaluate(&self, scope: ObjectId, expression: &str, locals: &[(String, HostValue)]) -> Result<HostValue, String> {
        let found = self.find_value(scope, expression, locals);
        self.forget();
        found.map_err(|error| {
            if !error.is_instance_of::<PyException>(self.py) {
                self.interrupt.borrow_mut().get_or_insert_with(|| error.clone_ref(self.py));
            }
            let class = error.get_type(self.py).name().map_or_else(|_| "error".to_owned(), |name| name.to_string());
            format!("{class}: {}", error.value(self.py))
        })
    }

    fn static_value(&self, scope: ObjectId, line: u32, column: u32) -> Option<HostValue> {
        let values = self.pyfunc(scope).ok()?.getattr_opt(intern!(self.py, "__gs_statics__")).ok()??;
        let found = values.cast::<PyDict>().ok()?.get_item((line, column)).ok()??;
        Some(self.host_value(&found))
    }

    fn constant_array(&self, object: ObjectId) -> Option<(Type, Vec<u64>, Vec<Const>)> {
        let module = self.py.import(intern!(self.py, "gridstride.numba._dtypes")).ok()?;
        let found = module.call_method1(intern!(self.py, "constant"), (self.object(object),)).ok()?;
        let (ty, shape, bytes): (PyIrType, Vec<u64>, Vec<u8>) = found.extract().ok()?;
        let mut constants = Vec::new();
        for element in bytes.chunks(ty.0.size().max(1) as usize) {
            constants.extend(crate::bytes::read_leaves(ty.0, element)?);
        }
        Some((ty.0, shape, constants))
    }

    fn describe(&self, object: ObjectId) -> String {
        let object = self.object(object);
        if let Ok(kernel) = object.cast::<Kernel>() {
            return kernel.get().name.clone();
        }
        let named = object.cast::<Function>().map_or(&object, |function| function.get().pyfunc.bind(self.py));
        let name = named.getattr_opt(intern!(self.py, "__name__")).ok().flatten();
        match name.and_then(|name| name.extract::<String>().ok()) {
            Some(name) => name,
            None => crate::bytes::describe(&object),
        }
    }
}
