// The compiler as one interface of plain types, from a model file to an
// artifact. libgradus_compiler.so implements it; the tool opens the library
// only when needed.

#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gradus::compiler {

/// Initial values of a state, by name.
struct Weight {
  std::string name;
  std::string dtype; // "f32"
  std::vector<int64_t> shape;
  std::span<const uint8_t> bytes;
  std::string ownName = {}; // the name in the file, if it differs
};

/// The fastest algorithm that was measured on a GPU for a library call.
struct TunedChoice {
  std::string call; // runtime/library_text.h
  std::string card, library, algorithm;
};

/// A compiled program in an artifact, which is compiled again.
struct CarriedProgram {
  std::string compiler; // which wrote it, "gradus 0.1.0 (MLIR ...)"
  std::span<const uint8_t> bytecode; // empty: compiled with --no-program
  std::string recipe;                // JSON
  std::vector<Weight> values;        // of states
};

/// A model in memory, which must live as long as the compilation.
struct ModelBytes {
  std::span<const uint8_t> bytes;
  bool isText = false; // a program (.mlir) rather than ONNX
  /// Whether data files are looked for in the folder of Request::model.
  bool hasFolder = false;
  /// Data files in memory, by the names that the model has for them; they live
  /// as long, and come before those of the folder.
  std::map<std::string, std::span<const uint8_t>> dataFiles = {};
};

/// An error or a warning about a model.
struct ModelDiagnostic {
  bool isError = false;
  std::string place; // node "/conv1/Conv", line 3:5; or empty
  std::string text;
};

/// The recipe: a file or a text, and what the command line sets over it.
struct RecipeSource {
  std::string file;                   // JSON; empty: the defaults
  std::string text;                   // JSON itself, instead of a file
  std::vector<std::string> overrides; // `key=value`
  /// More overrides, each with the option that set it.
  std::vector<std::pair<std::string, std::string>> flags;
  /// Values of flags of keys (Compiler::recipeFlags): "true" of one that stands
  /// alone; empty: it was not given.
  std::map<std::string, std::string> keyFlags;
  std::string memoryLimit; // "2GiB" over the key memory_limit
};

/// Values that stand in place of the model's initializers.
struct GivenWeights {
  std::vector<Weight> values;
  std::string file; // where `values` are from, for errors
  std::string rule; // for weights whose data file is missing
};

/// Directions in the space of the parameters (`gradus basis`).
struct BasisFile {
  /// Each part is of a parameter, f32 [directions, shape of the parameter].
  /// There is one at least, and all have as many directions.
  std::vector<Weight> parts;
  std::shared_ptr<const void> owner; // of their bytes
  /// Reads all values and checks them: called last, when the rest is fine.
  std::function<absl::Status()> verify;
};

/// The options by which plans are made of the program.
struct PlanOptions {
  std::vector<std::string>
      targets;                    // "cpu", "cpu:x86-64-v3"; empty: this machine
  std::string libraries = "auto"; // use for matmuls: auto, never, always
  std::string epilogues = "all";  // of matmuls on GPUs: all, bias, none
  int threads = 0; // logical threads of the plan; 0: one per core
  /// The cache of compiled GPU kernels: a folder, or "off"; empty: the user's
  /// cache folder.
  std::string kernelCache;
  std::vector<TunedChoice> tuning; // at most one for each GPU and call
};

/// The parts that the result of a compilation shall have.
struct WantedResult {
  std::string stopAfter;     // a stage; empty: all, to an artifact
  bool withProgram = true;   // the artifact carries its program
  bool printWeights = false; // Result::ir also has those of large states
  bool report = false;       // what each stage did, in Result::report
  bool trace = false;        // what each pass did, in Result::trace
  /// Adds `gradient.<parameter>` of each parameter to the outputs of `train`.
  bool gradientOutputs = false;
  /// Adds the last value of each model node, by its location, before the
  /// gradients.
  bool nodeOutputs = false;
  /// See CompileOptions of codegen/compile.h.
  bool mayExceedLimit = false;
  /// Is told of each diagnostic when it is made, besides the words of the
  /// status and Result::warnings; may be empty.
  std::function<void(const ModelDiagnostic &)> tell;
  /// Receives the artifact piece by piece with its offset, the header last, so
  /// that memory never holds all of it. If empty, the artifact is in
  /// Result::artifact.
  std::function<absl::Status(uint64_t offset, std::span<const char> bytes)>
      write;
};

/// The model and the options with which it becomes a training step.
struct Request {
  std::string model; // .onnx or .mlir
  /// Stands in place of the file `model`, which is a name for errors then.
  std::optional<ModelBytes> bytes;
  /// Stands in place of the file `model`, the artifact that carries it.
  std::optional<CarriedProgram> carried;
  RecipeSource recipe;
  std::vector<std::string> dims; // `batch=32` over the recipe's inputs.dims
  GivenWeights weights;
  /// Opens a basis that the recipe names, and checks what needs neither the
  /// model nor its values; empty: a recipe with one is refused.
  std::function<absl::StatusOr<BasisFile>(const std::string &path)> openBasis;
  /// Names in errors what that gives in place of the recipe's file; empty: it
  /// gives that file.
  std::string givenBasis;
  std::vector<std::string> plugins; // shared libraries with passes
  PlanOptions plan;
  WantedResult wanted;
};

/// The size of a graph between two passes.
struct GraphCount {
  std::string name;
  int64_t ops = 0, flops = 0;
  int64_t bytes = 0; // of all its values
};

struct ProgramCount {
  std::vector<GraphCount> graphs;
  int64_t parameters = 0, parameterElements = 0;
  int64_t stateBytes = 0;
};

struct PassRecord {
  std::string stage, pass; // "methods", "clip-gradients"
  double milliseconds = 0;
  int64_t remarks = 0; // made by this pass
  ProgramCount before, after;
};

/// A remark of a pass: what it did, or why it did nothing.
struct PassRemark {
  std::string pass, name;
  std::string kind;  // "done", "left", "failed" or "note"
  std::string place; // node "/conv1/Conv", or empty
  std::string text;
};

/// The variant of a graph that runs at each step.
struct StepSchedule {
  struct Change {
    int64_t step;
    int variant;
  };
  std::string graph;
  std::vector<std::string> variants;
  int64_t period = 0;          // steps until the schedule repeats; 0: never
  std::vector<double> shares;  // the share of each variant in a period
  std::vector<int> first;      // the variants of the first steps
  std::vector<Change> changes; // if not periodic: the variant from a step on
};

struct RatePoint {
  int64_t step = 0;
  double rate = 0;
};

/// The learning rate over time.
struct RateCourse {
  std::vector<RatePoint> points;
  std::string run; // the run that is assumed; empty: any
};

/// The course of a compilation, for a report.
struct Trace {
  std::vector<PassRecord> passes; // in the order in which they ran
  std::vector<PassRemark> remarks;
  std::vector<StepSchedule> schedules;
  RateCourse learningRate;
  std::map<std::string, std::string> modules; // of the model's nodes, by name
};

struct Result {
  /// The artifact; empty if compilation stopped before, or if
  /// WantedResult::write got it.
  std::vector<char> artifact;
  std::string ir;     // the program at the stage where it stopped
  std::string report; // of --report
  Trace trace;        // of WantedResult::trace
  std::vector<std::string> warnings;
};

/// One op of a model.
struct OpCount {
  std::string name;
  int64_t count = 0;
  int64_t flops = 0;
};

/// Parameters that the recipe treats alike.
struct GroupInfo {
  std::string name;
  int64_t elements = 0;
  std::vector<std::string> parameters;
};

struct ModelInfo {
  std::vector<std::string> inputs, outputs; // "image 32x1x28x28xf32"
  std::vector<OpCount> ops;
  int64_t parameterCount = 0, parameterElements = 0;
  int64_t flops = 0; // of one forward pass
  std::vector<GroupInfo> groups;
  // The fields below describe an .onnx file, even if it cannot be compiled.
  std::vector<std::string> parameters, fixed; // "fc.weight 10x84xf32"
  std::vector<std::string> missing;           // data files that are not there
  std::vector<std::string> warnings;
  std::string unsupported; // why it cannot be compiled; no counts and ops then
  /// Symbolic sizes that --dim must set. The inputs show their names instead of
  /// numbers then, and there are no counts and ops.
  std::vector<std::string> unknownSizes;
};

/// The support of one ONNX op.
struct OnnxOp {
  std::string name;
  int64_t since = 0, newest = 0; // versions of the operator set
  std::string gradient; // inputs that pass gradients on, "X, W"; empty: none
  std::string refused;  // forms that are not supported, in words
  std::string ignored;  // attributes without effect, with the reason
  std::vector<std::string> devices;
};

/// The values of an output of `train`, of f32 or f64.
struct OutputValues {
  std::string output;
  std::string dtype;
  std::vector<double> values;
};

/// The deviation of a compiled output from the reference evaluator, which
/// computes it in f64 from the compiled values before it.
struct Comparison {
  std::string output;
  double deviation = 0; // largest of all elements
  double largest = 0;   // largest magnitude of the evaluator's elements
  double unit = 0;      // relative change by one rounding to the type
  double roundings = 0; // deviation that roundings alone can cause

  /// The deviation that needs no explanation: both sides round their results,
  /// and elementwise functions are accurate to some units of f32, or of f64.
  double usual() const {
    return (16 * std::min(unit, 0x1p-24) + 2 * unit) * largest;
  }
};

/// The normalization that training applied to an input: (input - mean) / std,
/// with one number for all channels or one for each.
struct InputNormalization {
  std::string input;
  std::vector<float> mean, std;
};

/// Trained values to write as an .onnx file: back into the model's, or with the
/// program of an artifact.
struct ExportRequest {
  std::string model;
  /// Stands in place of the file `model`, the artifact that carries it.
  std::optional<CarriedProgram> carried;
  std::vector<std::string> plugins; // shared libraries that its recipe names
  std::vector<Weight> weights;
  bool inference = false; // drop the training form of normalization, dropout
  std::vector<InputNormalization> normalizations;
  bool withNormalization = false;      // the model normalizes by itself
  std::map<std::string, int64_t> dims; // sizes for symbolic dimensions
  std::string dataName;                // name of the data file of a large model
};

struct Exported {
  std::string model, data;                // bytes; no data: all in the model
  std::vector<std::string> written, kept; // names of initializers
  std::vector<std::string> read;          // data files that the model names
  /// Inputs that the caller of the model must normalize.
  std::vector<std::string> wantNormalized;
};

/// A key of the recipe as a flag of the command line.
struct RecipeFlag {
  std::string name; // "--less-bn"
  std::string help;
  std::string form; // of its value, "f32|bf16|f16"; empty: may stand alone
};

/// A recipe that was read and checked.
struct CheckedRecipe {
  std::string json;                 // with all defaults
  std::vector<std::string> remarks; // keys that have no effect, in words
};

class Compiler {
public:
  virtual ~Compiler() = default;
  virtual absl::StatusOr<Result> compile(const Request &request) = 0;
  virtual absl::StatusOr<ModelInfo> inspect(const Request &request) = 0;
  /// All ops that the importer knows, by name.
  virtual std::vector<OnnxOp> onnxOps() = 0;
  /// Evaluates one step of `train` on these inputs and compares its outputs
  /// with the compiled ones, in the graph's order. The graph is that of
  /// compile() with the same request; outputs that only one side has are left
  /// out. With `explains`, finds out how far rounding alone moves an output
  /// whose deviation is more than usual.
  virtual absl::StatusOr<std::vector<Comparison>>
  compare(const Request &request, const std::vector<Weight> &inputs,
          const std::vector<OutputValues> &compiled, bool explains) = 0;
  virtual absl::StatusOr<Exported>
  exportModel(const ExportRequest &request) = 0;
  virtual std::string recipeSchema() = 0;
  virtual std::vector<RecipeFlag> recipeFlags() = 0;
  /// Loads the request's plug-ins and reads its recipe; it needs no model.
  virtual absl::StatusOr<CheckedRecipe> readRecipe(const Request &request) = 0;
  /// Loads shared libraries with passes; those that are loaded stay so.
  virtual absl::Status loadPlugins(const std::vector<std::string> &paths) = 0;
};

/// The library's function for the tool; runtime/compiler_abi.h has that for
/// other programs. The calling process ends with a message and exit
/// code 1 if it runs out of memory (out_of_memory.h).
using Entry = Compiler *();
inline constexpr const char *kEntry = "gradus_compiler";

/// The compiler itself, for the library's functions.
Compiler &compiler();

} // namespace gradus::compiler
