// Access to a node's names and attributes.

#include "frontends/onnx/file/node.h"

#include "frontends/onnx/file/metadata.h"

namespace gradus::onnx {

std::string Node::type() const {
  if (proto_.domain().empty() || proto_.domain() == "ai.onnx")
    return proto_.op_type();
  return proto_.domain() + "::" + proto_.op_type();
}

std::string Node::name() const {
  return proto_.name().empty() ? message(proto_.op_type(), "_", index_)
                               : proto_.name();
}

std::string Node::place() const {
  return message("node \"", printable(name()), "\" (", printable(type()),
                 "): ");
}

int Node::inputCount() const { return proto_.input_size(); }
int Node::outputCount() const { return proto_.output_size(); }

llvm::StringRef Node::input(int index) const {
  return index < inputCount() ? llvm::StringRef(proto_.input(index)) : "";
}

llvm::StringRef Node::output(int index) const {
  return index < outputCount() ? llvm::StringRef(proto_.output(index)) : "";
}

llvm::StringRef Node::metadata(llvm::StringRef key) const {
  return onnx::metadata(proto_, key);
}

const ::onnx::AttributeProto *Node::attribute(const char *key) const {
  for (const ::onnx::AttributeProto &attribute : proto_.attribute())
    if (attribute.name() == key) {
      read_.insert(&attribute);
      return &attribute;
    }
  return nullptr;
}

llvm::SmallVector<const ::onnx::AttributeProto *> Node::unread() const {
  llvm::SmallVector<const ::onnx::AttributeProto *> found;
  for (const ::onnx::AttributeProto &attribute : proto_.attribute())
    if (!read_.contains(&attribute))
      found.push_back(&attribute);
  return found;
}

int64_t Node::integer(const char *key, int64_t fallback) const {
  const auto *found = attribute(key);
  return found ? found->i() : fallback;
}

double Node::number(const char *key, double fallback) const {
  const auto *found = attribute(key);
  return found ? found->f() : fallback;
}

std::string Node::text(const char *key, const char *fallback) const {
  const auto *found = attribute(key);
  return found ? found->s() : fallback;
}

llvm::SmallVector<int64_t>
Node::integers(const char *key, llvm::ArrayRef<int64_t> fallback) const {
  const auto *found = attribute(key);
  if (!found)
    return llvm::SmallVector<int64_t>(fallback);
  return {found->ints().begin(), found->ints().end()};
}

llvm::SmallVector<std::string> Node::texts(const char *key) const {
  const auto *found = attribute(key);
  if (!found)
    return {};
  return {found->strings().begin(), found->strings().end()};
}

llvm::SmallVector<double> Node::numbers(const char *key) const {
  const auto *found = attribute(key);
  if (!found)
    return {};
  return {found->floats().begin(), found->floats().end()};
}

const ::onnx::TensorProto *Node::tensor(const char *key) const {
  const auto *found = attribute(key);
  return found && found->has_t() ? &found->t() : nullptr;
}

const ::onnx::GraphProto *Node::graph(const char *key) const {
  const auto *found = attribute(key);
  return found && found->has_g() ? &found->g() : nullptr;
}

} // namespace gradus::onnx
