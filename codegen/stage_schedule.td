// Passes that order commands.

#ifndef GRADUS_CODEGEN_STAGE_SCHEDULE_TD
#define GRADUS_CODEGEN_STAGE_SCHEDULE_TD

include "mlir/Pass/PassBase.td"

def Schedule : Pass<"schedule", "::gradus::GraphOp"> {
  let summary = "Orders the commands of a graph";
  let description = [{
    Chooses a total order that keeps few bytes alive and lets a state be updated
    where it lies: whatever reads the old value comes before the command that
    writes the new one. Of the order found and the order given the one with the
    smaller peak is kept.
  }];
}

def Recompute : Pass<"recompute", "::gradus::GraphOp"> {
  let summary = "Runs commands a second time instead of keeping what they made";
  let description = [{
    Cuts the commands of `@train` up to where most bytes are alive (the loss, or
    a little behind it) into `segments` of about as many bytes of results each,
    where few bytes cross. In the first `recomputed` of them, what the backward
    pass reads is made again from what crosses the cuts, right before it is
    first read (Chen et al., "Training Deep Nets with Sublinear Memory Cost",
    2016). The last segment never is: its gradients come at once. Stands behind
    `schedule`: the second run launches the same code, so every bit is the same.
    Codegen asks for it only under a memory limit.
  }];
  let options = [
    Option<"segments", "segments", "unsigned", /*default=*/"8", "Parts of the forward pass">,
    Option<"recomputed", "recomputed", "unsigned", /*default=*/"7",
           "How many of the first parts run again">,
  ];
}

#endif
