// Nodes, constants and names of an ONNX graph that is written.

#include "frontends/onnx/writer/graph_writer.h"

#include "ir/build.h"
#include "ir/evaluator/evaluator.h"
#include "messages/message.h"

#include "mlir/IR/Matchers.h"

namespace gradus::onnx {

using namespace mlir;
using ::onnx::AttributeProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

//===-- attributes --------------------------------------------------------===//

static AttributeProto named(const char *name,
                            AttributeProto::AttributeType type) {
  AttributeProto attribute;
  attribute.set_name(name);
  attribute.set_type(type);
  return attribute;
}

AttributeProto attribute(const char *name, int64_t value) {
  AttributeProto attribute = named(name, AttributeProto::INT);
  attribute.set_i(value);
  return attribute;
}

AttributeProto attribute(const char *name, double value) {
  AttributeProto attribute = named(name, AttributeProto::FLOAT);
  attribute.set_f(static_cast<float>(value));
  return attribute;
}

AttributeProto attribute(const char *name, const char *value) {
  AttributeProto attribute = named(name, AttributeProto::STRING);
  attribute.set_s(value);
  return attribute;
}

AttributeProto attribute(const char *name, ArrayRef<int64_t> values) {
  AttributeProto attribute = named(name, AttributeProto::INTS);
  attribute.mutable_ints()->Add(values.begin(), values.end());
  return attribute;
}

//===-- types -------------------------------------------------------------===//

static int integerType(IntegerType type, bool isUnsigned) {
  isUnsigned |= type.isUnsigned();
  switch (type.getWidth()) {
  case 1:
    return TensorProto::BOOL;
  case 8:
    return isUnsigned ? TensorProto::UINT8 : TensorProto::INT8;
  case 16:
    return isUnsigned ? TensorProto::UINT16 : TensorProto::INT16;
  case 32:
    return isUnsigned ? TensorProto::UINT32 : TensorProto::INT32;
  case 64:
    return isUnsigned ? TensorProto::UINT64 : TensorProto::INT64;
  }
  return TensorProto::UNDEFINED;
}

int dataType(Type element, bool isUnsigned) {
  if (auto integer = dyn_cast<IntegerType>(element))
    return integerType(integer, isUnsigned);
  return element.isF64()    ? TensorProto::DOUBLE
         : element.isF32()  ? TensorProto::FLOAT
         : element.isF16()  ? TensorProto::FLOAT16
         : element.isBF16() ? TensorProto::BFLOAT16
                            : TensorProto::UNDEFINED;
}

void describe(::onnx::ValueInfoProto &info, StringRef name, Type type) {
  auto tensor = cast<RankedTensorType>(type);
  info.set_name(name.str());
  auto &described = *info.mutable_type()->mutable_tensor_type();
  described.set_elem_type(dataType(tensor.getElementType()));
  described.mutable_shape();
  for (int64_t size : tensor.getShape())
    described.mutable_shape()->add_dim()->set_dim_value(size);
}

//===-- elements ----------------------------------------------------------===//

static void append(std::string &bytes, const APInt &bits) {
  const char *words = reinterpret_cast<const char *>(bits.getRawData());
  bytes.append(words, std::max(1u, bits.getBitWidth() / 8));
}

/// The elements of a tensor, whichever attribute holds them.
static DenseElementsAttr dense(ElementsAttr elements) {
  if (auto found = dyn_cast<DenseElementsAttr>(elements))
    return found;
  auto resource = cast<DenseResourceElementsAttr>(elements);
  return DenseElementsAttr::getFromRawBuffer(resource.getType(),
                                             resource.getData());
}

void store(TensorProto &tensor, ElementsAttr elements, bool isUnsigned) {
  DenseElementsAttr values = dense(elements);
  Type element = values.getElementType();
  tensor.set_data_type(dataType(element, isUnsigned));
  for (int64_t size : values.getType().getShape())
    tensor.add_dims(size);
  std::string bytes;
  if (!values.isSplat() && element.getIntOrFloatBitWidth() >= 8) {
    bytes.assign(values.getRawData().begin(), values.getRawData().end());
  } else if (isa<FloatType>(element)) {
    for (APFloat value : values.getValues<APFloat>())
      append(bytes, value.bitcastToAPInt());
  } else {
    for (APInt value : values.getValues<APInt>())
      append(bytes, value);
  }
  tensor.set_raw_data(std::move(bytes));
}

//===-- names -------------------------------------------------------------===//

std::string GraphWriter::fresh(StringRef wanted) {
  std::string name = wanted.empty() ? "value" : wanted.str();
  while (!used_.insert(name).second)
    name = (wanted + "_" + Twine(++numbers_[wanted])).str();
  return name;
}

absl::Status GraphWriter::reserve(StringRef name, const char *what) {
  auto [found, isNew] = reserved_.try_emplace(name, what);
  if (!isNew)
    return invalid(found->second, " and ", what, " have the name \"",
                   name.str(), "\", which ONNX has for one value");
  used_.insert(name);
  return absl::OkStatus();
}

absl::Status GraphWriter::reserveOutput(Value value, StringRef name) {
  outputNames_.try_emplace(value, name.str());
  return reserve(name, "an output");
}

std::string GraphWriter::nameFor(Value value, StringRef wanted) {
  auto output = outputNames_.find(value);
  return output == outputNames_.end() ? fresh(wanted) : output->second;
}

void GraphWriter::setName(Value value, const std::string &name) {
  names_[value].plain = name;
}

void GraphWriter::setUnsignedName(Value value, const std::string &name) {
  names_[value].unsignedName = name;
}

void GraphWriter::refuse(Value value, const absl::Status &status) {
  std::string name = fresh("refused");
  setName(value, name);
  refused_.emplace_back(name, status);
}

std::string GraphWriter::cast(const std::string &from, int to) {
  std::string name = fresh(from + "/cast");
  add("Cast", {from}, {name}, name, {attribute("to", int64_t(to))});
  return name;
}

std::string GraphWriter::nameOf(Value value) {
  Named &named = names_[value];
  if (!named.plain.empty())
    return named.plain;
  DenseElementsAttr elements;
  std::string name;
  if (matchPattern(value, m_Constant(&elements)))
    name = constant(elements);
  else
    name =
        cast(named.unsignedName, dataType(tensorType(value).getElementType()));
  return names_[value].plain = name;
}

std::string GraphWriter::unsignedNameOf(Value value) {
  if (hasUnsignedName(value))
    return names_[value].unsignedName;
  DenseElementsAttr elements;
  std::string name;
  if (matchPattern(value, m_Constant(&elements)))
    name = constant(elements, /*isUnsigned=*/true);
  else
    name =
        cast(nameOf(value), dataType(tensorType(value).getElementType(), true));
  return names_[value].unsignedName = name;
}

bool GraphWriter::hasUnsignedName(Value value) const {
  auto found = names_.find(value);
  return found != names_.end() && !found->second.unsignedName.empty();
}

//===-- nodes -------------------------------------------------------------===//

NodeProto &GraphWriter::add(StringRef type, const Names &inputs,
                            const Names &outputs, StringRef name,
                            const Attributes &attributes) {
  NodeProto &node = *graph_.add_node();
  node.set_op_type(type.str());
  node.set_name(name.str());
  for (const std::string &input : inputs)
    node.add_input(input);
  for (const std::string &output : outputs)
    node.add_output(output);
  for (const AttributeProto &attribute : attributes)
    *node.add_attribute() = attribute;
  return node;
}

void GraphWriter::addOutputs(const Names &outputs) {
  NodeProto &node = *graph_.mutable_node(graph_.node_size() - 1);
  for (const std::string &output : outputs)
    node.add_output(output);
}

void GraphWriter::mark(StringRef key, StringRef value) {
  auto &entry =
      *graph_.mutable_node(graph_.node_size() - 1)->add_metadata_props();
  entry.set_key(key.str());
  entry.set_value(value.str());
}

std::string GraphWriter::addConstant(const TensorProto &tensor) {
  std::string &name = constants_[tensor.SerializeAsString()];
  if (name.empty()) {
    name = fresh("constant");
    AttributeProto value = named("value", AttributeProto::TENSOR);
    *value.mutable_t() = tensor;
    add("Constant", {}, {name}, name, {value});
  }
  return name;
}

std::string GraphWriter::integers(ArrayRef<int64_t> values) {
  TensorProto tensor;
  tensor.set_data_type(TensorProto::INT64);
  tensor.add_dims(values.size());
  tensor.set_raw_data(values.data(), values.size() * sizeof(int64_t));
  return addConstant(tensor);
}

std::string GraphWriter::number(double value, Type element, bool isUnsigned) {
  Attribute each = isa<FloatType>(element)
                       ? Attribute(FloatAttr::get(element, value))
                       : IntegerAttr::get(element, int64_t(value));
  auto type = RankedTensorType::get({}, element);
  return constant(DenseElementsAttr::get(type, each), isUnsigned);
}

/// Repeats one number only where the file is run.
std::string GraphWriter::constant(ElementsAttr elements, bool isUnsigned) {
  constexpr int64_t kMostRepeated = 256;
  TensorProto tensor;
  auto splat = dyn_cast<SplatElementsAttr>(elements);
  if (!splat || splat.getNumElements() <= kMostRepeated) {
    store(tensor, elements, isUnsigned);
    return addConstant(tensor);
  }
  auto type = cast<RankedTensorType>(splat.getType());
  auto one = RankedTensorType::get({1}, type.getElementType());
  store(tensor, splat.resizeSplat(one), isUnsigned);
  std::string shape = integers(type.getShape());
  std::string &name = constants_[shape + tensor.SerializeAsString()];
  if (name.empty()) {
    name = fresh("constant");
    AttributeProto value = named("value", AttributeProto::TENSOR);
    *value.mutable_t() = tensor;
    add("ConstantOfShape", {shape}, {name}, name, {value});
  }
  return name;
}

//===-- the end -----------------------------------------------------------===//

absl::StatusOr<llvm::StringSet<>> GraphWriter::removeUnused() {
  llvm::StringSet<> needed;
  for (const auto &output : graph_.output())
    needed.insert(output.name());
  std::vector<NodeProto> kept;
  for (int i = graph_.node_size(); i-- > 0;) {
    NodeProto &node = *graph_.mutable_node(i);
    if (llvm::none_of(node.output(), [&](const std::string &output) {
          return needed.contains(output);
        }))
      continue;
    needed.insert(node.input().begin(), node.input().end());
    kept.push_back(std::move(node));
  }
  graph_.clear_node();
  llvm::StringSet<> names; // ONNX Runtime refuses equal ones
  for (NodeProto &node : llvm::reverse(kept)) {
    while (!names.insert(node.name()).second)
      node.set_name(node.name() + "_");
    *graph_.add_node() = std::move(node);
  }
  for (const auto &[name, status] : refused_)
    if (needed.contains(name))
      return status;
  return needed;
}

absl::StatusOr<llvm::StringSet<>>
GraphWriter::finish(ValueRange outputs, ArrayRef<std::string> names) {
  for (auto [value, name] : llvm::zip(outputs, names)) {
    if (std::string own = nameOf(value); own != name)
      add("Identity", {own}, {name}, name);
    describe(*graph_.add_output(), name, value.getType());
  }
  return removeUnused();
}

} // namespace gradus::onnx
