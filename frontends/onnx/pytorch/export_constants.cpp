// Decides by name, values and all uses together: each alone may be true of
// parameters, too.

#include "frontends/onnx/pytorch/export_constants.h"

#include "frontends/onnx/file/float_size.h"
#include "frontends/onnx/file/onnx.pb.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Regex.h"

namespace gradus::onnx {

using llvm::StringRef;
using ::onnx::GraphProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

bool isMadeUp(StringRef name) {
  static const llvm::Regex made("^(val|onnx::[A-Za-z]+)_[0-9]+$");
  return made.match(name);
}

bool isTorchExport(const GraphProto &graph) {
  return llvm::any_of(graph.node(), [](const NodeProto &node) {
    return StringRef(node.name()).starts_with("node_");
  });
}

bool isScalarParameter(ModelFile &file, const ExportMarks &marks,
                       const TensorProto &tensor) {
  // torch.export lifts tensors such as torch.tensor(2.5) out of code under
  // these names.
  static const llvm::Regex lifted("^(c_)?_?(lifted_)?(tensor|custom_obj)_");
  static const llvm::Regex member("^[A-Za-z_][A-Za-z0-9_]*$");
  StringRef name = tensor.name();
  if (tensor.dims_size() > 0)
    return false;
  if (marks.parameters.count(tensor.name()))
    return true;
  if (file.model().producer_name() != "pytorch" || !member.match(name) ||
      lifted.match(name) || isMadeUp(name))
    return false;
  // The optimizer of torch.export makes all constants initializers, with names
  // of all kinds.
  return !isTorchExport(file.graph()) ||
         llvm::any_of(file.graph().node(), [](const NodeProto &node) {
           return node.op_type() == "Constant";
         });
}

bool holdsOneValue(ModelFile &file, const TensorProto &tensor) {
  std::string storage;
  absl::StatusOr<StringRef> bytes = file.floatBytes(tensor, storage);
  size_t size = floatSize(tensor);
  return bytes.ok() && bytes->size() >= size &&
         bytes->drop_front(size) == bytes->drop_back(size);
}

/// Whether an input of this node may be a constant of the code but not a
/// parameter that lost its name.
static bool isPlaceOfConstant(const NodeProto &node, int input,
                              const TensorProto &tensor) {
  StringRef op = node.op_type();
  if (op == "LSTM" || op == "GRU" || op == "RNN")
    return input > 4; // initial_h and initial_c
  if (op.ends_with("Normalization"))
    return input == 1 || input == 2;
  static constexpr StringRef kElementwise[] = {"Add", "Sub", "Mul", "Div",
                                               "Pow", "Max", "Min", "Where"};
  return tensor.dims_size() == 1 && tensor.dims(0) == 1 &&
         llvm::is_contained(kElementwise, op);
}

/// Collects the names that a graph and its subgraphs use: as limits of Clip,
/// and in other ways.
static void sortUses(const GraphProto &graph, std::set<std::string> &limits,
                     std::set<std::string> &others) {
  for (const NodeProto &node : graph.node()) {
    for (int input = 0; input < node.input_size(); ++input)
      (node.op_type() == "Clip" && input > 0 ? limits : others)
          .insert(node.input(input));
    for (const auto &attribute : node.attribute()) {
      sortUses(attribute.g(), limits, others);
      for (const GraphProto &each : attribute.graphs())
        sortUses(each, limits, others);
    }
  }
  for (const auto &output : graph.output())
    others.insert(output.name());
}

static std::set<std::string> limitsOfClip(ModelFile &file,
                                          const ExportMarks &marks) {
  std::set<std::string> limits, others, result;
  sortUses(file.graph(), limits, others);
  for (const TensorProto &tensor : file.graph().initializer()) {
    const std::string &name = tensor.name();
    if (floatSize(tensor) > 0 && limits.count(name) && !others.count(name) &&
        llvm::all_of(tensor.dims(), [](int64_t size) { return size == 1; }) &&
        !file.isMissing(tensor) && !marks.parameters.count(name) &&
        !marks.madeOfParameters.count(name))
      result.insert(name);
  }
  return result;
}

std::set<std::string> exportConstants(ModelFile &file,
                                      const ExportMarks &marks) {
  llvm::StringMap<const TensorProto *> candidates;
  bool torchExport = isTorchExport(file.graph());
  for (const TensorProto &tensor : file.graph().initializer())
    if (StringRef name = tensor.name();
        tensor.dims_size() > 0 && isMadeUp(name) &&
        (torchExport || name.starts_with("onnx::")) &&
        holdsOneValue(file, tensor))
      candidates[name] = &tensor;
  std::set<std::string> constants, others;
  for (const NodeProto &node : file.graph().node())
    for (int input = 0; input < node.input_size(); ++input)
      if (auto found = candidates.find(node.input(input));
          found != candidates.end())
        (isPlaceOfConstant(node, input, *found->second) ? constants : others)
            .insert(node.input(input));
  for (const std::string &name : others)
    constants.erase(name);
  for (const std::string &name : marks.madeOfParameters)
    constants.erase(name);
  constants.insert(marks.constants.begin(), marks.constants.end());
  constants.merge(limitsOfClip(file, marks));
  return constants;
}

} // namespace gradus::onnx
