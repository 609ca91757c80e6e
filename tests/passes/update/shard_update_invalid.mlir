// RUN: gradus-opt %s --split-input-file --shard-update --verify-diagnostics

// expected-error @+1 {{recipe: distribution.zero needs distribution.ranks: the sizes of parts follow from the number of processes}}
gradus.program @any attributes {recipe = {distribution = {mode = "data_parallel", zero = 1 : i64}}} {
}

// -----

// expected-error @+1 {{recipe: distribution.zero excludes logical_ranks: a process computes several of them}}
gradus.program @logical attributes {recipe = {deterministic = true, distribution = {mode = "data_parallel", zero = 1 : i64, logical_ranks = 4 : i64}}} {
}

// -----

// expected-error @+1 {{recipe: distribution.zero excludes reduce "adasum": its result is known on no rank before all have combined their gradients}}
gradus.program @adasum attributes {recipe = {distribution = {mode = "data_parallel", zero = 1 : i64, ranks = 2 : i64, reduce = "adasum"}}} {
}

// -----

// expected-error @+1 {{recipe: distribution.zero excludes reduce "local" and "partial": there each process updates all of its own weights}}
gradus.program @local attributes {recipe = {distribution = {mode = "data_parallel", zero = 1 : i64, ranks = 2 : i64, reduce = "local"}}} {
}

// -----

// expected-error @+1 {{recipe: distribution.zero excludes sparse sums: each process gets all of such a sum, so there are no halves of it to update weights between}}
gradus.program @sparse attributes {recipe = {distribution = {mode = "data_parallel", zero = 1 : i64, ranks = 2 : i64, reduce = "sparse_topk", ratio = 0.01 : f64}}} {
}
