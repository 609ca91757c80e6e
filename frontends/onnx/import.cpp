// Imports a model, from the outside in: file, inputs, nodes, outputs.

#include "frontends/onnx/import.h"

#include "frontends/onnx/file/declared_outputs.h"
#include "frontends/onnx/file/onnx.pb.h"
#include "frontends/onnx/file/signatures.h"
#include "frontends/onnx/file/size_limits.h"
#include "frontends/onnx/file/size_names.h"
#include "frontends/onnx/file/well_formed.h"
#include "frontends/onnx/importer/thrown.h"
#include "frontends/onnx/importer/trained_statistics.h"
#include "frontends/onnx/judge.h"
#include "frontends/onnx/operators/operators.h"
#include "frontends/onnx/operators/random.h"
#include "frontends/onnx/pytorch/export_losses.h"
#include "messages/error_kind.h"

#include "ir/evaluator/evaluator.h"
#include "runtime/names.h"
#include "runtime/well_known.h"

#include "mlir/IR/Verifier.h"
#include "llvm/Support/Path.h"

namespace gradus {
namespace onnx {
namespace {

using namespace mlir;

constexpr const char *kInitializeRules[] = {
    "pytorch", "kaiming_uniform", "xavier_uniform", "normal", "zeros"};

//===-- checks before building --------------------------------------------===//

absl::Status checkInitialize(const ImportOptions &options) {
  if (options.initialize.empty() ||
      llvm::is_contained(kInitializeRules, options.initialize))
    return absl::OkStatus();
  return invalid("--initialize ", options.initialize,
                 ": unknown rule; known: ", joined(kInitializeRules));
}

/// Reports every missing data file with the tensors in it.
absl::Status checkWeights(ModelFile &file, const ImportOptions &options) {
  auto missing = file.missing();
  if (missing.empty() || !options.initialize.empty())
    return absl::OkStatus();
  std::vector<std::string> files;
  for (const auto &[location, tensors] : missing)
    files.push_back(message("its data file \"", location,
                            "\" is missing; it holds ", tensors.size(),
                            tensors.size() == 1 ? " tensor (" : " tensors (",
                            few(tensors), ")"));
  return invalid(joined(files, "; "),
                 ". Put it beside the model, or start anew with --initialize ",
                 kInitializeRules[0],
                 " (each weight as PyTorch's layer of its "
                 "kind) or another of ",
                 joined(llvm::drop_begin(kInitializeRules)));
}

//===-- inputs ------------------------------------------------------------===//

/// Gives symbolic dimensions their sizes and remembers which were used.
class Dimensions {
public:
  Dimensions(const std::map<std::string, int64_t> &sizes) : sizes_(sizes) {}

  /// Returns the size of a dimension; 0 if it is unknown.
  int64_t resolve(const ::onnx::TensorShapeProto::Dimension &dimension,
                  const std::string &input, size_t axis) {
    std::string name = sizeName(dimension, input, axis);
    if (name.empty())
      return dimension.dim_value();
    names_.insert(name);
    auto size = sizes_.find(name);
    if (size != sizes_.end())
      return size->second;
    unbound_.insert(name);
    return 0;
  }

  /// Reports a misspelled name before the dimension that it leaves open.
  absl::Status check() const {
    for (const auto &[name, size] : sizes_) {
      if (size < 1)
        return invalid("--dim ", name, "=", size, ": expected at least 1");
      if (!names_.count(name))
        return invalid("has no symbolic dimension \"", name, "\"; ",
                       names_.empty()
                           ? "all its sizes are fixed: leave it out of "
                             "inputs.dims (--dim), or export the model with "
                             "dynamic shapes"
                           : "it has " + joined(names_));
    }
    if (unbound_.empty())
      return absl::OkStatus();
    const std::string &first = *unbound_.begin();
    return withKind(invalid("has dimensions of unknown size: ",
                            joined(unbound_), ". Say, for example, --dim ",
                            first, "=32, or \"inputs\": {\"dims\": {\"", first,
                            "\": 32}} in the recipe"),
                    ErrorKind::unknownSizes);
  }

private:
  const std::map<std::string, int64_t> &sizes_;
  std::set<std::string> names_, unbound_;
};

absl::StatusOr<RankedTensorType> inputType(const ::onnx::ValueInfoProto &input,
                                           Dimensions &dimensions,
                                           MLIRContext &context) {
  const auto &type = input.type().tensor_type();
  if (!input.type().has_tensor_type() || !type.has_shape())
    return invalid("input \"", input.name(), "\" is no tensor of known rank");
  Type element = elementType(type.elem_type(), context);
  if (!element)
    return unsupported("input \"", input.name(), "\" has elements of ",
                       dataTypeName(type.elem_type()),
                       ", which is not supported");
  SmallVector<int64_t> shape;
  for (const auto &dimension : type.shape().dim())
    if (dimension.has_dim_value() && dimension.dim_value() == 0)
      return unsupported("input \"", input.name(),
                         "\" has a size of 0, "
                         "which is not supported");
  for (const auto &dimension : type.shape().dim())
    shape.push_back(dimensions.resolve(dimension, input.name(), shape.size()));
  if (!isWithin(shape, kMostElements))
    return invalid("input \"", input.name(), "\" has the impossible shape [",
                   joined(shape), "] (see inputs.dims of the recipe)");
  if (isUnsigned(type.elem_type()))
    element = IntegerType::get(&context, element.getIntOrFloatBitWidth(),
                               IntegerType::Unsigned);
  return RankedTensorType::get(shape, element);
}

absl::Status addInputs(const ModelFile &file, const ImportOptions &options,
                       GraphOp graph, Importer &importer) {
  std::set<std::string> initializers;
  for (const auto &tensor : file.graph().initializer())
    initializers.insert(tensor.name());
  Dimensions dimensions(options.dims);
  for (const auto &input : file.graph().input()) {
    if (initializers.count(input.name()))
      continue; // Before IR version 4 inputs list initializers, too.
    GRADUS_ASSIGN_OR_RETURN(RankedTensorType type,
                            inputType(input, dimensions, *graph.getContext()));
    Location location =
        NameLoc::get(StringAttr::get(graph.getContext(), input.name()));
    importer.defineInput(input.name(),
                         graph.addInput(input.name(), type, location));
  }
  return dimensions.check();
}

//===-- nodes and outputs -------------------------------------------------===//

/// Whether a node has unsigned inputs; folds are written for signed numbers.
bool hasUnsigned(const Importer &importer, const Node &node) {
  for (int input = 0; input < node.inputCount(); ++input)
    if (importer.isUnsigned(node, input))
      return true;
  return false;
}

absl::Status fold(const Operator &op, Importer &importer, const Node &node) {
  SmallVector<const Constant *> inputs;
  for (int input = 0; input < node.inputCount(); ++input)
    inputs.push_back(importer.constant(node, input));
  while (!inputs.empty() && !inputs.back())
    inputs.pop_back(); // Left out.
  if (inputs.empty() || llvm::is_contained(inputs, nullptr))
    return node.error(
        "input ", std::distance(inputs.begin(), llvm::find(inputs, nullptr)),
        " is missing");
  GRADUS_ASSIGN_OR_RETURN(Constant result, op.fold(node, inputs));
  return importer.define(node, 0, std::move(result));
}

/// Whether an op is small enough for the evaluator, which is slow.
bool isLittle(Operation &op) {
  constexpr int64_t kMost = int64_t(1) << 24;
  return llvm::all_of(op.getResultTypes(), [](Type type) {
    return isWithin(cast<RankedTensorType>(type).getShape(), kMost);
  });
}

/// Whether a whole block is small enough: many small ops cost time and memory,
/// too.
bool isLittle(Block &block, const FoldingBudget &budget) {
  constexpr int64_t kMost = int64_t(1) << 28;
  int64_t count = 0;
  for (Operation &op : block) {
    if (!isLittle(op))
      return false;
    for (Type type : op.getResultTypes())
      count += cast<RankedTensorType>(type).getNumElements();
  }
  return count <= kMost && budget.fits(count);
}

using Values = llvm::DenseMap<Value, HostTensor>;

/// Frees operands whose last use is `op`, except wanted ones.
void dropUsed(Operation &op, const llvm::DenseSet<Value> &wanted,
              Values &values) {
  auto isLater = [&](Operation *user) {
    return op.isBeforeInBlock(op.getBlock()->findAncestorOpInBlock(*user));
  };
  for (Value operand : op.getOperands())
    if (!wanted.contains(operand) && llvm::none_of(operand.getUsers(), isLater))
      values.erase(operand);
}

/// Evaluates the wanted values of a block with the reference evaluator; returns
/// nothing if an op is unknown or invalid, or the values are large.
std::optional<Values> evaluated(Block &block,
                                const llvm::DenseSet<Value> &wanted,
                                const FoldingBudget &budget) {
  if (!isLittle(block, budget))
    return std::nullopt;
  Values values;
  ScopedDiagnosticHandler quiet(block.getParentOp()->getContext(),
                                [](Diagnostic &) { return success(); });
  for (Operation &op : block) {
    if (failed(verify(&op)))
      return std::nullopt;
    SmallVector<HostTensor> operands;
    for (Value operand : op.getOperands())
      operands.push_back(values[operand]);
    auto results = evaluateOp(&op, operands);
    if (failed(results))
      return std::nullopt;
    for (auto [result, value] : llvm::zip(op.getResults(), *results))
      values[result] = std::move(value);
    dropUsed(op, wanted, values);
  }
  return values;
}

/// Builds a node in a block of its own. If it throws, the insertion point is
/// restored for the next node.
absl::Status buildInto(Block &block, const Operator &op, Importer &importer,
                       const Node &node) {
  OpBuilder::InsertionGuard guard(importer.builder);
  importer.builder.setInsertionPointToStart(&block);
  return op.build(importer, node);
}

/// Builds a node with constant inputs separately and defines its outputs as the
/// evaluated results.
absl::Status foldByEvaluation(const Operator &op, Importer &importer,
                              const Node &node) {
  OwningOpRef<ModuleOp> scratch =
      ModuleOp::create(importer.builder.getUnknownLoc());
  GRADUS_RETURN_IF_ERROR(buildInto(*scratch->getBody(), op, importer, node));
  llvm::DenseSet<Value> wanted;
  for (int output = 0; output < node.outputCount(); ++output)
    wanted.insert(importer.valueOf(node, output));
  auto values = evaluated(*scratch->getBody(), wanted, importer.budget);
  if (!values)
    return op.build(importer, node);
  for (int output = 0; output < node.outputCount(); ++output)
    if (Value value = importer.valueOf(node, output)) {
      bool isUnsigned = importer.isUnsignedOutput(node, output);
      GRADUS_RETURN_IF_ERROR(importer.define(
          node, output,
          Constant{(*values)[value],
                   cast<RankedTensorType>(value.getType()).getElementType()}));
      importer.setUnsigned(node, output, isUnsigned);
    }
  return absl::OkStatus();
}

/// Defines outputs without elements as constants.
absl::Status defineEmpty(Importer &importer, const Node &node) {
  for (int output = 0; output < node.outputCount(); ++output)
    if (Value value = importer.valueOf(node, output))
      if (auto type = cast<RankedTensorType>(value.getType());
          type.getNumElements() == 0)
        GRADUS_RETURN_IF_ERROR(importer.define(
            node, output, zeros(type.getElementType(), type.getShape())));
  return absl::OkStatus();
}

/// Refuses empty inputs of ops that compute with their elements.
absl::Status checkInputs(const Importer &importer, const Operator &op,
                         const Node &node) {
  if (op.takesEmpty)
    return absl::OkStatus();
  for (int input = 0; input < node.inputCount(); ++input)
    if (auto type = importer.type(node, input);
        type.ok() && type->getNumElements() == 0)
      return node.error("its input \"", node.input(input).str(),
                        "\" of shape [", joined(type->getShape()),
                        "] is empty, which is not supported");
  return absl::OkStatus();
}

/// Whether an op had `axis` and `broadcast` before opset 7.
bool broadcastAlongAxis(const Node &node) {
  return llvm::is_contained({"Add", "And", "Div", "Equal", "Greater", "Less",
                             "Mul", "Or", "Pow", "Sub", "Xor"},
                            node.type());
}

/// Refuses broadcasts along an axis other than the last ones. Before opset 7 an
/// attribute named the axes of the first input that match the second; it says
/// nothing unless another one lets the node broadcast.
absl::Status checkOldBroadcast(const Importer &importer, const Node &node) {
  if (node.opset() >= 7)
    return absl::OkStatus();
  // Both are read, as either may stand alone.
  bool broadcasts = node.integer("broadcast", 0);
  if (!broadcastAlongAxis(node) || !node.hasAttribute("axis") || !broadcasts)
    return absl::OkStatus();
  GRADUS_ASSIGN_OR_RETURN(RankedTensorType left, importer.type(node, 0));
  GRADUS_ASSIGN_OR_RETURN(RankedTensorType right, importer.type(node, 1));
  int64_t axis = node.integer("axis", 0);
  if (axis < 0 || axis == left.getRank() - right.getRank())
    return absl::OkStatus();
  return node.error("broadcasts along axis ", axis, " of ", left.getRank(),
                    " (before opset 7), which is not supported");
}

/// Computes the first output; returns false if it needs too much memory. Throws
/// then if the node cannot be built in another way.
absl::StatusOr<bool> foldIfItFits(const Operator &op, Importer &importer,
                                  const Node &node) {
  try {
    GRADUS_RETURN_IF_ERROR(fold(op, importer, node));
    return true;
  } catch (const FoldingLimit &) {
    if (!op.build)
      throw;
    return false;
  }
}

absl::Status handle(Importer &importer, const Operator &op, const Node &node) {
  for (const Ignored &each : op.support.ignored)
    node.ignore(each.attribute);
  GRADUS_RETURN_IF_ERROR(judge(op, node));
  GRADUS_ASSIGN_OR_RETURN(bool constant,
                          importer.allConstant(node, op.firstTypeInput));
  constant &= !op.isKept || !op.isKept(importer, node);
  GRADUS_RETURN_IF_ERROR(checkInputs(importer, op, node));
  GRADUS_RETURN_IF_ERROR(checkOldBroadcast(importer, node));
  bool evaluates = op.folds() && hasUnsigned(importer, node);
  bool folds = constant && op.fold && !evaluates;
  if (folds) {
    GRADUS_ASSIGN_OR_RETURN(bool isDone, foldIfItFits(op, importer, node));
    if (isDone)
      return absl::OkStatus();
  }
  if (!folds && constant && op.folds() && node.inputCount() > 0)
    return foldByEvaluation(op, importer, node);
  if (op.build) {
    GRADUS_RETURN_IF_ERROR(op.build(importer, node));
    return defineEmpty(importer, node);
  }
  return node.error("is supported only on shapes and constants, but its inputs "
                    "depend on the model's",
                    op.support.wayOut);
}

/// Imports a node; turns exceptions of handlers into errors about it.
absl::Status addNode(Importer &importer, const Operator &op, const Node &node) {
  try {
    GRADUS_RETURN_IF_ERROR(handle(importer, op, node));
    return checkAllRead(node);
  } catch (const std::exception &) {
    return node.error(wordsOfThrown());
  }
}

} // namespace

void addNodes(const ::onnx::GraphProto &graph, int64_t opset,
              Importer &importer) {
  int index = 0;
  for (const ::onnx::NodeProto &proto : graph.node()) {
    Node node(proto, index++, opset);
    const Operator *op = findOperator(node.type());
    int64_t insideBefore = importer.subgraphNodes;
    absl::Status status = op ? addNode(importer, *op, node) : absl::OkStatus();
    if (op && status.ok())
      continue;
    if (!op)
      importer.problems.addMissing(node);
    else if (!importer.isConsequence(status))
      importer.problems.addError(node, status);
    if (importer.subgraphNodes == insideBefore) // else nodes were checked
      judgeInside(proto, opset, importer.problems);
    importer.defineFailed(node);
  }
}

namespace {

absl::Status addOutputs(const ModelFile &file, GraphOp graph,
                        Importer &importer) {
  if (file.graph().output_size() == 0)
    return invalid("has no outputs");
  for (const auto &output : file.graph().output()) {
    Location location =
        NameLoc::get(importer.builder.getStringAttr(output.name()));
    GRADUS_ASSIGN_OR_RETURN(Value value,
                            importer.value(output.name(), location));
    GRADUS_RETURN_IF_ERROR(checkDeclared(output, value));
    graph.addOutput(output.name(), value);
  }
  return absl::OkStatus();
}

/// Returns the verifier's errors; there are none unless a check above is
/// missing.
absl::Status verified(ModuleOp module) {
  std::string words;
  ScopedDiagnosticHandler handler(
      module.getContext(), [&](Diagnostic &diagnostic) {
        words += message(words.empty() ? "" : "; ", diagnostic.str());
        return success();
      });
  if (succeeded(verify(module)))
    return absl::OkStatus();
  return invalid("gives an invalid graph: ", words);
}

//===-- the import --------------------------------------------------------===//

GraphOp addGraph(ProgramOp program) {
  OpBuilder builder(program.getContext());
  builder.createBlock(&program.getBody());
  Location location = program.getLoc();
  auto graph = GraphOp::create(
      builder, location, well_known::kPredict, builder.getFunctionType({}, {}),
      builder.getArrayAttr({}), builder.getArrayAttr({}), StringAttr(),
      ArrayAttr(), ArrayAttr());
  builder.createBlock(&graph.getBody());
  ReturnOp::create(builder, location, ValueRange());
  return graph;
}

void warnOfTrainedStatistics(ProgramOp program, GraphOp graph,
                             const ImportOptions &options) {
  std::string words = trainedStatistics(program, graph, options.fixed);
  if (!words.empty())
    emitWarning(UnknownLoc::get(program.getContext())) << words;
}

absl::Status build(ModelFile &file, const ExportMarks &marks,
                   const ImportOptions &options, ProgramOp program) {
  GraphOp graph = addGraph(program);
  Importer importer(file, marks, options, program, graph);
  GRADUS_RETURN_IF_ERROR(addInputs(file, options, graph, importer));
  GRADUS_RETURN_IF_ERROR(importer.defineInitializers());
  addNodes(file.graph(), file.opset(), importer);
  GRADUS_RETURN_IF_ERROR(importer.problems.status());
  GRADUS_RETURN_IF_ERROR(addOutputs(file, graph, importer));
  takeCoins(graph);
  importer.trainingNotes.tell(options.recipe);
  if (options.recipe && options.recipe.contains("loss"))
    warnOfTrainedStatistics(program, graph, options);
  return importer.checkPatterns();
}

absl::StatusOr<OwningOpRef<ModuleOp>> readModel(const std::string &path,
                                                const ImportOptions &options,
                                                MLIRContext &context) {
  GRADUS_ASSIGN_OR_RETURN(
      std::unique_ptr<ModelFile> file,
      options.bytes ? ModelFile::fromBytes(*options.bytes, path,
                                           options.hasFolder, options.dataFiles)
                    : ModelFile::open(path));
  GRADUS_RETURN_IF_ERROR(checkWellFormed(*file));
  GRADUS_RETURN_IF_ERROR(checkInitialize(options));
  Location location = FileLineColLoc::get(&context, path, 0, 0);
  OwningOpRef<ModuleOp> module = ModuleOp::create(location);
  OpBuilder builder = OpBuilder::atBlockBegin(module->getBody());
  auto program = ProgramOp::create(builder, location,
                                   runtime::asUtf8(llvm::sys::path::stem(path)),
                                   options.recipe);
  ExportMarks marks = exportMarks(*file);
  GRADUS_RETURN_IF_ERROR(build(*file, marks, options, program));
  GRADUS_RETURN_IF_ERROR(checkWeights(*file, options));
  if (options.recipe && options.recipe.contains("loss"))
    for (const std::string &loss : exportLosses(*file, marks))
      emitWarning(UnknownLoc::get(&context)) << loss;
  GRADUS_RETURN_IF_ERROR(verified(*module));
  return module;
}

} // namespace
} // namespace onnx

absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>>
importOnnx(const std::string &path, const ImportOptions &options,
           mlir::MLIRContext &context) {
  context.loadDialect<GradusDialect, mlir::arith::ArithDialect,
                      mlir::math::MathDialect>();
  absl::Status status;
  try {
    auto module = onnx::readModel(path, options, context);
    if (module.ok())
      return module;
    status = module.status();
  } catch (const std::exception &) {
    status = invalid(onnx::wordsOfThrown());
  }
  return at(status, path);
}

} // namespace gradus
