// Checks nodes against ONNX's own table, in signatures.def.

#include "frontends/onnx/file/signatures.h"

#include "frontends/onnx/file/onnx.pb.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

namespace gradus::onnx {
namespace {

using ::onnx::AttributeProto;

struct Signature {
  int64_t since;          // the first opset with this form
  int inputs, outputs;    // at most; -1: any number
  const char *attributes; // "i:axis=0 F:scales"
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

/// ONNX's words on an attribute.
struct Known {
  const Kind *kind = nullptr; // null: ONNX has none of that name
  /// The value where it is missing, `0` or `0,2,3`; nothing if ONNX gives none.
  std::optional<llvm::StringRef> fallback;
};

Known knownOf(llvm::StringRef attributes, llvm::StringRef name) {
  for (llvm::StringRef each : llvm::split(attributes, ' ')) {
    auto [letter, rest] = each.split(':');
    auto [known, fallback] = rest.split('=');
    if (known != name)
      continue;
    Known found;
    found.kind =
        llvm::find_if(kKinds, [letter = letter.front()](const Kind &kind) {
          return kind.letter == letter;
        });
    if (rest.contains('='))
      found.fallback = fallback;
    return found;
  }
  return {};
}

/// Says in which opsets an op has an attribute that it lacks in the model's.
std::string whereKnown(const Node &node, llvm::StringRef attribute) {
  for (const Signature &form : table().find(node.type())->second)
    if (form.since > node.opset() && knownOf(form.attributes, attribute).kind)
      return message("of opset ", form.since, " and later");
  for (const Signature &form : llvm::reverse(table().find(node.type())->second))
    if (form.since < node.opset() && knownOf(form.attributes, attribute).kind)
      return "of older opsets alone";
  return message("none of ", node.type());
}

/// Tools keep notes in such names; ONNX's checker skips them, too.
bool isNoteOfTool(const AttributeProto &attribute) {
  return llvm::StringRef(attribute.name()).starts_with("__");
}

absl::Status checkAttribute(const Node &node, const AttributeProto &attribute,
                            const Signature &signature) {
  const Kind *wanted = knownOf(signature.attributes, attribute.name()).kind;
  if (!wanted && isNoteOfTool(attribute))
    return absl::OkStatus();
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

//===-- attributes that nothing reads -------------------------------------===//

/// Whether an attribute is what ONNX says where it is missing.
bool isFallback(const AttributeProto &attribute, const Known &known) {
  if (!known.kind || !known.fallback)
    return false;
  llvm::SmallVector<llvm::StringRef> said;
  known.fallback->split(said, ',');
  auto isSaid = [&](const auto &values, auto isEqual) {
    return std::equal(values.begin(), values.end(), said.begin(), said.end(),
                      isEqual);
  };
  auto isWhole = [](int64_t value, llvm::StringRef text) {
    int64_t number = 0;
    return !text.getAsInteger(10, number) && number == value;
  };
  auto isNumber = [](float value, llvm::StringRef text) {
    double number = 0;
    return !text.getAsDouble(number) && float(number) == value;
  };
  switch (known.kind->letter) {
  case 'i':
    return isWhole(attribute.i(), *known.fallback);
  case 'f':
    return isNumber(attribute.f(), *known.fallback);
  case 's':
    return attribute.s() == known.fallback->str();
  case 'I':
    return isSaid(attribute.ints(), isWhole);
  case 'S':
    return isSaid(attribute.strings(), std::equal_to<>());
  default:
    return false;
  }
}

/// The first characters of a text; says how much is left out.
std::string shortened(llvm::StringRef text) {
  constexpr size_t most = 64;
  size_t end = std::min(text.size(), most);
  // The cut is in front of a character, not inside it.
  while (end > 0 && end < text.size() && (text[end] & 0xc0) == 0x80)
    --end;
  std::string words = printable(text.take_front(end));
  return end < text.size()
             ? message(words, "... (", text.size() - end, " more bytes)")
             : words;
}

/// The first elements of a list of texts.
std::string
listed(const google::protobuf::RepeatedPtrField<std::string> &texts) {
  constexpr int most = 8;
  std::vector<std::string> first;
  for (int i = 0; i < std::min(texts.size(), most); ++i)
    first.push_back(shortened(texts[i]));
  return message("[", joined(first), texts.size() > most ? ", ...]" : "]");
}

/// The first elements of a list of numbers.
template <typename Values> std::string listed(const Values &values) {
  constexpr int most = 8;
  std::vector<typename Values::value_type> first(
      values.begin(), values.begin() + std::min(values.size(), most));
  return message("[", joined(first), values.size() > most ? ", ...]" : "]");
}

std::string wordsOf(const Known &known) {
  llvm::StringRef text = *known.fallback;
  if (known.kind->letter == 's')
    return message("\"", text.str(), "\"");
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, ',');
  return llvm::isUpper(known.kind->letter)
             ? message("[", llvm::join(parts, ", "), "]")
             : text.str();
}

std::string valueOf(const AttributeProto &attribute) {
  switch (typeOf(attribute)) {
  case AttributeProto::INT:
    return message(attribute.i());
  case AttributeProto::FLOAT:
    return message(attribute.f());
  case AttributeProto::STRING:
    return message("\"", shortened(attribute.s()), "\"");
  case AttributeProto::INTS:
    return listed(attribute.ints());
  case AttributeProto::FLOATS:
    return listed(attribute.floats());
  case AttributeProto::STRINGS:
    return listed(attribute.strings());
  default:
    return wordsOf(typeOf(attribute));
  }
}

//===-- counts ------------------------------------------------------------===//

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

absl::Status checkAllRead(const Node &node) {
  const Signature *signature = signatureOf(node);
  for (const AttributeProto *unread : node.unread()) {
    Known known =
        signature ? knownOf(signature->attributes, unread->name()) : Known();
    if (isNoteOfTool(*unread) || isFallback(*unread, known))
      continue;
    return node.error("its attribute \"", printable(unread->name()), "\" is ",
                      valueOf(*unread), ", which is not supported; expected ",
                      known.fallback
                          ? message(wordsOf(known), ", as without it")
                          : "a node without it");
  }
  return absl::OkStatus();
}

} // namespace gradus::onnx
