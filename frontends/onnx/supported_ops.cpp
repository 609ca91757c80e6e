// Lists the importer's own table.

#include "frontends/onnx/supported_ops.h"

#include "frontends/onnx/operators/operators.h"

namespace gradus {

/// Unsupported forms; an op without `build` is only supported on constants.
static std::string refusedBy(const onnx::Operator &op) {
  std::string words = op.support.refused;
  if (!op.build)
    words = "computed inputs" + (words.empty() ? "" : "; " + words);
  return words;
}

/// "`seed` (the recipe's is taken); `is_test` (...)"
static std::string ignoredBy(const onnx::Operator &op) {
  std::string words;
  for (const onnx::Ignored &each : op.support.ignored)
    words += std::string(words.empty() ? "`" : "; `") + each.attribute + "` (" +
             each.reason + ")";
  return words;
}

std::vector<SupportedOp> supportedOps() {
  std::vector<SupportedOp> all;
  for (const onnx::Operator *op : onnx::allOperators())
    all.push_back({op->name,
                   op->support.since,
                   onnx::kNewestOpset,
                   op->support.gradient,
                   refusedBy(*op),
                   ignoredBy(*op),
                   {"cpu", "cuda"}}); // They become ops of the graph, which
                                      // code generation has for both.
  return all;
}

} // namespace gradus
