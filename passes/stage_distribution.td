// Passes that merge the gradients of all machines.

include "passes/pass_base.td"

def Adasum : GradusPass<"adasum"> {
  let summary = "Reports that a single process has no gradients to merge by AdaSum";
  let description = [{
    AutoBoost's level O2 requests AdaSum, which merges the gradients of several
    servers. There is only one process now, so the program does not change, and
    a remark says so.
  }];
}
