// Checkpoints store tensors by name, so names that they could not hold are
// refused before training.

#include "codegen/names.h"

#include "ir/gradus.h"
#include "runtime/names.h"

using namespace mlir;

namespace gradus {

/// Refuses a name if there is a problem with it. The error has no location,
/// since a tensor's location is its name again, unescaped.
static LogicalResult verify(Operation *op, const char *what, StringRef name,
                            StringRef problem) {
  if (problem.empty())
    return success();
  return emitError(UnknownLoc::get(op->getContext()))
         << "the name of " << what << " \"" << runtime::asUtf8(name) << "\" "
         << problem << "; rename it: files hold tensors by their names";
}

static LogicalResult verify(GraphOp graph, const char *what, ArrayAttr names) {
  for (StringRef name : names.getAsValueRange<StringAttr>())
    if (failed(verify(graph, what, name, runtime::nameProblem(name))))
      return failure();
  return success();
}

static LogicalResult verify(ProgramOp program) {
  StringRef name = program.getSymName();
  if (failed(verify(program, "program", name, runtime::textProblem(name))))
    return failure();
  for (StateOp state : program.getOps<StateOp>())
    if (StringRef name = state.getSymName();
        failed(verify(state, "tensor", name, runtime::nameProblem(name))))
      return failure();
  for (GraphOp graph : program.getOps<GraphOp>())
    if (failed(verify(graph, "input", graph.getInputNames())) ||
        failed(verify(graph, "output", graph.getOutputNames())))
      return failure();
  return success();
}

LogicalResult verifyNames(ModuleOp module) {
  for (ProgramOp program : module.getOps<ProgramOp>())
    if (failed(verify(program)))
      return failure();
  return success();
}

} // namespace gradus
