// Maps names to values: inputs, constants, and states, which are created when
// the graph first uses them.

#include "frontends/onnx/importer/importer.h"

#include "frontends/onnx/file/non_finite.h"
#include "frontends/onnx/file/onnx.pb.h"
#include "frontends/onnx/file/size_limits.h"
#include "frontends/onnx/importer/fit.h"
#include "frontends/onnx/pytorch/export_constants.h"

#include "ir/build.h"
#include "recipe/nearest.h"
#include "recipe/patterns.h"

#include "llvm/ADT/StringSet.h"

namespace gradus::onnx {

using namespace mlir;
using ::onnx::TensorProto;

bool mayBeTrained(llvm::StringRef name, int64_t rank,
                  const std::vector<std::string> &trainable) {
  if (rank > 0)
    return true;
  bool isMember = name.contains('.') && name.find_first_of("/:") == name.npos;
  return isMember || isNamed(trainable, name);
}

bool isNamed(const std::vector<std::string> &patterns, llvm::StringRef name) {
  return llvm::any_of(patterns, [&](const std::string &pattern) {
    return pattern != "*" && matchesPattern(pattern, name);
  });
}

Importer::Importer(ModelFile &file, const ExportMarks &marks,
                   const ImportOptions &options, ProgramOp program,
                   GraphOp graph)
    : builder(OpBuilder::atBlockTerminator(&graph.getBody().front())),
      budget(file.storedBytes()), file_(file), marks_(marks), options_(options),
      program_(program), graph_(graph),
      initialWeights_(file.graph(), options.initialize, context()),
      exportConstants_(exportConstants(file, marks)) {}

Location Importer::location(const Node &node) const {
  return NameLoc::get(StringAttr::get(&context(), node.name()));
}

//===-- definitions -------------------------------------------------------===//

/// Whether an initializer becomes a state: a float that may be trained. Others
/// become constants.
bool Importer::isState(const TensorProto &tensor, Type element) const {
  return isa<FloatType>(element) &&
         (mayBeTrained(tensor.name(), tensor.dims_size(), options_.trainable) ||
          isScalarParameter(file_, marks_, tensor)) &&
         (!exportConstants_.count(tensor.name()) ||
          isNamed(options_.trainable, tensor.name()));
}

absl::Status Importer::defineInitializer(const TensorProto &tensor) {
  GRADUS_ASSIGN_OR_RETURN(RankedTensorType type, file_.type(tensor, context()));
  if (isState(tensor, type.getElementType())) {
    entries_[tensor.name()].state = &tensor;
    return absl::OkStatus();
  }
  Entry &entry = entries_[tensor.name()];
  GRADUS_ASSIGN_OR_RETURN(Constant values, constant(tensor));
  entry.constant = budget.keep(std::move(values));
  entry.isUnsigned = onnx::isUnsigned(tensor.data_type());
  return absl::OkStatus();
}

absl::Status Importer::defineInitializers() {
  return defineInitializers(file_.graph());
}

absl::Status Importer::defineInitializers(const ::onnx::GraphProto &graph) {
  for (const TensorProto &tensor : graph.initializer()) {
    auto known = entries_.find(tensor.name());
    if (known == entries_.end()) {
      GRADUS_RETURN_IF_ERROR(defineInitializer(tensor));
    } else if (known->second.state !=
               &tensor) // A loop's body is imported often.
      return invalid("has two initializers called \"", tensor.name(), "\"");
  }
  if (graph.sparse_initializer_size())
    return unsupported("has sparse initializers, which are not supported");
  return absl::OkStatus();
}

/// Casts the same elements to integers of this signedness.
static Value withSign(OpBuilder &builder, Location location, Value value,
                      IntegerType::SignednessSemantics sign) {
  RankedTensorType type = tensorType(value);
  auto element = dyn_cast<IntegerType>(type.getElementType());
  if (!element)
    return value;
  Type wanted =
      IntegerType::get(element.getContext(), element.getWidth(), sign);
  return builder.createOrFold<ReshapeOp>(location, type.clone(wanted), value);
}

void Importer::defineInput(llvm::StringRef name, Value value) {
  Entry &entry = entries_[name];
  entry.isUnsigned = tensorType(value).getElementType().isUnsignedInteger();
  entry.value = withSign(builder, value.getLoc(), value, IntegerType::Signless);
}

/// Refuses outputs so large that sizes computed from theirs overflow.
static absl::Status checkShape(const Node &node, int output,
                               ArrayRef<int64_t> shape) {
  if (!isWithin(shape, kMostElements))
    return node.error("its output \"", node.output(output).str(),
                      "\" would have the impossible shape [", joined(shape),
                      "]");
  return absl::OkStatus();
}

absl::Status Importer::define(const Node &node, int output, Value value) {
  if (node.output(output).empty())
    return absl::OkStatus();
  GRADUS_RETURN_IF_ERROR(
      checkShape(node, output, tensorType(value).getShape()));
  bool isUnsigned =
      unsignedLikeInputs(node, output, tensorType(value).getElementType());
  Entry &entry = entries_[node.output(output)];
  entry.value = value;
  entry.floats = {};
  entry.isUnsigned = isUnsigned;
  return absl::OkStatus();
}

absl::Status Importer::define(const Node &node, int output, Constant constant) {
  if (node.output(output).empty())
    return absl::OkStatus();
  bool isUnsigned = unsignedLikeInputs(node, output, constant.element);
  Entry &entry = entries_[node.output(output)];
  fitToElement(constant); // as where the model runs
  entry.constant = budget.keep(std::move(constant));
  entry.value = entry.floats = {};
  entry.isUnsigned = isUnsigned;
  return absl::OkStatus();
}

absl::Status Importer::defineSequence(const Node &node, int output,
                                      ArrayRef<Value> values) {
  bool isUnsigned =
      !values.empty() &&
      unsignedLikeInputs(node, output, tensorType(values[0]).getElementType());
  Entry &entry = entries_[node.output(output)];
  entry.sequence = SmallVector<Value>(values);
  entry.isUnsigned = isUnsigned;
  return absl::OkStatus();
}

absl::StatusOr<ArrayRef<Value>> Importer::sequence(const Node &node,
                                                   int input) const {
  GRADUS_ASSIGN_OR_RETURN(const Entry *entry, find(node, input));
  if (!entry->sequence)
    return node.error("its input \"", node.input(input).str(),
                      "\" is no sequence");
  return ArrayRef<Value>(*entry->sequence);
}

Value Importer::valueOf(const Node &node, int output) const {
  auto found = entries_.find(node.output(output));
  return found == entries_.end() ? Value() : found->second.value;
}

void Importer::defineUnsupported(const Node &node, int output,
                                 const std::string &what) {
  if (!node.output(output).empty())
    entries_[node.output(output)].unsupported =
        message("the ", what, " of node \"", node.name(), "\" (", node.type(),
                "), which is not supported");
}

/// The float type that the file states for a value; null if it does not state
/// all of it.
RankedTensorType Importer::statedType(llvm::StringRef name) const {
  auto stated =
      llvm::find_if(file_.graph().value_info(),
                    [&](const auto &value) { return value.name() == name; });
  if (stated == file_.graph().value_info().end())
    return {};
  const auto &type = stated->type().tensor_type();
  Type element = elementType(type.elem_type(), context());
  SmallVector<int64_t> shape;
  for (const auto &dimension : type.shape().dim()) {
    auto known = options_.dims.find(dimension.dim_param());
    shape.push_back(known == options_.dims.end() ? dimension.dim_value()
                                                 : known->second);
  }
  bool isKnown = type.has_shape() && isa_and_nonnull<FloatType>(element) &&
                 llvm::all_of(shape, [](int64_t size) { return size > 0; }) &&
                 isWithin(shape, kMostElements);
  return isKnown ? RankedTensorType::get(shape, element) : RankedTensorType();
}

void Importer::defineFailed(const Node &node) {
  for (int output = 0; output < node.outputCount(); ++output) {
    if (node.output(output).empty())
      continue;
    Entry &entry = entries_[node.output(output)];
    if (RankedTensorType type = statedType(node.output(output)))
      entry.value = UnrealizedConversionCastOp::create(builder, location(node),
                                                       type, ValueRange())
                        .getResult(0);
    else
      entry.failed = true;
  }
}

absl::StatusOr<Constant> Importer::constant(const TensorProto &tensor) {
  GRADUS_ASSIGN_OR_RETURN(DenseElementsAttr elements,
                          file_.elements(tensor, context()));
  return fromAttribute(elements);
}

//===-- signs -------------------------------------------------------------===//

Type Importer::Entry::element() const {
  if (value)
    return tensorType(value).getElementType();
  if (sequence && !sequence->empty())
    return tensorType(sequence->front()).getElementType();
  return constant ? constant->element : Type();
}

/// Whether an output has indices or counts, which are i64 for any input type.
static bool givesNumbers(const Node &node, int output) {
  static const llvm::StringSet<> ops = {"ArgMax",         "ArgMin", "NonZero",
                                        "SequenceLength", "Shape",  "Size"};
  return ops.contains(node.type()) ||
         (output == 1 && (node.type() == "TopK" || node.type() == "MaxPool"));
}

bool Importer::unsignedLikeInputs(const Node &node, int output,
                                  Type element) const {
  for (int input = 0; input < node.inputCount(); ++input)
    if (auto found = entries_.find(node.input(input));
        found != entries_.end() && found->second.element() == element)
      return found->second.isUnsigned && !givesNumbers(node, output);
  return false;
}

bool Importer::isUnsigned(const Node &node, int input) const {
  auto found = entries_.find(node.input(input));
  return found != entries_.end() && found->second.isUnsigned;
}

bool Importer::isUnsignedOutput(const Node &node, int output) const {
  auto found = entries_.find(node.output(output));
  return found != entries_.end() && found->second.isUnsigned;
}

void Importer::setUnsigned(const Node &node, int output, bool isUnsigned) {
  if (!node.output(output).empty())
    entries_[node.output(output)].isUnsigned = isUnsigned;
}

//===-- inputs of nodes ---------------------------------------------------===//

absl::StatusOr<const Importer::Entry *> Importer::find(const Node &node,
                                                       int input) const {
  if (node.input(input).empty())
    return node.error("input ", input, " is missing");
  return find(node, node.input(input));
}

absl::StatusOr<const Importer::Entry *>
Importer::find(const Node &node, llvm::StringRef name) const {
  auto found = entries_.find(name);
  if (found == entries_.end())
    return node.error("nothing before it defines its input \"", name.str(),
                      "\"");
  if (found->second.failed)
    return absl::AbortedError("");
  if (!found->second.unsupported.empty())
    return node.error("needs ", found->second.unsupported);
  return &found->second;
}

absl::StatusOr<Importer::Entry *> Importer::find(const Node &node, int input) {
  GRADUS_ASSIGN_OR_RETURN(const Entry *found,
                          std::as_const(*this).find(node, input));
  return const_cast<Entry *>(found);
}

absl::StatusOr<Value> Importer::value(const Node &node, int input) {
  GRADUS_ASSIGN_OR_RETURN(Entry * entry, find(node, input));
  if (entry->sequence)
    return node.error("its input \"", node.input(input).str(),
                      "\" is a sequence, expected a tensor");
  return materialize(*entry, location(node));
}

absl::StatusOr<Value> Importer::value(const Node &node, int input,
                                      int64_t rank) {
  absl::StatusOr<Value> result = value(node, input);
  if (!result.ok())
    return result;
  if (int64_t found = cast<RankedTensorType>(result->getType()).getRank();
      found != rank)
    return node.error("its input \"", node.input(input).str(), "\" has rank ",
                      found, ", expected ", rank);
  return result;
}

absl::StatusOr<Value> Importer::value(llvm::StringRef name, Location location) {
  auto found = entries_.find(name);
  if (found == entries_.end())
    return invalid("nothing defines the output \"", name.str(), "\"");
  if (!found->second.unsupported.empty())
    return unsupported("output \"", name.str(), "\" is ",
                       found->second.unsupported);
  if (found->second.sequence)
    return unsupported("output \"", name.str(),
                       "\" is a sequence, which is not supported");
  GRADUS_ASSIGN_OR_RETURN(Value value, materialize(found->second, location));
  return found->second.isUnsigned
             ? withSign(builder, location, value, IntegerType::Unsigned)
             : value;
}

absl::StatusOr<bool> Importer::allConstant(const Node &node, int end) const {
  bool result = true;
  for (int input = 0; input < std::min(node.inputCount(), end); ++input) {
    if (node.input(input).empty())
      continue;
    GRADUS_ASSIGN_OR_RETURN(const Entry *entry, find(node, input));
    result &= bool(entry->constant);
  }
  return result;
}

const Constant *Importer::constant(const Node &node, int input) const {
  auto found = entries_.find(node.input(input));
  if (found == entries_.end() || !found->second.constant)
    return nullptr;
  return found->second.constant.get();
}

absl::StatusOr<std::optional<Constant>> Importer::stored(const Node &node,
                                                         int input) {
  GRADUS_ASSIGN_OR_RETURN(Entry * entry, find(node, input));
  if (entry->constant)
    return *entry->constant;
  if (!entry->state)
    return std::optional<Constant>();
  GRADUS_ASSIGN_OR_RETURN(Constant values, constant(*entry->state));
  return std::optional<Constant>(std::move(values));
}

absl::StatusOr<SmallVector<int64_t>>
Importer::integers(const Node &node, int input, const char *what) const {
  GRADUS_ASSIGN_OR_RETURN(const Entry *entry, find(node, input));
  const Constant *constant = entry->constant.get();
  if (!constant)
    return node.error("its ", what, " \"", node.input(input).str(),
                      "\" depends on the model's inputs; only what is known "
                      "beforehand is supported");
  if (constant->tensor.isFloat)
    return node.error("its ", what, " \"", node.input(input).str(),
                      "\" are floats, expected integers");
  return SmallVector<int64_t>(ArrayRef<int64_t>(constant->tensor.integers));
}

absl::StatusOr<RankedTensorType> Importer::type(const Node &node,
                                                int input) const {
  GRADUS_ASSIGN_OR_RETURN(const Entry *entry, find(node, input));
  if (entry->sequence)
    return node.error("its input \"", node.input(input).str(),
                      "\" is a sequence, expected a tensor");
  if (entry->value)
    return cast<RankedTensorType>(entry->value.getType());
  if (entry->constant)
    return entry->constant->type();
  return file_.type(*entry->state, context());
}

//===-- names of subgraphs ------------------------------------------------===//

/// Reads a state here, so that both names refer to one read.
absl::StatusOr<Importer::Entry> Importer::meaning(const Node &node,
                                                  llvm::StringRef name) {
  GRADUS_ASSIGN_OR_RETURN(const Entry *found, find(node, name));
  if (found->state)
    GRADUS_RETURN_IF_ERROR(
        materialize(const_cast<Entry &>(*found), location(node)).status());
  return *found;
}

void Importer::setMeaning(llvm::StringRef name, const Entry &entry) {
  if (!name.empty())
    entries_[name] = Entry(entry);
}

void Importer::forget(const ::onnx::GraphProto &graph) {
  for (const TensorProto &tensor : graph.initializer())
    if (!entries_[tensor.name()].state) // The whole model shares a state.
      entries_.erase(tensor.name());
  for (const ::onnx::NodeProto &node : graph.node())
    for (const std::string &name : node.output())
      entries_.erase(name);
}

//===-- values on demand --------------------------------------------------===//

absl::StatusOr<Value> Importer::materialize(Entry &entry, Location location) {
  if (entry.value)
    return entry.value;
  if (entry.constant)
    return arith::ConstantOp::create(builder, location,
                                     toAttribute(*entry.constant))
        .getResult();
  GRADUS_ASSIGN_OR_RETURN(entry.value, readState(*entry.state));
  return entry.value;
}

static void warnOfNonFinite(const std::string &name, ElementsAttr elements,
                            Role role) {
  std::string found = nonFiniteIn(elements, role == Role::parameter);
  if (!found.empty())
    emitWarning(UnknownLoc::get(elements.getContext()))
        << "initializer \"" << name << "\" has " << found
        << ", which training starts with";
}

/// Declares a state and reads it at the entry of the graph. Fails if the step
/// counter of random draws has that name.
absl::StatusOr<Value> Importer::readState(const TensorProto &tensor) {
  if (program_.getState(tensor.name()))
    return invalid("reads the tensor \"", tensor.name(),
                   "\", but random draws of the model count steps under that "
                   "name; rename the tensor");
  GRADUS_ASSIGN_OR_RETURN(RankedTensorType type, file_.type(tensor, context()));
  ElementsAttr elements;
  if (!file_.isMissing(tensor)) {
    GRADUS_ASSIGN_OR_RETURN(elements, file_.elementsInPlace(tensor, context()));
  }
  OpBuilder states(graph_);
  Location location = NameLoc::get(states.getStringAttr(tensor.name()));
  InitAttr init = elements ? InitAttr() : initialWeights_.of(tensor);
  Role role = roleOf(tensor.name());
  StateOp::create(states, location, tensor.name(), type, role, init, elements,
                  /*differs_along=*/mlir::ArrayAttr());
  if (elements)
    warnOfNonFinite(tensor.name(), elements, role);
  states_.insert(tensor.name());
  OpBuilder entry = OpBuilder::atBlockBegin(&graph_.getBody().front());
  return ReadOp::create(entry, location, type, tensor.name()).getResult();
}

bool Importer::makeBuffer(Value value) {
  auto read = value.getDefiningOp<ReadOp>();
  if (!read)
    return false;
  program_.getState(read.getState()).setRole(Role::buffer);
  return true;
}

static bool matchesAny(const std::vector<std::string> &patterns,
                       llvm::StringRef name) {
  return llvm::any_of(patterns, [&](const std::string &pattern) {
    return matchesPattern(pattern, name);
  });
}

Role Importer::roleOf(llvm::StringRef name) const {
  bool trained = matchesAny(options_.trainable, name) &&
                 !matchesAny(options_.fixed, name) &&
                 !isKeptBuffer(marks_, name.str(), options_.trainable);
  return trained ? Role::parameter : Role::buffer;
}

absl::Status Importer::checkPatterns() const {
  auto used = [&](const std::string &pattern) {
    auto isMeant = [&](const std::string &name) {
      return matchesPattern(pattern, name);
    };
    return pattern == "*" || llvm::any_of(states_, isMeant) ||
           llvm::any_of(exportConstants_, isMeant);
  };
  for (const auto &[key, patterns] :
       {std::pair("trainable", &options_.trainable),
        {"fixed", &options_.fixed}})
    for (const std::string &pattern : *patterns)
      if (!used(pattern))
        return invalid(
            "`", key, "` of the recipe names \"", pattern,
            "\", but no parameter of the model is called so; it has, nearest "
            "first: ",
            nearestNames(pattern, states_));
  return absl::OkStatus();
}

} // namespace gradus::onnx
