// Passes that order commands.

#ifndef GRADUS_CODEGEN_STAGE_SCHEDULE_TD
#define GRADUS_CODEGEN_STAGE_SCHEDULE_TD

include "mlir/Pass/PassBase.td"

def Schedule : Pass<"schedule", "::gradus::GraphOp"> {
  let summary = "Orders the commands of a graph";
  let description = [{
    Chooses a total order in which few bytes are live at once and states can be
    updated in place: all readers of the old value come before the command that
    writes the new one. What is made of states alone, such as a packed weight,
    comes right before its first reader. Keeps either this order or the given one,
    whichever has the smaller peak. In the given one, updates that free gradients, and
    commands that free several times what they make, such as sums of a bias's
    gradient, come as early as they can, while what they read is in cache.

    A graph with sums over ranks keeps the given order. A sum begins as soon as
    its last operand is made, and is waited for when `in-flight` others have
    begun since, or when nothing else is left to do. The sums are numbered in
    the order in which they begin.
  }];
  let options = [
    Option<"inFlight", "in-flight", "int64_t", /*default=*/"0",
           "How many sums over ranks may be under way while one is waited for; "
           "0: as the recipe says">,
  ];
}

def Recompute : Pass<"recompute", "::gradus::GraphOp"> {
  let summary = "Repeats commands instead of keeping their results";
  let description = [{
    Splits the commands of `@train`, or of a variant that its schedule names, up
    to the peak of live bytes (at the loss, or soon after it) into `segments`
    with about as many bytes of results each, where few bytes cross. For the
    first `recomputed` of them, the values that the backward pass reads are
    recomputed from those that cross the splits, right before their first use
    (Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016). The
    last segment is never recomputed, since its gradients come immediately. Runs
    after `schedule`: the second run launches the same code, so every bit is the
    same. Codegen runs it only under a memory limit.
  }];
  let options = [
    Option<"segments", "segments", "unsigned", /*default=*/"8", "Parts of the forward pass">,
    Option<"recomputed", "recomputed", "unsigned", /*default=*/"7",
           "How many of the first parts are recomputed">,
  ];
}

#endif
