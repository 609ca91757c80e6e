// Parses the line that torch.fx prints for a call:
//  `%embedding : [num_users=1] = call_function[
//      target=torch.ops.aten.embedding.default](
//      args = (%p_weight, %ids, 0), kwargs = {})`

#include "frontends/onnx/pytorch/aten_call.h"

#include "llvm/Support/Regex.h"

namespace gradus::onnx {

bool isDetach(const Node &node) {
  static const llvm::Regex call("target=torch\\.ops\\.aten\\.detach_?\\.");
  return node.type() == "Identity" && call.match(node.metadata(kCall));
}

std::optional<int64_t> paddingIndex(const Node &node) {
  static const llvm::Regex call(
      "target=torch\\.ops\\.aten\\.embedding\\.default\\]\\("
      "(args = \\(%[^,]+, %[^,]+, |.*[{ ]padding_idx: )(-?[0-9]+)");
  llvm::SmallVector<llvm::StringRef> parts;
  int64_t index = -1;
  if (node.type() != "Gather" || !call.match(node.metadata(kCall), &parts) ||
      parts[2].getAsInteger(10, index) || index < 0)
    return std::nullopt; // PyTorch's -1 means none.
  return index;
}

} // namespace gradus::onnx
