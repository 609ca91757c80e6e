// Checks nodes against ONNX's own table, in signatures.def.

#include "frontends/onnx/file/signatures.h"

#include "frontends/onnx/file/onnx.pb.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

namespace gradus::onnx {
namespace {

using ::onnx::AttributeProto;

struct Signature {
  int64_t since;          // the first opset with this form
  int inputs, outputs;    // at most; -1: any number
  const char *attributes; // "i:axis F:scales"
};

constexpr const char *kRefusedByOnnx = "; ONNX's own checker refuses it, too";

using Forms = llvm::SmallVector<Signature>; // of one op, by opset

const llvm::StringMap<Forms> &table() {
  static const llvm::StringMap<Forms> all = [] {
    llvm::StringMap<Forms> made;
#define GRADUS_SIGNATURE(op, since, inputs, outputs, attributes)               \
  made[op].push_back({since, inputs, outputs, attributes});
#include "frontends/onnx/file/signatures.def"
#undef GRADUS_SIGNATURE
    return made;
  }();
  return all;
}

/// The form in the model's opset; null if there is none.
const Signature *signatureOf(const Node &node) {
  auto forms = table().find(node.type());
  if (forms == table().end())
    return nullptr;
  const Signature *found = nullptr;
  for (const Signature &form : forms->second)
    if (form.since <= node.opset())
      found = &form;
  return found;
}

struct Kind {
  char letter;
  AttributeProto::AttributeType type;
  const char *words;
};

constexpr Kind kKinds[] = {
    {'f', AttributeProto::FLOAT, "a number"},
    {'i', AttributeProto::INT, "a whole number"},
    {'s', AttributeProto::STRING, "a text"},
    {'t', AttributeProto::TENSOR, "a tensor"},
    {'g', AttributeProto::GRAPH, "a graph"},
    {'x', AttributeProto::SPARSE_TENSOR, "a sparse tensor"},
    {'p', AttributeProto::TYPE_PROTO, "a type"},
    {'F', AttributeProto::FLOATS, "a list of numbers"},
    {'I', AttributeProto::INTS, "a list of whole numbers"},
    {'S', AttributeProto::STRINGS, "a list of texts"},
    {'T', AttributeProto::TENSORS, "a list of tensors"},
    {'G', AttributeProto::GRAPHS, "a list of graphs"},
};

/// The type of an attribute; if an old file does not state it, the field that
/// is set decides.
AttributeProto::AttributeType typeOf(const AttributeProto &attribute) {
  if (attribute.type() != AttributeProto::UNDEFINED)
    return attribute.type();
  const std::pair<bool, AttributeProto::AttributeType> held[] = {
      {attribute.has_f(), AttributeProto::FLOAT},
      {attribute.has_i(), AttributeProto::INT},
      {attribute.has_s(), AttributeProto::STRING},
      {attribute.has_t(), AttributeProto::TENSOR},
      {attribute.has_g(), AttributeProto::GRAPH},
      {attribute.floats_size() > 0, AttributeProto::FLOATS},
      {attribute.ints_size() > 0, AttributeProto::INTS},
      {attribute.strings_size() > 0, AttributeProto::STRINGS}};
  const auto *found =
      llvm::find_if(held, [](auto &each) { return each.first; });
  return found == std::end(held) ? AttributeProto::UNDEFINED : found->second;
}

const char *wordsOf(AttributeProto::AttributeType type) {
  for (const Kind &kind : kKinds)
    if (kind.type == type)
      return kind.words;
  return "of an unknown type";
}

/// ONNX's type of an attribute; null if ONNX has none of that name.
const Kind *kindOf(llvm::StringRef attributes, llvm::StringRef name) {
  for (llvm::StringRef each : llvm::split(attributes, ' '))
    if (auto [letter, known] = each.split(':'); known == name)
      return llvm::find_if(kKinds, [letter = letter.front()](const Kind &kind) {
        return kind.letter == letter;
      });
  return nullptr;
}

/// Says in which opsets an op has an attribute that it lacks in the model's.
std::string whereKnown(const Node &node, llvm::StringRef attribute) {
  for (const Signature &form : table().find(node.type())->second)
    if (form.since > node.opset() && kindOf(form.attributes, attribute))
      return message("of opset ", form.since, " and later");
  for (const Signature &form : llvm::reverse(table().find(node.type())->second))
    if (form.since < node.opset() && kindOf(form.attributes, attribute))
      return "of older opsets alone";
  return message("none of ", node.type());
}

absl::Status checkAttribute(const Node &node, const AttributeProto &attribute,
                            const Signature &signature) {
  const Kind *wanted = kindOf(signature.attributes, attribute.name());
  if (!wanted && llvm::StringRef(attribute.name()).starts_with("__"))
    return absl::OkStatus(); // A tool's own note; ONNX's checker skips it, too.
  if (!wanted)
    return node.error("its attribute \"", printable(attribute.name()), "\" is ",
                      whereKnown(node, attribute.name()),
                      "; the model is of opset ", node.opset(), kRefusedByOnnx);
  AttributeProto::AttributeType type = typeOf(attribute);
  if (type == wanted->type || type == AttributeProto::UNDEFINED)
    return absl::OkStatus(); // A list without a type may be empty.
  return node.error("its attribute \"", attribute.name(), "\" is ",
                    wordsOf(type), ", expected ", wanted->words,
                    kRefusedByOnnx);
}

absl::Status checkCount(const Node &node, int found, int most, const char *what,
                        const char *advice = "") {
  if (most < 0 || found <= most)
    return absl::OkStatus();
  return node.error("has ", found, " ", what, "s; ", node.type(), " of opset ",
                    node.opset(), " has at most ", most, kRefusedByOnnx,
                    advice);
}

/// Says which tool writes a node with too many outputs, and what to do; empty
/// if unknown.
const char *originOfOutputs(const Node &node) {
  return node.type() == "BatchNormalization"
             ? "; PyTorch's TorchScript exporter writes it for InstanceNorm "
               "with running statistics: export with "
               "torch.onnx.export(..., dynamo=True, optimize=False)"
             : "";
}

} // namespace

absl::Status checkSignature(const Node &node) {
  const Signature *signature = signatureOf(node);
  if (!signature)
    return absl::OkStatus();
  GRADUS_RETURN_IF_ERROR(
      checkCount(node, node.inputCount(), signature->inputs, "input"));
  GRADUS_RETURN_IF_ERROR(checkCount(node, node.outputCount(),
                                    signature->outputs, "output",
                                    originOfOutputs(node)));
  for (const AttributeProto &attribute : node.proto().attribute())
    GRADUS_RETURN_IF_ERROR(checkAttribute(node, attribute, *signature));
  return absl::OkStatus();
}

} // namespace gradus::onnx
