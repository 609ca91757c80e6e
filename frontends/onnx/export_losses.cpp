// Recognised by the names that PyTorch's two exporters give: torch.export calls
// nodes `node_...`, and values after the operation that made them (`val_47`,
// `alias`, `embedding_1`); TorchScript calls folded weights `onnx::Conv_193`.

#include "frontends/onnx/export_losses.h"

#include "frontends/message.h"
#include "frontends/onnx/onnx.pb.h"
#include "frontends/onnx/problems.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Regex.h"

#include <set>

namespace gradus::onnx {
namespace {

using llvm::StringRef;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

constexpr const char *kExportWhole =
    "; export with torch.onnx.export(..., dynamo=True, optimize=False)";
constexpr const char *kScriptWhole =
    "; export with torch.onnx.export(..., dynamo=False, "
    "training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False)";

std::string quoted(const std::string &name) { return "\"" + name + "\""; }

std::string plural(size_t count, const char *one, const char *many) {
  return message(count, " ", count == 1 ? one : many);
}

bool isOneOf(const NodeProto &node, std::initializer_list<StringRef> ops) {
  return llvm::is_contained(ops, StringRef(node.op_type()));
}

bool isNormalization(const NodeProto &node) {
  return StringRef(node.op_type()).ends_with("Normalization");
}

class Losses {
public:
  explicit Losses(ModelFile &file) : file_(file), graph_(file.graph()) {
    for (const NodeProto &node : graph_.node()) {
      torchExport_ |= StringRef(node.name()).starts_with("node_");
      for (int input = 0; input < node.input_size(); ++input)
        users_[node.input(input)].push_back({&node, input});
    }
  }

  std::vector<std::string> all() {
    findFoldedNorms();
    findUnnamed();
    findMerged();
    findUntied();
    return std::move(found_);
  }

private:
  void findFoldedNorms();
  void findUnnamed();
  void findMerged();
  void findUntied();
  bool isFoldedNorm(const NodeProto &node) const;
  bool isTrainable(const TensorProto &tensor);
  bool areCopies(const TensorProto &a, const TensorProto &b);
  const char *advice() const {
    return torchExport_ ? kExportWhole : kScriptWhole;
  }

  ModelFile &file_;
  const ::onnx::GraphProto &graph_;
  bool torchExport_ = false;
  llvm::StringMap<std::vector<std::pair<const NodeProto *, int>>> users_;
  std::vector<std::string> found_;
};

//===-- batch normalization -----------------------------------------------===//

/// A convolution that gives what PyTorch's batch normalization gave: the first
/// of several results, `getitem`. Files with metadata say so themselves.
bool Losses::isFoldedNorm(const NodeProto &node) const {
  if (!isOneOf(node, {"Conv", "ConvTranspose", "Gemm"}))
    return false;
  for (const auto &entry : node.metadata_props())
    if (StringRef(entry.value()).contains("FuseBatchNorm"))
      return true;
  static const llvm::Regex getitem("^getitem(_[0-9]+)?$");
  if (torchExport_)
    return getitem.match(node.output(0));
  return node.op_type() == "Conv" && node.input_size() > 1 &&
         StringRef(node.input(1)).starts_with("onnx::Conv_");
}

void Losses::findFoldedNorms() {
  std::vector<std::string> nodes;
  for (const NodeProto &node : graph_.node())
    if (isFoldedNorm(node))
      nodes.push_back(quoted(node.name()));
  if (!nodes.empty())
    found_.push_back(message(
        plural(nodes.size(), "batch normalization has",
               "batch normalizations have"),
        " been folded into the convolutions before them (nodes ", few(nodes),
        "), so their parameters are gone and they cannot be trained",
        advice()));
}

//===-- parameters without their names ------------------------------------===//

/// Floats with at least two different values.
bool Losses::isTrainable(const TensorProto &tensor) {
  std::string storage;
  absl::StatusOr<StringRef> bytes = file_.floatBytes(tensor, storage);
  return tensor.dims_size() > 0 && bytes.ok() && bytes->size() > 4 &&
         bytes->drop_front(4) != bytes->drop_back(4);
}

/// Weights of a layer train as well under another name and transposed; a value
/// that was computed of parameters does not.
void Losses::findUnnamed() {
  static const llvm::Regex made(
      "^(onnx::[A-Za-z]+_[0-9]+|(val|alias|embedding|expand|slice|unsqueeze|"
      "squeeze|view|reshape|permute|transpose|t|add|sub|mul|div|cat|clone|"
      "select|repeat|index|index_select|_to_copy|exp|neg|log|softmax)"
      "(_[0-9]+)?)$");
  std::vector<std::string> renamed, computed;
  for (const TensorProto &tensor : graph_.initializer()) {
    auto users = users_.find(tensor.name());
    if (users == users_.end() || !made.match(tensor.name()) ||
        StringRef(tensor.name()).starts_with("onnx::Conv_") ||
        !isTrainable(tensor))
      continue;
    auto [node, input] = users->second.front();
    bool isWeight =
        input > 0 && isOneOf(*node, {"MatMul", "Gemm", "Conv", "ConvTranspose",
                                     "LSTM", "GRU", "RNN"});
    (isWeight ? renamed : computed).push_back(quoted(tensor.name()));
  }
  if (!computed.empty())
    found_.push_back(message(
        plural(computed.size(), "initializer holds a value",
               "initializers hold values"),
        " computed of parameters, such as looked-up positions, in place of the "
        "parameters (",
        few(computed), "), so training them is training something else",
        advice()));
  if (!renamed.empty())
    found_.push_back(message(
        plural(renamed.size(), "weight is a transposed or packed copy",
               "weights are transposed or packed copies"),
        " without the model's own name (", few(renamed),
        "): trained under that name, and `trainable`, `groups` and --weights "
        "cannot say the model's",
        advice()));
}

//===-- one for two, two for one ------------------------------------------===//

void Losses::findMerged() {
  std::vector<std::string> names;
  for (const TensorProto &tensor : graph_.initializer()) {
    auto users = users_.find(tensor.name());
    if (users == users_.end() || tensor.data_type() != TensorProto::FLOAT ||
        tensor.dims_size() != 1)
      continue;
    if (llvm::count_if(users->second, [](const auto &use) {
          return isNormalization(*use.first);
        }) > 1)
      names.push_back(quoted(tensor.name()));
  }
  if (!names.empty() && torchExport_)
    found_.push_back(message(
        plural(names.size(), "parameter serves", "parameters serve"),
        " several normalizations (", few(names),
        "): parameters of equal initial values have been merged, and would be "
        "trained as one",
        advice()));
}

bool areTransposed(StringRef left, StringRef right, int64_t rows,
                   int64_t columns) {
  auto at = [](StringRef bytes, int64_t element) {
    return bytes.substr(element * sizeof(float), sizeof(float));
  };
  for (int64_t i = 0; i < rows * columns; ++i)
    if (at(left, i) != at(right, i % columns * rows + i / columns))
      return false;
  return true;
}

/// Equal matrices, or one the other's transpose.
bool Losses::areCopies(const TensorProto &a, const TensorProto &b) {
  int64_t rows = a.dims(0), columns = a.dims(1);
  bool same = rows == b.dims(0) && columns == b.dims(1),
       turned = rows == b.dims(1) && columns == b.dims(0);
  if (!same && !turned)
    return false;
  std::string leftStorage, rightStorage;
  auto left = file_.floatBytes(a, leftStorage),
       right = file_.floatBytes(b, rightStorage);
  if (!left.ok() || !right.ok() || left->take_front(4) != right->take_front(4))
    return false;
  return (same && *left == *right) ||
         (turned && areTransposed(*left, *right, rows, columns));
}

void Losses::findUntied() {
  std::vector<const TensorProto *> matrices;
  std::vector<std::string> pairs;
  for (const TensorProto &tensor : graph_.initializer())
    if (tensor.dims_size() == 2 && users_.contains(tensor.name()) &&
        tensor.dims(0) * tensor.dims(1) > 4 && isTrainable(tensor)) {
      for (const TensorProto *other : matrices)
        if (areCopies(*other, tensor))
          pairs.push_back(quoted(other->name()) + " and " +
                          quoted(tensor.name()));
      matrices.push_back(&tensor);
    }
  if (!pairs.empty())
    found_.push_back(message(few(pairs),
                             " hold the same values: a tied weight has become "
                             "two copies, which training moves apart",
                             advice()));
}

} // namespace

std::vector<std::string> exportLosses(ModelFile &file) {
  return Losses(file).all();
}

} // namespace gradus::onnx
