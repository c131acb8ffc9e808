//! What launches ask of a kernel's optimized IR, small enough to lie on disk beside the code: a process that finds both
//! there optimizes nothing.

use crate::bytes::{Reader, bytes, number};
use crate::order::depends_on_order;
use crate::writes::written_params;
use analysis::LaunchSums;
use ir::{Attr, Function, Op};
use runtime::{Sites, Sums};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Per parameter: whether the kernel may write to the array that it is given.
    pub written: Vec<bool>,
    /// Array parameters of which a GPU's blocks may sum up what is added to them, where they are small.
    pub summed: Vec<usize>,
    /// Whether there is better code for launches where no array that the kernel writes to shares memory with another.
    pub gains_by_distinct: bool,
    /// Whether blocks wait for each other.
    pub waits_for_grid: bool,
    /// A function of other code that it calls, if it does: such a kernel runs on a GPU alone.
    pub external: Option<String>,
    /// What all threads of a launch add up.
    pub sums: Option<Sums>,
    /// Bytes of what each block of a GPU keeps of each of these, and of such of integers; none where blocks do not.
    pub grid_sums: Vec<u64>,
    /// The array parameters that have those.
    pub grid_params: Vec<usize>,
    /// Whether what it leaves depends on the order of the threads, where the sums do not.
    pub depends_on_order: bool,
}

impl Summary {
    /// Of an optimized kernel and the rank of its launches.
    pub(crate) fn of(kernel: &Function, launch_rank: u32) -> Summary {
        let external = kernel.insts.iter().find_map(|inst| match &inst.attr {
            Attr::Text(name) if inst.op == Op::CallExtern => Some(name.to_string()),
            _ => None,
        });
        let sites = Sites::of(kernel);
        Summary {
            written: written_params(kernel),
            summed: transform::summed_arrays(kernel),
            gains_by_distinct: transform::has_distinct_atomics(kernel, launch_rank)
                || !transform::exact_sums(kernel).is_empty(),
            waits_for_grid: kernel.insts.iter().any(|inst| inst.op == Op::GridBarrier),
            external,
            depends_on_order: depends_on_order(kernel, sites.as_ref()),
            sums: sites.map(|sites| sites.sums),
            grid_sums: transform::grid_sums(kernel).into_iter().map(|ty| ty.size()).collect(),
            grid_params: LaunchSums::of_numbers(kernel).params,
        }
    }

    pub(crate) fn pack(&self) -> Vec<u8> {
        let Summary {
            written,
            summed,
            gains_by_distinct,
            waits_for_grid,
            external,
            sums,
            grid_sums,
            grid_params,
            depends_on_order,
        } = self;
        let mut out = Vec::new();
        number(&mut out, written.len());
        written.iter().for_each(|&is_written| number(&mut out, is_written.into()));
        number(&mut out, summed.len());
        summed.iter().for_each(|&param| number(&mut out, param));
        number(&mut out, (*gains_by_distinct).into());
        number(&mut out, (*waits_for_grid).into());
        number(&mut out, external.is_some().into());
        external.iter().for_each(|name| bytes(&mut out, name.as_bytes()));
        let sums = sums.as_ref().map(Sums::words).unwrap_or_default();
        number(&mut out, sums.len());
        sums.iter().for_each(|&word| number(&mut out, word as usize));
        number(&mut out, grid_sums.len());
        grid_sums.iter().for_each(|&n_bytes| number(&mut out, n_bytes as usize));
        number(&mut out, grid_params.len());
        grid_params.iter().for_each(|&param| number(&mut out, param));
        number(&mut out, (*depends_on_order).into());
        out
    }

    pub(crate) fn unpack(entry: &[u8]) -> Option<Summary> {
        let mut reader = Reader(entry);
        let written = (0..reader.number()?).map(|_| reader.flag()).collect::<Option<_>>()?;
        let summed = (0..reader.number()?).map(|_| reader.number()).collect::<Option<_>>()?;
        let gains_by_distinct = reader.flag()?;
        let waits_for_grid = reader.flag()?;
        let external = if reader.flag()? { Some(reader.text()?) } else { None };
        let sums: Vec<u64> = (0..reader.number()?).map(|_| reader.number().map(|n| n as u64)).collect::<Option<_>>()?;
        let sums = if sums.is_empty() { None } else { Some(Sums::of_words(&sums)?) };
        let grid_sums = (0..reader.number()?).map(|_| reader.number().map(|n| n as u64)).collect::<Option<_>>()?;
        let grid_params = (0..reader.number()?).map(|_| reader.number()).collect::<Option<_>>()?;
        let depends_on_order = reader.flag()?;
        let summary = Summary {
            written,
            summed,
            gains_by_distinct,
            waits_for_grid,
            external,
            sums,
            grid_sums,
            grid_params,
            depends_on_order,
        };
        reader.0.is_empty().then_some(summary)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_comes_back() {
        for external in [None, Some("f".to_owned())] {
            let (written, summed) = (vec![true, false, true], vec![2, 0]);
            let text = "kernel @k(v0: array<f32, 1>, v1: f32) {\n v2: i64 = const 0\n v3: f32 = atomic add v0[v2], v1\n \
                        return\n}\n";
            let module = ir::parse::parse_module(text).unwrap_or_else(|error| panic!("{error}"));
            let sums = Sums::of(&module.funcs[0]).filter(|_| external.is_none());
            let [gains_by_distinct, waits_for_grid, depends_on_order] = [true, false, true];
            let (grid_sums, grid_params) = (vec![4, 12], vec![0]);
            let summary = Summary {
                written,
                summed,
                gains_by_distinct,
                waits_for_grid,
                external,
                sums,
                grid_sums,
                grid_params,
                depends_on_order,
            };
            let packed = summary.pack();
            assert_eq!(Summary::unpack(&packed), Some(summary));
            assert_eq!(Summary::unpack(&packed[..packed.len() - 1]), None);
            assert_eq!(Summary::unpack(&[&packed[..], b"0"].concat()), None);
        }
    }
}
