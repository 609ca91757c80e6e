// Recognizes what is missing by the names that PyTorch's two exporters give:
// torch.export names nodes `node_...`, and values after their operation
// (`val_47`, `alias`, `embedding_1`); TorchScript names folded weights
// `onnx::Conv_193`.

#include "frontends/onnx/pytorch/export_losses.h"

#include "frontends/onnx/file/float_size.h"
#include "frontends/onnx/file/onnx.pb.h"
#include "frontends/onnx/file/problems.h"
#include "frontends/onnx/file/size_limits.h"
#include "frontends/onnx/pytorch/export_constants.h"
#include "messages/message.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
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

/// Whether a node is in training form, which only exports for training have;
/// they merge nothing.
bool isInTraining(const NodeProto &node) {
  if (node.op_type() == "Dropout")
    return node.input_size() > 2;
  return node.op_type() == "BatchNormalization" && node.output_size() > 1;
}

struct Use {
  const NodeProto *node;
  int input;
};

class Losses {
public:
  Losses(ModelFile &file, const ExportMarks &marks)
      : file_(file), graph_(file.graph()), torchExport_(isTorchExport(graph_)),
        marks_(marks), constants_(exportConstants(file, marks)),
        kept_(marks.buffers) {
    kept_.insert(constants_.begin(), constants_.end());
    for (const NodeProto &node : graph_.node())
      for (int input = 0; input < node.input_size(); ++input)
        users_[node.input(input)].push_back({&node, input});
    for (const TensorProto &tensor : graph_.initializer())
      initializers_.insert(tensor.name());
    isWhole_ =
        marks_.isWhole ||
        llvm::any_of(graph_.node(), [&](const NodeProto &node) {
          return torchExport_ ? showsNoFolding(node) : isInTraining(node);
        });
  }

  std::vector<std::string> all() {
    findFoldedNorms();
    findUnnamed();
    findMissing();
    findMerged();
    findUntied();
    return std::move(found_);
  }

private:
  void findFoldedNorms();
  void findUnnamed();
  void findMissing();
  void findMerged();
  void findUntied();
  bool showsNoFolding(const NodeProto &node) const;
  bool isFoldedNorm(const NodeProto &node) const;
  bool isTrainable(const TensorProto &tensor);
  bool isUnnamed(const TensorProto &tensor);
  bool isMerged(const TensorProto &tensor);
  bool areCopies(const TensorProto &a, const TensorProto &b);
  bool mayBeTied(const TensorProto &a, const TensorProto &b);
  const char *advice() const {
    return torchExport_ ? kExportWhole : kScriptWhole;
  }

  ModelFile &file_;
  const ::onnx::GraphProto &graph_;
  bool torchExport_, isWhole_ = false; // isWhole_: certainly not optimized
  const ExportMarks &marks_;
  std::set<std::string> constants_, kept_; // kept_: constants and buffers
  llvm::StringMap<std::vector<Use>> users_;
  llvm::StringSet<> initializers_;
  std::vector<std::string> found_;
};

//===-- whole files -------------------------------------------------------===//

/// Whether a node shows that the exporter did not optimize: optimization turns
/// constants into initializers, and transposes weights.
bool Losses::showsNoFolding(const NodeProto &node) const {
  if (isOneOf(node, {"Transpose", "Identity"}) && node.input_size() == 1)
    return initializers_.contains(node.input(0));
  return node.op_type() == "Constant";
}

//===-- batch normalization -----------------------------------------------===//

/// Whether a node is a convolution with the output name of PyTorch's batch
/// normalization: `getitem`, the first of several results. Files with metadata
/// say so directly.
bool Losses::isFoldedNorm(const NodeProto &node) const {
  if (!isOneOf(node, {"Conv", "ConvTranspose", "Gemm"}))
    return false;
  for (const auto &entry : node.metadata_props())
    if (StringRef(entry.value()).contains("FuseBatchNorm"))
      return true;
  static const llvm::Regex getitem("^getitem(_[0-9]+)?$");
  if (torchExport_)
    return node.output_size() > 0 && getitem.match(node.output(0));
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

/// Whether a tensor has floats with at least two different values.
bool Losses::isTrainable(const TensorProto &tensor) {
  std::string storage;
  absl::StatusOr<StringRef> bytes = file_.floatBytes(tensor, storage);
  size_t size = floatSize(tensor);
  return tensor.dims_size() > 0 && bytes.ok() && bytes->size() > size &&
         bytes->drop_front(size) != bytes->drop_back(size);
}

/// The operation in a value's name: `embedding_1`. Names without a number may
/// be a parameter's own, and in a file that was not optimized they are.
static StringRef operationOf(StringRef name) {
  static const llvm::Regex made(
      "^(val|alias|embedding|expand|slice|unsqueeze|squeeze|view|reshape|"
      "permute|transpose|t|add|sub|mul|div|cat|clone|select|repeat|index|"
      "index_select|_to_copy|exp|neg|log|softmax)(_[0-9]+)?$");
  llvm::SmallVector<StringRef> parts;
  return made.match(name, &parts) ? parts[1] : StringRef();
}

bool Losses::isUnnamed(const TensorProto &tensor) {
  StringRef name = tensor.name();
  if (constants_.count(tensor.name()) || name.starts_with("onnx::Conv_"))
    return false;
  bool isCertain = isMadeUp(name) || name.contains('_') || !isWhole_;
  return isMadeUp(name) ||
         (torchExport_ && isCertain && !operationOf(name).empty());
}

static bool isLayer(const NodeProto &node) {
  return isOneOf(
      node, {"MatMul", "Gemm", "Conv", "ConvTranspose", "LSTM", "GRU", "RNN"});
}

static bool isArithmetic(const NodeProto &node) {
  return isOneOf(node, {"Add", "Sub", "Mul", "Div", "PRelu"});
}

static bool isVector(const TensorProto &tensor) {
  return llvm::count_if(tensor.dims(), [](int64_t n) { return n > 1; }) == 1;
}

/// Whether a tensor is a parameter in another shape or order. A layer's weight
/// is, unless it is the result of arithmetic.
static bool isRearranged(const TensorProto &tensor, const Use &use) {
  StringRef operation = operationOf(tensor.name());
  bool isPlain = llvm::is_contained<StringRef>(
      {"", "val", "t", "transpose", "permute", "view", "reshape", "unsqueeze",
       "squeeze", "clone", "_to_copy", "alias"},
      operation);
  if (isLayer(*use.node))
    return use.input > 0 && isPlain;
  return isPlain && operation != "alias" && isVector(tensor) &&
         isArithmetic(*use.node);
}

/// Reports initializers that lost their names. Weights of a layer train equally
/// well under another name and transposed; values that were computed from
/// parameters do not.
void Losses::findUnnamed() {
  std::vector<std::string> renamed, computed;
  for (const TensorProto &tensor : graph_.initializer()) {
    auto users = users_.find(tensor.name());
    if (users == users_.end() || !isUnnamed(tensor))
      continue;
    if (isRearranged(tensor, users->second.front()))
      renamed.push_back(quoted(tensor.name()));
    else if (isTrainable(tensor))
      computed.push_back(quoted(tensor.name()));
  }
  if (!computed.empty())
    found_.push_back(message(
        plural(computed.size(), "initializer holds a value",
               "initializers hold values"),
        " computed of parameters, such as looked-up positions or normalized "
        "weights, in place of the parameters (",
        few(computed), "), so training them is training something else",
        advice()));
  if (!renamed.empty())
    found_.push_back(message(
        plural(renamed.size(),
               "weight is a transposed, reshaped or packed copy",
               "weights are transposed, reshaped or packed copies"),
        " without the model's own name (", few(renamed),
        "): trained under that name, and `trainable`, `groups` and --weights "
        "cannot say the model's",
        advice()));
}

//===-- merged and tied parameters ----------------------------------------===//

/// Reports parameters in the file's own list that are not in the file. A file
/// that was not optimized lacks only tied and unused ones.
void Losses::findMissing() {
  std::vector<std::string> names;
  for (const std::string &name : marks_.missing)
    names.push_back(quoted(name));
  if (!isWhole_ && !names.empty())
    found_.push_back(message(
        plural(names.size(), "parameter", "parameters"), " of the module ",
        names.size() == 1 ? "is" : "are", " not in the file (", few(names),
        "): unless the module ties them to others or never uses them, the "
        "exporter has merged them with parameters of equal values, or folded "
        "them away, and they cannot be trained",
        advice()));
}

/// Whether an input is one of those where several parameters start equal:
/// scales, biases, slopes, weights. In arithmetic only tensors of one value may
/// have lost their names; others are tables of the code.
static bool isPlaceOfParameter(const TensorProto &tensor, const Use &use,
                               bool holdsOneValue) {
  if (StringRef(use.node->op_type()).ends_with("Normalization"))
    return use.input == 1 || use.input == 2;
  if (isArithmetic(*use.node) && !holdsOneValue)
    return isVector(tensor) && !isMadeUp(tensor.name()) &&
           operationOf(tensor.name()).empty();
  if (isArithmetic(*use.node))
    return isVector(tensor) || !isMadeUp(tensor.name());
  return isLayer(*use.node) && use.input > 0;
}

/// Whether a tensor replaces several parameters. TorchScript keeps the names of
/// merged parameters as outputs of Identity. Elsewhere only the file's own list
/// of parameters tells merging from sharing.
bool Losses::isMerged(const TensorProto &tensor) {
  auto users = users_.find(tensor.name());
  if (users == users_.end() || tensor.dims_size() == 0 ||
      kept_.count(tensor.name()) || floatSize(tensor) == 0)
    return false;
  bool isOneValue = holdsOneValue(file_, tensor);
  std::set<const NodeProto *> nodes;
  int names = 0;
  for (const Use &use : users->second)
    if (use.node->op_type() == "Identity" && use.node->output_size() == 1)
      names += users_.contains(use.node->output(0));
    else if (isPlaceOfParameter(tensor, use, isOneValue))
      nodes.insert(use.node);
  return torchExport_ ? nodes.size() > 1 : names + !nodes.empty() > 1;
}

void Losses::findMerged() {
  bool hasAll = marks_.hasSignature && marks_.missing.empty();
  std::vector<std::string> names;
  for (const TensorProto &tensor : graph_.initializer())
    if (!isWhole_ && !hasAll && isMerged(tensor))
      names.push_back(quoted(tensor.name()));
  if (!names.empty())
    found_.push_back(message(
        plural(names.size(), "parameter serves", "parameters serve"),
        " several layers (", few(names),
        "): unless the model shares them, the exporter has merged parameters "
        "of equal initial values, which would be trained as one",
        advice(), ", or after the first step of training"));
}

/// Whether two matrices of floats of `size` bytes are transposes of each other.
bool areTransposed(StringRef left, StringRef right, int64_t rows,
                   int64_t columns, size_t size) {
  auto at = [size](StringRef bytes, int64_t element) {
    return bytes.substr(element * size, size);
  };
  for (int64_t i = 0; i < rows * columns; ++i)
    if (at(left, i) != at(right, i % columns * rows + i / columns))
      return false;
  return true;
}

/// Whether two matrices are equal or transposes of each other.
bool Losses::areCopies(const TensorProto &a, const TensorProto &b) {
  int64_t rows = a.dims(0), columns = a.dims(1);
  bool same = rows == b.dims(0) && columns == b.dims(1),
       turned = rows == b.dims(1) && columns == b.dims(0);
  if ((!same && !turned) || a.data_type() != b.data_type())
    return false;
  size_t size = floatSize(a);
  std::string leftStorage, rightStorage;
  auto left = file_.floatBytes(a, leftStorage),
       right = file_.floatBytes(b, rightStorage);
  if (!left.ok() || !right.ok() ||
      left->take_front(size) != right->take_front(size))
    return false;
  return (same && *left == *right) ||
         (turned && areTransposed(*left, *right, rows, columns, size));
}

/// Whether two equal matrices may be one tied weight. Two with the module's own
/// names and the same kind of use are layers that start equal, such as copied
/// layers of a transformer; in a file that was not optimized all are.
bool Losses::mayBeTied(const TensorProto &a, const TensorProto &b) {
  if (isUnnamed(a) || isUnnamed(b))
    return true;
  const Use &left = users_[a.name()].front(), &right = users_[b.name()].front();
  return !isWhole_ && (left.node->op_type() != right.node->op_type() ||
                       left.input != right.input);
}

void Losses::findUntied() {
  std::vector<const TensorProto *> matrices;
  std::vector<std::string> pairs;
  for (const TensorProto &tensor : graph_.initializer())
    if (tensor.dims_size() == 2 && users_.contains(tensor.name()) &&
        !kept_.count(tensor.name()) && isWithin(tensor.dims(), kMostElements) &&
        llvm::product_of(tensor.dims()) > 4 && isTrainable(tensor)) {
      for (const TensorProto *other : matrices)
        if (mayBeTied(*other, tensor) && areCopies(*other, tensor))
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

std::vector<std::string> exportLosses(ModelFile &file,
                                      const ExportMarks &marks) {
  return Losses(file, marks).all();
}

} // namespace gradus::onnx
