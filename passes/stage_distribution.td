// Passes that merge the gradients of all machines.

include "passes/pass_base.td"

def Adasum : GradusPass<"adasum"> {
  let summary = "Says that a single process has no gradients to merge by AdaSum";
  let description = [{
    AutoBoost's level O2 asks for AdaSum, which merges the gradients of several
    servers. There is one process now, so the program stays as it is, and a
    remark says so.
  }];
}
