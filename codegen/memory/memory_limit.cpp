// Searches the options of `schedule` and `recompute` for each graph, comparing
// the bytes that the artifact would report.

#include "codegen/memory/memory_limit.h"

#include "codegen/plan/passes.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace gradus;

namespace {

/// The part of a graph that is computed twice: see the pass `recompute`.
struct Recomputation {
  unsigned segments = 1, recomputed = 0;
};

/// A changed copy of a graph, beside it in its program, and the bytes that it
/// needs.
struct Form {
  OwningOpRef<GraphOp> graph; // null: a pass failed
  int64_t bytes = 0;
  Recomputation how = {};
};

/// The search for the form of a graph that fits.
class Search {
public:
  Search(GraphOp graph, int64_t limit, Predict predict)
      : graph_(graph), limit_(limit), predict_(predict),
        bytes_(predict(graph)) {}

  /// Changes the graph as little as fits, or until it needs the fewest bytes,
  /// which it returns.
  FailureOr<int64_t> run() {
    if (bytes_ > limit_ && failed(waitSooner()))
      return failure();
    if (bytes_ > limit_ && failed(recompute()))
      return failure();
    return bytes_;
  }

private:
  LogicalResult waitSooner();
  LogicalResult recompute();
  Form changed(std::unique_ptr<Pass> pass);
  Form recomputing(Recomputation how);
  Form smallest();
  Form fewest(Form best);
  void become(Form form);

  GraphOp graph_;
  int64_t limit_;
  Predict predict_;
  int64_t bytes_; // that the graph needs
};

} // namespace

/// Runs a pass on a copy of the graph.
Form Search::changed(std::unique_ptr<Pass> pass) {
  Form form{cast<GraphOp>(OpBuilder(graph_).clone(*graph_))};
  PassManager manager(graph_.getContext(), GraphOp::getOperationName());
  manager.enableVerifier(false);
  manager.addPass(std::move(pass));
  if (failed(manager.run(*form.graph)))
    return {};
  form.bytes = predict_(*form.graph);
  return form;
}

/// Replaces the graph by a form of it.
void Search::become(Form form) {
  graph_.erase();
  graph_ = form.graph.release();
  bytes_ = form.bytes;
}

/// Orders commands so that a sum over ranks is waited for as soon as the next
/// one has begun, where that needs fewer bytes.
LogicalResult Search::waitSooner() {
  if (graph_.getOps<plan::StartOp>().empty())
    return success();
  Form form = changed(createSchedule({/*inFlight=*/1}));
  if (!form.graph)
    return failure();
  if (form.bytes < bytes_)
    become(std::move(form));
  return success();
}

Form Search::recomputing(Recomputation how) {
  Form form = changed(createRecompute({how.segments, how.recomputed}));
  form.how = how;
  return form;
}

/// Recomputes all segments but the last, with the number of segments that needs
/// the fewest bytes.
Form Search::smallest() {
  Form best;
  for (unsigned segments : {4, 8, 16, 32}) {
    Form trial = recomputing({segments, segments - 1});
    if (!trial.graph)
      return trial;
    if (!best.graph || trial.bytes < best.bytes)
      best = std::move(trial);
  }
  return best;
}

/// Recomputes as few segments as possible, by bisection; `best` fits.
Form Search::fewest(Form best) {
  unsigned low = 1;
  while (low < best.how.recomputed) {
    Recomputation how = best.how;
    how.recomputed = (low + how.recomputed) / 2;
    Form trial = recomputing(how);
    if (!trial.graph)
      return trial;
    if (trial.bytes <= limit_)
      best = std::move(trial);
    else
      low = how.recomputed + 1;
  }
  return best;
}

/// Recomputes as little as fits, or as much as needs the fewest bytes.
LogicalResult Search::recompute() {
  Form best = smallest();
  // Recomputation may even need more if no segment is worth it.
  if (best.graph && best.bytes >= bytes_)
    return success();
  if (best.graph && best.bytes <= limit_)
    best = fewest(std::move(best));
  if (!best.graph)
    return failure();
  become(std::move(best));
  return success();
}

llvm::Expected<Fitted> gradus::fitMemory(ModuleOp module, int64_t limit,
                                         Predict predict) {
  Fitted fitted{module.clone()};
  SmallVector<GraphOp> graphs;
  fitted.module->walk([&](GraphOp graph) { graphs.push_back(graph); });
  for (GraphOp graph : graphs) {
    FailureOr<int64_t> bytes = Search(graph, limit, predict).run();
    if (failed(bytes))
      return llvm::createStringError(
          "the program does not compile; see the errors above");
    fitted.bytes = std::max(fitted.bytes, *bytes);
  }
  return fitted;
}
