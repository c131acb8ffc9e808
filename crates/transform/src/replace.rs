//! Replacing values by others, all at once at the end of a pass.

use ir::{Function, Value};

/// Which value stands for which; a value stands for itself unless [`Replacements::set`] says otherwise.
#[derive(Debug, Default)]
pub struct Replacements {
    by: Vec<Option<Value>>,
}

impl Replacements {
    pub fn set(&mut self, value: Value, by: Value) {
        let by = self.get(by);
        if self.by.len() <= value.index() {
            self.by.resize(value.index() + 1, None);
        }
        debug_assert!(by != value, "v{} cannot stand for itself", value.0);
        self.by[value.index()] = Some(by);
    }

    /// The value that stands for `value` in the end.
    pub fn get(&self, value: Value) -> Value {
        let mut value = value;
        while let Some(&Some(by)) = self.by.get(value.index()) {
            value = by;
        }
        value
    }

    pub fn is_empty(&self) -> bool {
        self.by.is_empty()
    }

    /// Rewrites the operands of every instruction.
    pub fn apply(&self, func: &mut Function) {
        if self.is_empty() {
            return;
        }
        for inst in &mut func.insts {
            for operand in &mut inst.operands {
                *operand = self.get(*operand);
            }
        }
    }
}
