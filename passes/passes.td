// The passes, with a program before and after each, in a file for each stage of
// pipeline.cpp, which has their order. docs/reference/passes.md is generated
// from these files.

include "passes/stage_model.td"
include "passes/stage_recognition.td"
include "passes/stage_gradients.td"
include "passes/stage_local.td"
include "passes/stage_distribution.td"
include "passes/stage_methods.td"
include "passes/stage_update.td"
include "passes/stage_optimize.td"

def AddedPasses : GradusPass<"added-passes"> {
  let summary = "Runs the passes that the recipe adds at the end of a stage";
  let description = [{
    An entry `STAGE:PASS` of the recipe's `passes` names a stage of
    `pipeline.cpp` and a pass in MLIR's pipeline syntax, such as
    `methods:gradient-noise` or `methods:gradient-noise{scale=0.1}`: one of a
    plug-in (docs/add_a_pass.md) or one of Gradus. It runs on the program, or on
    each of its graphs. The result is verified, so that a mistake is reported
    for the pass that made it.

    The program stores the stages whose passes ran as `added_passes`; they do
    not run again.
  }];
  let options = [
    Option<"stage", "stage", "std::string", /*default=*/"",
           "The stage that has just run">,
  ];
}
