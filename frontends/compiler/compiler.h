// From a model file to an artifact, as one interface of plain types: what
// libgradus_compiler.so offers to the tool, which opens it only when needed.

#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
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
  std::string ownName = {}; // in its file, where that is another
};

/// By which algorithm a card computes a call of a library fastest.
struct TunedChoice {
  std::string call; // runtime/library_text.h
  std::string card, library, algorithm;
};

/// Which model, and how it becomes a training step.
struct Request {
  std::string model;                  // .onnx or .mlir
  std::string recipe;                 // a JSON file; empty: the defaults
  std::string recipeText;             // JSON itself, instead of a file
  std::vector<std::string> overrides; // `key=value` over the recipe's
  /// More of them, each with the flag that it comes from.
  std::vector<std::pair<std::string, std::string>> flags;
  std::vector<std::string> dims; // `batch=32` over the recipe's inputs.dims
  std::string memoryLimit;       // "2GiB" over the recipe's memory_limit
  std::vector<Weight> weights;   // over the model's initializers
  std::string weightsFile;       // where they come from, for errors
  std::string initialize;        // rule for weights whose data file is missing
  std::vector<std::string>
      targets;                    // "cpu", "cpu:x86-64-v3"; empty: this machine
  std::string libraries = "auto"; // which products are theirs: never, always
  std::vector<std::string> plugins; // shared libraries with passes
  std::string stopAfter;            // a stage; empty: all, to an artifact
  bool printWeights = false;        // in Result::ir also those of large states
  int threads = 0; // logical threads of the plan; 0: one per core
  /// Where compiled GPU kernels are kept: a folder, or "off"; empty: where
  /// caches of this user lie.
  std::string kernelCache;
  bool report = false; // what each stage did, in Result::report
  bool trace = false;  // what each pass did, in Result::trace
  /// Outputs of `train` besides the loss: `gradient.<parameter>` of each.
  bool gradientOutputs = false;
  /// And before them the last value of each model node, by its place.
  bool nodeOutputs = false;
  std::vector<TunedChoice> tuning; // at most one a card for each call
  /// Takes the artifact at its offsets as it is made, the header last, so that
  /// it is nowhere in memory as a whole; empty: it is in Result::artifact.
  std::function<absl::Status(uint64_t offset, std::span<const char> bytes)>
      write;
};

/// What a graph holds between two passes.
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
  int64_t remarks = 0; // that it made
  ProgramCount before, after;
};

/// What a pass said that it did or why it did not.
struct PassRemark {
  std::string pass, name;
  std::string kind;  // "done", "left", "failed" or "note"
  std::string place; // node "/conv1/Conv", or empty
  std::string text;
};

/// Which variant of a graph runs at step k.
struct StepSchedule {
  struct Change {
    int64_t step;
    int variant;
  };
  std::string graph;
  std::vector<std::string> variants;
  int64_t period = 0;          // steps after which it begins again; 0: never
  std::vector<double> shares;  // of a period, of each variant
  std::vector<int> first;      // the variants of the first steps
  std::vector<Change> changes; // without a period: from a step on
};

struct RatePoint {
  int64_t step = 0;
  double rate = 0;
};

/// A compilation as it went, for a report.
struct Trace {
  std::vector<PassRecord> passes; // in the order in which they ran
  std::vector<PassRemark> remarks;
  std::vector<StepSchedule> schedules;
  std::vector<RatePoint> learningRate;
};

struct Result {
  /// The file's bytes, unless stopped before or by Request::write.
  std::vector<char> artifact;
  std::string ir;     // where it stopped, as text
  std::string report; // of --report
  Trace trace;        // of Request::trace
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
  // Of an .onnx file, also where it cannot be compiled:
  std::vector<std::string> parameters, fixed; // "fc.weight 10x84xf32"
  std::vector<std::string> missing;           // data files that are not there
  std::vector<std::string> warnings;
  std::string unsupported; // why it cannot be compiled; no counts and ops then
  /// Sizes that --dim must say; the inputs have these names in place of numbers
  /// then, and there are no counts and ops either.
  std::vector<std::string> unknownSizes;
};

/// What is taken of one op of ONNX.
struct OnnxOp {
  std::string name;
  int64_t since = 0, newest = 0; // versions of the operator set
  std::string gradient; // inputs that pass gradients on, "X, W"; empty: none
  std::string refused;  // forms that are not taken, in words
  std::vector<std::string> devices;
};

/// Values of an output of `train`, of f32 or f64.
struct OutputValues {
  std::string output;
  std::string dtype;
  std::vector<double> values;
};

/// How far a compiled output is from what the reference evaluator makes of the
/// compiled values before it, in f64.
struct Comparison {
  std::string output;
  double deviation = 0; // the largest of its elements
  double largest = 0;   // magnitude of an element of the evaluator's
  double unit = 0;      // what one rounding to its type may change, relatively
  double roundings = 0; // how far roundings alone have carried it

  /// What asks for no explanation: the results of both sides rounded, and
  /// functions of elements, which are good to some units of f32, or of f64.
  double usual() const {
    return (16 * std::min(unit, 0x1p-24) + 2 * unit) * largest;
  }
};

/// What training did to an input before the model: (input - mean) / std, with
/// one number for all or one a channel.
struct InputNormalization {
  std::string input;
  std::vector<float> mean, std;
};

/// Trained values to go back into an .onnx file.
struct ExportRequest {
  std::string model;
  std::vector<Weight> weights;
  bool inference = false; // no training form of normalization and dropout
  std::vector<InputNormalization> normalizations;
  bool withNormalization = false;      // the model does it itself from now on
  std::map<std::string, int64_t> dims; // sizes for symbolic dimensions
  std::string dataName; // of the data file of a model too large for one
};

struct Exported {
  std::string model, data;                // bytes; no data: all in the model
  std::vector<std::string> written, kept; // names of initializers
  std::vector<std::string> read;          // data files that the model names
  /// Inputs that the model wants normalized by whoever runs it.
  std::vector<std::string> wantNormalized;
  /// Coins of which `inference` need not make PyTorch's eval.
  int addedCoins = 0;
};

/// A recipe that was read and checked.
struct CheckedRecipe {
  std::string json;                 // with all defaults
  std::vector<std::string> remarks; // what it says without effect
};

class Compiler {
public:
  virtual ~Compiler() = default;
  virtual absl::StatusOr<Result> compile(const Request &request) = 0;
  virtual absl::StatusOr<ModelInfo> inspect(const Request &request) = 0;
  /// All ops that the import of models knows, by name.
  virtual std::vector<OnnxOp> onnxOps() = 0;
  /// One step of `train` with these inputs, compared with a compiled one by
  /// its outputs, in the graph's order; the graph is that of compile() with the
  /// same request. Outputs that only one of the two has are left out. How far
  /// roundings carry is found out, if that is asked for, where a deviation is
  /// more than usual.
  virtual absl::StatusOr<std::vector<Comparison>>
  compare(const Request &request, const std::vector<Weight> &inputs,
          const std::vector<OutputValues> &compiled, bool explains) = 0;
  virtual absl::StatusOr<Exported>
  exportModel(const ExportRequest &request) = 0;
  virtual std::string recipeSchema() = 0;
  virtual absl::StatusOr<CheckedRecipe>
  readRecipe(const std::string &path,
             const std::vector<std::string> &overrides) = 0;
};

/// The library's one function. The process of who calls it ends with words and
/// exit code 1 where it runs out of memory (out_of_memory.h).
using Entry = Compiler *();
inline constexpr const char *kEntry = "gradus_compiler";

} // namespace gradus::compiler
