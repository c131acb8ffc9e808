use super::*;

/// The lanes of the named values of the first kernel in `text`.
fn check(text: &str, expected: &[(u32, Lanes)]) {
    let module = ir::parse::parse_module(text).unwrap_or_else(|error| panic!("{error:?}"));
    let func = &module.funcs[0];
    let result = uniformity(func, 0);
    for &(value, lanes) in expected {
        assert_eq!(result.lanes(Value(value)), lanes, "v{value}");
    }
}

#[test]
fn indices_are_affine_and_loads_vary() {
    check(
        "kernel @f(v0: array<f32, 1>) {
           v1: i64 = tid 0
           v2: i64 = const 3
           v3: i64 = mul v1, v2
           v4: i64 = add v3, v1
           v5: i64 = sub v4, v4
           v6: f32 = load v0[v4]
           v7: i64 = extent v0 {0}
           return
         }",
        &[
            (1, Lanes::Affine(1)),
            (3, Lanes::Affine(3)),
            (4, Lanes::Affine(4)),
            (5, Lanes::Varying),
            (6, Lanes::Varying),
            (7, Lanes::Uniform),
        ],
    );
}

#[test]
fn a_uniform_load_of_written_memory_varies() {
    let text = |store: &str| {
        format!(
            "kernel @f(v0: array<f32, 1>, v1: array<f32, 1>) {{
               v2: i64 = const 0
               v3: f32 = load v0[v2]
               {store}
               return
             }}"
        )
    };
    check(&text(""), &[(3, Lanes::Uniform)]);
    check(&text("store v1[v2], v3"), &[(3, Lanes::Varying)]);
}

#[test]
fn a_uniform_loop_keeps_its_induction_variable_uniform() {
    check(
        "kernel @f(v0: array<f32, 1>) {
           v1: i64 = const 0
           v2: i64 = extent v0 {0}
           v3: i64 = const 1
           v4: f32 = const 0.0
           v7: f32 = for v5: i64 = v1 to v2 step v3 with (v6: f32 = v4) {
             v8: f32 = load v0[v5]
             v9: f32 = add v6, v8
             continue v9
           }
           return
         }",
        &[(5, Lanes::Uniform), (6, Lanes::Uniform), (7, Lanes::Uniform), (8, Lanes::Uniform)],
    );
}

#[test]
fn a_loop_that_lanes_leave_apart_has_varying_results() {
    check(
        "kernel @f(v0: array<f32, 1>) {
           v1: i64 = tid 0
           v2: i64 = const 0
           v3: i64 = const 1
           v7: i64 = for v5: i64 = v2 to v1 step v3 with (v6: i64 = v2) {
             v8: i64 = add v6, v3
             continue v8
           }
           return
         }",
        &[(5, Lanes::Uniform), (6, Lanes::Uniform), (7, Lanes::Varying)],
    );
}

#[test]
fn a_divergent_branch_makes_what_it_yields_varying() {
    check(
        "kernel @f() {
           v1: i64 = tid 0
           v2: i64 = const 5
           v3: bool = lt v1, v2
           v4: i64 = if v3 {
             yield v2
           } else {
             v5: i64 = const 7
             yield v5
           }
           return
         }",
        &[(3, Lanes::Varying), (4, Lanes::Varying), (5, Lanes::Uniform)],
    );
}

#[test]
fn lanes_that_went_on_early_carry_values_of_their_own() {
    check(
        "kernel @f(v0: array<bool, 1>) {
           v1: i64 = tid 0
           v2: bool = load v0[v1]
           v3: i64 = const 0
           v4: i64 = const 1
           v8: i64 = for v5: i64 = v3 to v4 step v4 with (v6: i64 = v3) {
             if v2 {
               continue v6
             } else {
               yield
             }
             continue v4
           }
           return
         }",
        &[(5, Lanes::Uniform), (6, Lanes::Varying), (8, Lanes::Varying)],
    );
}
