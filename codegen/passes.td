// The passes of codegen, in the order of codegen/pipeline.cpp.

#ifndef GRADUS_CODEGEN_PASSES_TD
#define GRADUS_CODEGEN_PASSES_TD

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

#endif
