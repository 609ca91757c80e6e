// Each source of names has a function, which returns an empty text if it has
// none.

#include "frontends/onnx/module_names.h"

#include "frontends/onnx/file/metadata.h"
#include "frontends/onnx/file/model_file.h"
#include "frontends/onnx/file/node.h"
#include "frontends/onnx/file/onnx.pb.h"
#include "frontends/onnx/importer/thrown.h"

#include "llvm/ADT/SmallVector.h"

#include <set>

namespace gradus {
namespace onnx {
namespace {

using llvm::StringRef;

/// The last scope but one of "['', 'layer1', 'layer1.0', 'conv2d_1']"; the last
/// is the node itself.
std::string moduleOfNote(const ::onnx::NodeProto &node) {
  llvm::SmallVector<StringRef> scopes;
  metadata(node, "pkg.torch.onnx.name_scopes").split(scopes, ',');
  if (scopes.size() < 2)
    return "";
  return scopes[scopes.size() - 2].trim(" []'\"").str();
}

/// The module of "/layer1/layer1.0/conv1/Conv". A part that begins with the one
/// before it names a child of a container by the container's name.
std::string moduleOfPath(StringRef name) {
  if (!name.consume_front("/"))
    return "";
  std::string module;
  StringRef before;
  while (name.contains('/')) {
    auto [part, rest] = name.split('/');
    StringRef own = part;
    if (before.empty() || !own.consume_front(before) || !own.starts_with("."))
      own = part;
    if (!module.empty() && !own.starts_with("."))
      module += '.';
    module += own;
    before = part;
    name = rest;
  }
  return module;
}

/// The module whose parameters a node reads, if it is only one.
std::string moduleOfParameters(const ::onnx::NodeProto &node,
                               const std::set<StringRef> &parameters) {
  std::set<StringRef> modules;
  for (const std::string &input : node.input())
    if (parameters.count(input) && StringRef(input).contains('.'))
      modules.insert(StringRef(input).rsplit('.').first);
  return modules.size() == 1 ? modules.begin()->str() : "";
}

std::map<std::string, std::string> modulesOf(const ModelFile &file) {
  std::set<StringRef> parameters;
  for (const ::onnx::TensorProto &tensor : file.graph().initializer())
    parameters.insert(tensor.name());
  std::map<std::string, std::string> modules;
  int index = 0;
  for (const ::onnx::NodeProto &proto : file.graph().node()) {
    std::string name = Node(proto, index++, file.opset()).name();
    std::string module = moduleOfNote(proto);
    if (module.empty())
      module = moduleOfPath(name);
    if (module.empty())
      module = moduleOfParameters(proto, parameters);
    if (!module.empty())
      modules[name] = module;
  }
  return modules;
}

} // namespace
} // namespace onnx

absl::StatusOr<std::map<std::string, std::string>>
modulesOfOnnx(const std::string &path) {
  try {
    auto file = onnx::ModelFile::open(path);
    if (!file.ok())
      return at(file.status(), path);
    return onnx::modulesOf(**file);
  } catch (const std::exception &) {
    return invalid(path, ": ", onnx::wordsOfThrown());
  }
}

} // namespace gradus
