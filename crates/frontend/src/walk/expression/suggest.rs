//! The known name that a mistyped one most likely stands for.

use std::cmp::Reverse;

/// The closest of `known` by edits, where it is close enough to be meant; of equals the one that begins alike longest.
pub(crate) fn closest<'k>(name: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let limit = match name.chars().count() {
        0..=2 => 0,
        3..=5 => 1,
        _ => 2,
    };
    let mut best: Option<((usize, Reverse<usize>), &str)> = None;
    for candidate in known {
        // Names that differ in case only are always close.
        let edits = if candidate.eq_ignore_ascii_case(name) { 0 } else { distance(name, candidate) };
        let n_alike = candidate.chars().zip(name.chars()).take_while(|(a, b)| a == b).count();
        let rank = (edits, Reverse(n_alike));
        if edits <= limit && candidate != name && best.is_none_or(|(first, _)| rank < first) {
            best = Some((rank, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Levenshtein distance with swaps of neighbors as one edit.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > 2 {
        return usize::MAX;
    }
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let change = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = change.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::closest;

    #[test]
    fn a_typo_is_found_and_a_stranger_is_not() {
        let known = ["velocity", "position", "dt", "sqrt", "sign", "sin"];
        let find = |name| closest(name, known.into_iter());
        assert_eq!(find("velocty"), Some("velocity"));
        assert_eq!(find("sqtr"), Some("sqrt"));
        assert_eq!(find("Position"), Some("position"));
        assert_eq!(find("sinn"), Some("sin"));
        assert_eq!(find("mass"), None);
        assert_eq!(find("dx"), None);
    }
}
