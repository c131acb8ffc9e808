//! The running Python program, as the front end sees it.
//!
//! The Python crate implements [`Host`] over live objects; tests implement it over tables. Captured values are
//! copied by value when the kernel is lowered: what the IR holds never changes behind its back.

use crate::Dialect;
use ir::{Const, Scalar, Type};
use ruff_python_ast::{ParameterWithDefault, Parameters};
use std::sync::Arc;

/// An object that only the host can look into: a function, a module, an enum class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ObjectId(pub u32);

/// A Python value, as far as kernels can use it.
#[derive(Clone, Debug, PartialEq)]
pub enum HostValue {
    None,
    Bool(bool),
    /// A Python int (untyped literal).
    Int(i128),
    /// A Python float (untyped literal).
    Float(f64),
    Str(String),
    /// A scalar of a known type: `wp.float64(1.0)`, a NumPy scalar, an `IntEnum` member gives `Int`.
    Scalar(Scalar, Const),
    /// A vector, matrix, quaternion, transform or struct instance: the constants of its leaves, in order.
    Composite(Type, Vec<Const>),
    /// A tuple or list.
    Tuple(Vec<HostValue>),
    /// A type: `wp.vec3`, `float`, a struct class, `wp.types.vector(3, wp.float64)`, also generic ones.
    Type(TypePattern),
    /// A name of the kernel language or of Python's builtins: `sin`, `tid`, `range`, `len`, `print`.
    /// Members of `math` come as the kernel builtin of that meaning.
    Builtin(String),
    /// A `@func`. Its overloads come from [`Host::overloads`].
    Func(ObjectId),
    /// Anything else; its attributes can be asked for.
    Object(ObjectId),
}

/// A type, or an annotation that stands for several: `Any`, `wp.array(dtype=Any)`, a vector of any length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypePattern {
    /// Exactly this type.
    Is(Type),
    /// Any type at all (`typing.Any`).
    Any,
    /// Any scalar, any float, any integer (`wp.Scalar`, `wp.Float`, `wp.Int`).
    AnyScalar,
    AnyFloat,
    AnyInt,
    /// Parts left out are open.
    Vector {
        elem: Box<TypePattern>,
        len: Option<u32>,
    },
    Matrix {
        elem: Box<TypePattern>,
        rows: Option<u32>,
        cols: Option<u32>,
    },
    Quat(Box<TypePattern>),
    Transform(Box<TypePattern>),
    Array {
        elem: Box<TypePattern>,
        rank: u32,
    },
    Tuple(Vec<TypePattern>),
    /// A function passed as an argument (`Callable`).
    Callable,
    /// A parameter that is passed by reference (`wp.ref[T]`).
    Ref(Box<TypePattern>),
}

impl TypePattern {
    /// The pattern of the value, whether it is passed by reference or not.
    pub fn value(&self) -> &TypePattern {
        if let TypePattern::Ref(inner) = self { inner } else { self }
    }

    /// Whether a parameter is passed by reference.
    pub fn is_ref(&self) -> bool {
        matches!(self, TypePattern::Ref(_))
    }
}

/// A parameter of a kernel or function.
#[derive(Clone, Debug)]
pub struct ParamSource {
    pub name: String,
    /// The evaluated annotation. Functions may leave it out.
    pub annotation: Option<TypePattern>,
    pub default: Option<HostValue>,
    pub passing: Passing,
}

impl ParamSource {
    /// One that the compiler adds.
    pub(crate) fn hidden(name: String) -> ParamSource {
        ParamSource { name, annotation: None, default: None, passing: Passing::Either }
    }
}

/// How a call may give a parameter its argument: `def f(by_position, /, either, *, by_name)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Passing {
    ByPosition,
    #[default]
    Either,
    ByName,
}

impl Passing {
    pub(crate) fn of(params: &Parameters, param: &ParameterWithDefault) -> Passing {
        if params.posonlyargs.contains(param) {
            Passing::ByPosition
        } else if params.kwonlyargs.contains(param) {
            Passing::ByName
        } else {
            Passing::Either
        }
    }
}

/// Where a function's text is.
#[derive(Clone, Debug)]
pub struct FuncSource {
    /// Unique name for messages: the Python `__qualname__`'s last part.
    pub name: String,
    pub file: String,
    /// The whole text of the file, cell or exec'd string.
    pub text: Arc<str>,
    /// `co_firstlineno`: the line of the first decorator, or of `def`; from 1.
    pub first_line: u32,
    pub params: Vec<ParamSource>,
    pub returns: Option<TypePattern>,
    pub dialect: Dialect,
    /// Macros from outside, for C text.
    pub defines: Vec<(String, String)>,
}

/// What a program may extend by functions of its own.
#[derive(Clone, Copy, Debug)]
pub enum Extended<'a> {
    /// Calls of an object.
    Call(ObjectId),
    /// A method of the first argument's type.
    Method(&'a str),
    /// An attribute of the first argument's type.
    Attribute(&'a str),
}

/// An argument as the running program is told of it, with its name where it has one.
#[derive(Clone, Debug)]
pub struct HostArgument {
    pub name: Option<String>,
    pub value: HostOperand,
}

/// A value's type, or the value where it is known.
#[derive(Clone, Debug)]
pub enum HostOperand {
    Type(Type),
    Value(HostValue),
    Tuple(Vec<HostOperand>),
    /// A function defined in the kernel.
    Function,
}

/// What may be registered for a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Custom {
    /// `@func_grad`.
    Gradient,
    /// `@func_replay`.
    Replay,
}

/// The running program. `scope` is the kernel or function in whose closure and globals a name is looked up.
pub trait Host {
    /// Source and signature of a kernel or function object.
    fn source(&self, func: ObjectId) -> Result<Arc<FuncSource>, String>;
    /// All functions of that name that a call may choose from, itself included.
    fn overloads(&self, func: ObjectId) -> Vec<ObjectId>;
    /// The function that is registered for one.
    fn custom(&self, _func: ObjectId, _kind: Custom) -> Option<ObjectId> {
        None
    }
    /// A name that the function's text uses and does not define: closure, then globals, then Python's builtins.
    fn lookup(&self, scope: ObjectId, name: &str) -> Option<HostValue>;
    /// The names that `lookup` knows of the program's own, for a mistyped one; Python's builtins need not be among them.
    fn names(&self, _scope: ObjectId) -> Vec<String> {
        Vec::new()
    }
    /// Attribute of an object or module.
    fn attribute(&self, object: ObjectId, name: &str) -> Option<HostValue>;
    /// The name of a function of NumPy's, `numpy.sum`.
    fn library_name(&self, _object: ObjectId) -> Option<String> {
        None
    }
    /// Whether the program registered anything that [`Host::implementation`] may give.
    fn is_extended(&self) -> bool {
        false
    }
    /// The function that a program registered for calls of an object with such arguments; why there is none.
    fn implementation(&self, _what: Extended<'_>, _args: &[HostArgument]) -> Result<Option<ObjectId>, String> {
        Ok(None)
    }
    /// Device memory that an object stands for, in row-major order: element type, address and shape.
    fn device_array(&self, _object: ObjectId) -> Option<(Type, u64, Vec<u64>)> {
        None
    }
    /// The value of a static expression at a line and column (from 1) that was evaluated when the function was defined.
    fn static_value(&self, _scope: ObjectId, _line: u32, _column: u32) -> Option<HostValue> {
        None
    }
    /// A member of an enum class by its name, `Color["red"]`.
    fn member(&self, _class: ObjectId, _name: &str) -> Option<HostValue> {
        None
    }
    /// Value of a Python expression in the function's scope, with `locals` shadowing it (`wp.static`).
    fn evaluate(&self, scope: ObjectId, expression: &str, locals: &[(String, HostValue)]) -> Result<HostValue, String>;
    /// What a host array holds: element type, shape, and the constants of its elements' leaves in row-major order.
    fn constant_array(&self, _object: ObjectId) -> Option<(Type, Vec<u64>, Vec<Const>)> {
        None
    }
    /// Takes a report that does not stop the compilation.
    fn warn(&self, _report: String) {}
    /// A name of an object for messages.
    fn describe(&self, object: ObjectId) -> String;
}
