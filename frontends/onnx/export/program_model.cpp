// Ops are written in their order, then those that no output needs are removed:
// a formula that ONNX has as one node leaves the nodes of its parts behind.

#include "frontends/onnx/export/program_model.h"

#include "frontends/onnx/export/inference_form.h"
#include "frontends/onnx/operators/exports.h"
#include "frontends/onnx/pytorch/export_marks.h"

#include "ir/build.h"
#include "ir/scan_ops.h"
#include "recipe/patterns.h"
#include "runtime/well_known.h"

namespace gradus::onnx {
namespace {

using namespace mlir;
using ::onnx::TensorProto;

/// Writes composite ops that have no row as smaller ones.
void decompose(GraphOp graph) {
  Block &block = graph.getBody().front();
  for (Operation *op = &block.front(); op;) {
    auto composite = dyn_cast<Decomposable>(op);
    Operation *next = op->getNextNode();
    if (composite && !findExport(op)) {
      OpBuilder builder(op);
      Operation *before = op->getPrevNode();
      op->replaceAllUsesWith(ValueRange(composite.decompose(builder)));
      next = before ? before->getNextNode() : &block.front();
      op->erase();
    }
    op = next;
  }
}

/// The version of the file format that introduced a set of operators, or the
/// one that introduced the marks of nodes and initializers, 10.
int64_t formatOf(int64_t opset) {
  return opset <= 22 ? 10 : opset == 23 ? 11 : opset == 24 ? 12 : 13;
}

class ProgramWriter {
public:
  ProgramWriter(ProgramOp program, bool forInference)
      : program_(program), graph_(program.getGraph(well_known::kPredict)),
        proto_(*result_.model.mutable_graph()), writer_(proto_, forInference) {}

  absl::StatusOr<ProgramModel> run() {
    GRADUS_RETURN_IF_ERROR(reserveNames());
    needOpsetOfTypes();
    for (Operation &op : graph_.getBody().front())
      write(&op);
    std::vector<std::string> outputs;
    for (unsigned i = 0; i < graph_.getReturned().size(); ++i)
      outputs.push_back(graph_.getOutputName(i).str());
    GRADUS_ASSIGN_OR_RETURN(used_,
                            writer_.finish(graph_.getReturned(), outputs));
    for (StateOp state : program_.getOps<StateOp>())
      if (used_.contains(state.getSymName()))
        add(state);
    describeModel();
    return std::move(result_);
  }

private:
  absl::Status reserveNames() {
    for (BlockArgument input : graph_.getBody().getArguments()) {
      StringRef name = graph_.getInputName(input.getArgNumber());
      describe(*proto_.add_input(), name, input.getType());
      GRADUS_RETURN_IF_ERROR(writer_.reserve(name, "an input"));
      writer_.setName(input, name.str());
    }
    for (StateOp state : program_.getOps<StateOp>())
      GRADUS_RETURN_IF_ERROR(writer_.reserve(state.getSymName(), "a state"));
    for (auto [i, value] : llvm::enumerate(graph_.getReturned()))
      if (StringRef name = graph_.getOutputName(i); !isCalled(value, name))
        GRADUS_RETURN_IF_ERROR(writer_.reserveOutput(value, name));
    return absl::OkStatus();
  }

  /// Whether a value is the input or the state of this name.
  bool isCalled(Value value, StringRef name) {
    if (auto input = dyn_cast<BlockArgument>(value))
      return graph_.getInputName(input.getArgNumber()) == name;
    auto read = value.getDefiningOp<ReadOp>();
    return read && read.getState() == name;
  }

  /// Convolutions, pools and many functions take bf16 since opset 22.
  void needOpsetOfTypes() {
    auto isBF16 = [](Type type) { return getElementTypeOrSelf(type).isBF16(); };
    Block &block = graph_.getBody().front();
    bool has = llvm::any_of(block.getArgumentTypes(), isBF16);
    for (Operation &op : block)
      has |= llvm::any_of(op.getResultTypes(), isBF16);
    if (has)
      writer_.needOpset(22);
  }

  void write(Operation *op) {
    if (auto read = dyn_cast<ReadOp>(op))
      return writer_.setName(read, read.getState().str());
    if (isa<arith::ConstantOp, ReturnOp>(op)) // written where it is used
      return;
    OpWriter w(writer_, op);
    const ExportRow *row = findExport(op);
    absl::Status status =
        row ? row->write(w, row->node)
            : w.error("ONNX has no form of the op that Gradus knows");
    if (!status.ok())
      for (Value result : op->getResults())
        writer_.refuse(result, status);
  }

  /// Adds a state with its initial value, and a mark that says what it is.
  void add(StateOp state) {
    TensorProto &tensor = *proto_.add_initializer();
    tensor.set_name(state.getSymName().str());
    auto type = cast<RankedTensorType>(state.getType());
    if (auto value = state.getValue()) {
      store(tensor, *value);
    } else {
      Attribute zero =
          Builder(program_.getContext()).getZeroAttr(type.getElementType());
      store(tensor, DenseElementsAttr::get(type, zero));
      result_.unset.insert(tensor.name());
    }
    if (const char *kind = kindOf(state))
      mark(state, kind);
  }

  /// Returns the kind of a state in the model; null for a parameter that the
  /// recipe keeps from training, which the next recipe may train.
  const char *kindOf(StateOp state) {
    if (state.getRole() == Role::parameter)
      return "PARAMETER";
    return isFixedByRecipe(state.getSymName()) ? nullptr : "BUFFER";
  }

  bool isFixedByRecipe(StringRef name) {
    auto matches = [&](StringRef key) {
      DictionaryAttr recipe = program_.getRecipeAttr();
      auto patterns = recipe ? recipe.getAs<ArrayAttr>(key) : ArrayAttr();
      return patterns && llvm::any_of(patterns, [&](Attribute each) {
               return matchesPattern(cast<StringAttr>(each).getValue(), name);
             });
    };
    DictionaryAttr recipe = program_.getRecipeAttr();
    return matches("fixed") ||
           (recipe && recipe.contains("trainable") && !matches("trainable"));
  }

  /// Marks an initializer as PyTorch's exporter does.
  void mark(StateOp state, const char *kind) {
    auto &info = *proto_.add_value_info();
    describe(info, state.getSymName(), state.getType());
    auto &mark = *info.add_metadata_props();
    mark.set_key(kKind.str());
    mark.set_value(kind);
  }

  void describeModel() {
    proto_.set_name(program_.getSymName().str());
    result_.model.set_producer_name("gradus");
    result_.model.set_ir_version(formatOf(writer_.opset()));
    result_.model.add_opset_import()->set_version(writer_.opset());
  }

  ProgramOp program_;
  GraphOp graph_;
  ProgramModel result_;
  ::onnx::GraphProto &proto_;
  GraphWriter writer_;
  llvm::StringSet<> used_;
};

} // namespace

absl::StatusOr<ProgramModel> writeProgram(ProgramOp program,
                                          bool forInference) {
  GraphOp graph = program.getGraph(well_known::kPredict);
  if (!graph)
    return invalid("has no graph @", well_known::kPredict);
  if (forInference)
    makeInference(graph);
  for (auto scan : graph.getOps<ScanOp>())
    if (int64_t(scan.getSteps()) > kMostStepsWrittenOut)
      return invalid("has a loop of ", scan.getSteps(), " steps; at most ",
                     kMostStepsWrittenOut,
                     " can be exported, as each becomes nodes of its own");
  decompose(graph);
  return ProgramWriter(program, forInference).run();
}

} // namespace gradus::onnx
