//! A crate uses only crates that ARCHITECTURE.md lists above it: whoever reads in that order meets nothing unexplained.
//!
//! In: the crate map of ARCHITECTURE.md (the fenced block below its heading), the Cargo.toml of every crate. Out: each
//! dependency that points down the list, each crate that the map lacks.

use super::{File, Finding, Tree};

const MAP: &str = "ARCHITECTURE.md";
const HEADING: &str = "## Crates, in reading order";
const PREFIX: &str = "gridstride-";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(map) = tree.file(MAP) else {
        return vec![Finding { path: MAP.into(), line: 1, message: "is missing".into() }];
    };
    let order = reading_order(&map.text);
    if order.is_empty() {
        return vec![map.finding(1, format!("has no crate map below `{HEADING}`"))];
    }
    let manifests = || tree.files.iter().filter_map(|file| crate_name(&file.path).map(|name| (name, file)));
    let mut findings: Vec<Finding> = manifests().flat_map(|(name, file)| check_crate(name, file, &order)).collect();
    for listed in order.iter().filter(|listed| !manifests().any(|(name, _)| name == **listed)) {
        findings.push(map.finding(1, format!("the crate map lists `{listed}`, which is not in crates/")));
    }
    findings
}

fn check_crate(name: &str, manifest: &File, order: &[&str]) -> Vec<Finding> {
    let place = |name: &str| order.iter().position(|listed| *listed == name);
    let Some(own) = place(name) else {
        return vec![manifest.finding(1, format!("`{name}` is not in the crate map of {MAP}"))];
    };
    let below = |name: &str| place(name).is_some_and(|other| other >= own);
    let message = |used: &str| format!("`{name}` may not use `{used}`: {MAP} lists it below");
    dependencies(&manifest.text)
        .into_iter()
        .filter(|(_, used)| below(used))
        .map(|(line, used)| manifest.finding(line, message(&used)))
        .collect()
}

/// The first word of each line of the fenced block below the heading; lines that continue one are indented.
fn reading_order(text: &str) -> Vec<&str> {
    let after = text.lines().skip_while(|line| *line != HEADING);
    let block = after.skip_while(|line| !line.starts_with("```")).skip(1).take_while(|line| !line.starts_with("```"));
    block.filter(|line| !line.starts_with(' ')).filter_map(|line| line.split_whitespace().next()).collect()
}

fn crate_name(path: &str) -> Option<&str> {
    path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml").filter(|name| !name.contains('/'))
}

/// Crates of this workspace that a manifest names in any of its dependency tables, with their lines.
fn dependencies(manifest: &str) -> Vec<(usize, String)> {
    let mut inside = false;
    let mut found = Vec::new();
    for (at, line) in manifest.lines().enumerate() {
        if let Some(table) = line.strip_prefix('[') {
            inside = table.trim_end().trim_end_matches(']').ends_with("dependencies");
        } else if inside {
            let key = line.split(['=', '.', ' ']).next().unwrap_or_default();
            found.push((at + 1, key.strip_prefix(PREFIX).unwrap_or(key).to_string()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::{lines, tree};
    use super::*;

    const MAP_TEXT: &str = "# A\n\n## Crates, in reading order\n\nText.\n\n```text\nir       types\n         more\ninterp   meaning\n```\n";

    #[test]
    fn a_dependency_down_the_list_is_found() {
        let tree = tree(&[
            ("ARCHITECTURE.md", MAP_TEXT),
            ("crates/ir/Cargo.toml", "[package]\nname = \"x\"\n[dev-dependencies]\ninterp.workspace = true\n"),
            ("crates/interp/Cargo.toml", "[dependencies]\nir = { workspace = true }\nhalf = \"2\"\n"),
        ]);
        let found = lines(check(&tree));
        assert_eq!(found, ["crates/ir/Cargo.toml:4: `ir` may not use `interp`: ARCHITECTURE.md lists it below"]);
    }

    #[test]
    fn a_map_that_differs_from_the_crates_is_found() {
        let tree = tree(&[("ARCHITECTURE.md", MAP_TEXT), ("crates/ir/Cargo.toml", ""), ("crates/new/Cargo.toml", "")]);
        assert_eq!(
            lines(check(&tree)),
            [
                "crates/new/Cargo.toml:1: `new` is not in the crate map of ARCHITECTURE.md",
                "ARCHITECTURE.md:1: the crate map lists `interp`, which is not in crates/",
            ]
        );
    }
}
