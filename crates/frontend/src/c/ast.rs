//! The syntax tree of C text. Types are as written: what a template's parameter stands for is known when it is used.

use diagnostics::Span;
use ir::Scalar;
use std::rc::Rc;

pub(super) type Name = Rc<str>;

#[derive(Debug, Default)]
pub(super) struct Program {
    pub(super) functions: Vec<Rc<Function>>,
    pub(super) structs: Vec<Rc<Struct>>,
    /// `typedef` and `using`.
    pub(super) aliases: Vec<(Name, TypeExpr)>,
    /// Constants, and variables of the device.
    pub(super) globals: Vec<Rc<Declarator>>,
}

#[derive(Debug)]
pub(super) struct Function {
    pub(super) name: Name,
    pub(super) span: Span,
    pub(super) is_kernel: bool,
    /// A kernel that runs once for each element of a launch, and not in thread blocks.
    pub(super) is_over_elements: bool,
    pub(super) template: Vec<TemplateParam>,
    pub(super) returns: TypeExpr,
    pub(super) params: Vec<Param>,
    pub(super) body: Vec<Stmt>,
    /// Where its last `}` stands.
    pub(super) end: Span,
}

#[derive(Debug)]
pub(super) struct TemplateParam {
    pub(super) name: Name,
    /// Nothing for a type.
    pub(super) value: Option<TypeExpr>,
    pub(super) default: Option<TemplateArg>,
}

#[derive(Clone, Debug)]
pub(super) enum TemplateArg {
    Type(TypeExpr),
    Value(Expr),
}

#[derive(Debug)]
pub(super) struct Param {
    pub(super) name: Name,
    pub(super) span: Span,
    pub(super) ty: TypeExpr,
}

#[derive(Debug)]
pub(super) struct Struct {
    pub(super) name: Name,
    pub(super) span: Span,
    pub(super) fields: Vec<Param>,
}

#[derive(Clone, Debug)]
pub(super) struct TypeExpr {
    pub(super) kind: TypeKind,
    pub(super) is_const: bool,
    pub(super) span: Span,
}

#[derive(Clone, Debug)]
pub(super) enum TypeKind {
    Void,
    Auto,
    Scalar(Scalar),
    Named(Name, Vec<TemplateArg>),
    Pointer(Box<TypeExpr>),
    Reference(Box<TypeExpr>),
    /// Without a length where the initializer, or the launch, says it.
    Array(Box<TypeExpr>, Option<Box<Expr>>),
}

#[derive(Clone, Debug)]
pub(super) struct Expr {
    pub(super) kind: ExprKind,
    pub(super) span: Span,
}

#[derive(Clone, Debug)]
pub(super) enum ExprKind {
    Int(i128, Scalar),
    Float(f64, Scalar),
    Bool(bool),
    Str(Name),
    Null,
    Name(Name),
    Unary(Unary, Box<Expr>),
    Binary(Binary, Box<Expr>, Box<Expr>),
    /// `&&` (true) or `||`.
    Logical(bool, Box<Expr>, Box<Expr>),
    /// `=`, or `+=` and the like.
    Assign(Option<Binary>, Box<Expr>, Box<Expr>),
    /// `++` (true) or `--`, before (true) or behind.
    Step(bool, bool, Box<Expr>),
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
    Comma(Box<Expr>, Box<Expr>),
    Call(Name, Vec<TemplateArg>, Vec<Expr>),
    Method(Box<Expr>, Name, Vec<Expr>),
    Index(Box<Expr>, Box<Expr>),
    /// `a.x`, or `a->x` (true).
    Member(Box<Expr>, Name, bool),
    Cast(TypeExpr, Box<Expr>),
    /// `float4(…)`, `T{…}`.
    Construct(TypeExpr, Vec<Expr>),
    Braces(Vec<Expr>),
    SizeOf(TypeExpr),
    SizeOfValue(Box<Expr>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unary {
    Plus,
    Minus,
    /// `~`
    Complement,
    /// `!`
    Not,
    /// `*p`
    Deref,
    /// `&x`
    Address,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    And,
    Or,
    Xor,
    Shl,
    Shr,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl Binary {
    pub(super) fn sign(self) -> &'static str {
        match self {
            Binary::Add => "+",
            Binary::Sub => "-",
            Binary::Mul => "*",
            Binary::Div => "/",
            Binary::Rem => "%",
            Binary::And => "&",
            Binary::Or => "|",
            Binary::Xor => "^",
            Binary::Shl => "<<",
            Binary::Shr => ">>",
            Binary::Eq => "==",
            Binary::Ne => "!=",
            Binary::Lt => "<",
            Binary::Le => "<=",
            Binary::Gt => ">",
            Binary::Ge => ">=",
        }
    }

    pub(super) fn is_comparison(self) -> bool {
        matches!(self, Binary::Eq | Binary::Ne | Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Stmt {
    pub(super) kind: StmtKind,
    pub(super) span: Span,
}

#[derive(Clone, Debug)]
pub(super) enum StmtKind {
    Expr(Expr),
    Declare(Vec<Rc<Declarator>>),
    Block(Vec<Stmt>),
    If(Expr, Box<Stmt>, Option<Box<Stmt>>),
    While(Expr, Box<Stmt>),
    DoWhile(Box<Stmt>, Expr),
    For(Box<For>),
    Switch(Expr, Vec<Case>),
    Break,
    Continue,
    Return(Option<Expr>),
    Empty,
}

#[derive(Clone, Debug)]
pub(super) struct For {
    pub(super) init: Stmt,
    pub(super) test: Option<Expr>,
    pub(super) step: Option<Expr>,
    pub(super) body: Stmt,
}

/// The labels before some statements of a `switch`, and the statements up to the next label.
#[derive(Clone, Debug)]
pub(super) struct Case {
    /// Nothing is `default`.
    pub(super) labels: Vec<Option<Expr>>,
    pub(super) body: Vec<Stmt>,
    pub(super) span: Span,
}

#[derive(Debug)]
pub(super) struct Declarator {
    pub(super) name: Name,
    pub(super) span: Span,
    pub(super) ty: TypeExpr,
    pub(super) init: Option<Expr>,
    pub(super) storage: Storage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Storage {
    /// A variable of the thread.
    Own,
    /// `constexpr`, or `const` outside of functions: known when compiling.
    Constant,
    /// `__shared__`
    Shared,
    /// `extern __shared__`: as long as the launch says.
    Dynamic,
    /// `__device__` and `__constant__` variables outside of functions.
    Device,
}
