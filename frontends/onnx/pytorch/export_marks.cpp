// Reads marks in the metadata: of the graph, where the program's signature
// names every parameter and buffer, and of single values, which tools may keep
// without the signature.

#include "frontends/onnx/pytorch/export_marks.h"

#include "frontends/onnx/file/float_size.h"
#include "frontends/onnx/file/metadata.h"
#include "frontends/onnx/pytorch/export_constants.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Regex.h"

namespace gradus::onnx {
namespace {

using llvm::StringRef;
using ::onnx::GraphProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

constexpr StringRef kSignature =
    "pkg.torch.export.ExportedProgram.graph_signature";
/// A note of the Python package at graphs that it exports without optimization.
constexpr StringRef kIsWhole = "gradus.is_whole";
constexpr StringRef kFoldedFrom = "pkg.onnxscript.optimizer.folded_from";

bool isFloat(const TensorProto &tensor) { return floatSize(tensor) > 0; }

class Reader {
public:
  explicit Reader(ModelFile &file) : file_(file) {
    for (const TensorProto &tensor : file.graph().initializer())
      initializers_[tensor.name()] = &tensor;
  }

  ExportMarks read() {
    marks_.hasSignature = readSignature();
    marks_.isWhole = !metadata(file_.graph(), kIsWhole).empty();
    for (const auto &value : file_.graph().value_info())
      readValue(value);
    for (const auto &input : file_.graph().input())
      readValue(input);
    if (marks_.hasSignature)
      judgeFolded();
    return std::move(marks_);
  }

private:
  void add(StringRef kind, StringRef name) {
    if (kind == "PARAMETER")
      marks_.parameters.insert(name.str());
    else if (kind == "BUFFER" && !marks_.parameters.count(name.str()))
      marks_.buffers.insert(name.str());
    else if (auto found = initializers_.find(name);
             kind == "CONSTANT_TENSOR" && found != initializers_.end() &&
             isFloat(*found->second))
      marks_.constants.insert(name.str());
  }

  /// Parses `b_pe: BUFFER target='pe' persistent=True`, or in older files a
  /// list of `InputSpec(kind=<InputKind.BUFFER: 3>, arg=..., target='pe',
  /// ...)`.
  bool readSignature() {
    static const llvm::Regex entry(
        "[ .](PARAMETER|BUFFER|CONSTANT_TENSOR)"
        "(: [0-9]+>, arg=[A-Za-z]+\\(name='[^']*'\\),)? target='([^']*)'");
    StringRef text = metadata(file_.graph(), kSignature);
    bool found = false;
    llvm::SmallVector<StringRef> parts;
    for (; entry.match(text, &parts); found = true) {
      add(parts[1], parts[3]);
      text = StringRef(parts[0].end(), text.end() - parts[0].end());
    }
    return found;
  }

  void readValue(const ::onnx::ValueInfoProto &value) {
    auto tensor = initializers_.find(value.name());
    if (tensor == initializers_.end())
      return;
    add(metadata(value, kKind), value.name());
    StringRef made = metadata(value, kFoldedFrom);
    if (!made.empty() && isFloat(*tensor->second))
      folded_[value.name()] = sources(made);
  }

  /// Returns the names in "['pe', 'val_1']".
  static std::vector<std::string> sources(StringRef list) {
    std::vector<std::string> names;
    llvm::SmallVector<StringRef> parts;
    list.split(parts, '\'');
    for (size_t i = 1; i < parts.size(); i += 2)
      names.push_back(parts[i].str());
    return names;
  }

  /// Finds parameters that are neither initializers nor part of computed ones.
  /// They may be stored as other tensors with the same values.
  void findMissing() {
    std::set<std::string> there;
    for (const auto &[name, from] : folded_)
      there.insert(from.begin(), from.end());
    for (const std::string &name : marks_.parameters)
      if (!there.count(name) && !initializers_.contains(name))
        marks_.missing.insert(name);
  }

  /// Whether `name` is a branch of Where beside a number, as zeros under a mask
  /// of -infinity.
  static bool isMasked(const NodeProto &node, const std::string &name,
                       const llvm::StringMap<const TensorProto *> &all) {
    if (node.op_type() != "Where" || node.input_size() != 3 ||
        node.input(0) == name)
      return false;
    auto other = all.find(node.input(node.input(1) == name ? 2 : 1));
    return other != all.end() &&
           llvm::all_of(other->second->dims(),
                        [](int64_t size) { return size == 1; });
  }

  /// Whether a missing parameter may be stored as this tensor, which has one
  /// value and is used where parameters are.
  bool mayBeMissing(const std::string &name) {
    if (marks_.missing.empty() || !holdsOneValue(file_, *initializers_[name]))
      return false;
    return isWhereParametersAre(file_.graph(), name);
  }

  /// Whether the graph or a nested one uses `name` where parameters are, also
  /// as the result of a nested graph.
  bool isWhereParametersAre(const GraphProto &graph, const std::string &name) {
    auto isInside = [&](const GraphProto &body) {
      return isWhereParametersAre(body, name);
    };
    for (const NodeProto &node : graph.node()) {
      if (llvm::is_contained(node.input(), name) &&
          !isMasked(node, name, initializers_))
        return true;
      for (const auto &attribute : node.attribute())
        if (isInside(attribute.g()) ||
            llvm::any_of(attribute.graphs(), isInside))
          return true;
    }
    return llvm::any_of(graph.output(), [&](const auto &output) {
      return output.name() == name;
    });
  }

  void judgeFolded() {
    findMissing();
    for (const auto &[name, from] : folded_)
      if (llvm::any_of(from, [&](const std::string &source) {
            return marks_.parameters.count(source);
          }))
        marks_.madeOfParameters.insert(name);
      else if (!mayBeMissing(name))
        marks_.constants.insert(name);
  }

  ModelFile &file_;
  llvm::StringMap<const TensorProto *> initializers_;
  std::map<std::string, std::vector<std::string>> folded_;
  ExportMarks marks_;
};

} // namespace

ExportMarks exportMarks(ModelFile &file) { return Reader(file).read(); }

bool isKeptBuffer(const ExportMarks &marks, const std::string &name,
                  const std::vector<std::string> &trainable) {
  return marks.buffers.count(name) && !llvm::is_contained(trainable, name);
}

} // namespace gradus::onnx
