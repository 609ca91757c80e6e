// A file of numbers recorded from another implementation
// (tests/data/vectors/README.md), and comparing with it. For tests.
#pragma once

#include "compiled.h"

#include "frontends/builder/program_builder.h"

#include <nlohmann/json.hpp>

#include <set>

namespace gradus::vectors {

using Json = nlohmann::json;

/// Hyperparameters of a file. What is read of them is noted, so that one that
/// no one knows is a failure. A null is one that is not there.
class Settings {
public:
  explicit Settings(Json values) : values_(std::move(values)) {}

  bool has(const std::string &key) const;
  /// Throws, naming the key, if it is not there.
  const Json &at(const std::string &key) const;
  double number(const std::string &key) const { return at(key); }
  template <typename Value>
  Value value(const std::string &key, Value otherwise) const {
    return has(key) ? at(key).get<Value>() : otherwise;
  }
  /// Of keys that change nothing here.
  void ignore(const std::set<std::string> &keys) const;
  const std::set<std::string> &read() const { return read_; }
  /// The test fails for each key that was not read.
  void expectAllRead() const;

private:
  Json values_;
  mutable std::set<std::string> read_;
};

class VectorFile {
public:
  /// `device` is the one that a case is to be run on.
  explicit VectorFile(const std::string &path, std::string device = "cpu");

  const std::string &device() const { return device_; }
  std::string kind() const { return json_.at("kind"); }
  /// Of a trajectory.
  const Json &recipe() const { return json_.at("recipe"); }
  const Json &hyperparameters() const { return json_.at("hyperparameters"); }
  const Json &inputs() const { return json_.at("inputs"); }
  const Json &expected() const { return json_.at("expected"); }
  /// "torch.optim.Adam".
  std::string api() const;
  /// "Adam" of "torch.optim.Adam".
  std::string className() const;

  /// Expects numbers to be those of a recorded tensor within the file's
  /// tolerance; `step` picks one along its leading axis. Names the worst.
  /// `rounding` times the tensor's largest element is allowed for all.
  void expectNear(const std::string &what, const std::vector<double> &found,
                  const Json &tensor, int64_t step = -1,
                  double rounding = 0) const;
  /// The same with the tolerance of losses.
  void expectLoss(int64_t step, double found, const Json &losses) const;

private:
  Json json_;
  std::string device_;
};

/// A file, and a name for its test: letters, digits and `_`, no two alike.
struct Recording {
  std::string name, path;
};
inline void PrintTo(const Recording &recording, std::ostream *stream) {
  *stream << recording.path;
}

/// Every .json file of tests/data/vectors, tests/data/trajectories and of the
/// folders in GRADUS_VECTORS, which `:` separates. A folder that is not there
/// stands for itself.
std::vector<Recording> recordings();

/// A number, or a string such as "inf".
double numberOf(const Json &value);
/// The numbers of a recorded tensor; `step` picks one along its leading axis.
std::vector<double> numbersOf(const Json &tensor, int64_t step = -1);
/// The same as a tensor of a shape.
HostTensor tensorOf(const Json &tensor, llvm::ArrayRef<int64_t> shape,
                    int64_t step = -1);
std::vector<int64_t> shapeOf(const Json &tensor);

/// A recipe, given by its keys that differ from the defaults, as the attribute
/// of a program in text. Throws what is wrong with it.
std::string recipeText(const Json &recipe);
/// The text of a program that is built now, with that recipe. The test fails
/// where it cannot be built.
std::string textOf(ProgramBuilder &net, const Json &recipe);

// By optimizer_case.cpp, schedule_case.cpp, training_case.cpp,
// less_bn_case.cpp, freeze_case.cpp, dim_reduce_case.cpp, thor_case.cpp and
// adasum_case.cpp.

void checkOptimizer(const VectorFile &file);
void checkSchedule(const VectorFile &file);
void checkLossScale(const VectorFile &file);
void checkGroupLossScale(const VectorFile &file);
void checkTraining(const VectorFile &file);
/// With accumulation, a loss scale or both.
void checkGuardedTraining(const VectorFile &file);
void checkCentralization(const VectorFile &file);
void checkLessBn(const VectorFile &file);
void checkFreezeGroups(const VectorFile &file);
void checkFreezeSequence(const VectorFile &file);
void checkFreezeRun(const VectorFile &file);
/// A run whose recipe stands in the file and of which a part rests.
void checkRestingRun(const VectorFile &file);
void checkDimReduce(const VectorFile &file);
void checkThor(const VectorFile &file);
/// On ranks that are threads.
void checkAdasum(const VectorFile &file);
/// Our own recorded runs, whose recipe stands in the file.
void checkTrajectory(const VectorFile &file);

/// The recipe's `optimizer` and what belongs to it (schedule, clip, loss scale)
/// for an optimizer of another framework. The test fails for a hyperparameter
/// that is not known, but those in `ignored`; it throws where there is none.
Json optimizerRecipe(const VectorFile &file, const std::string &api,
                     const std::vector<std::string> &ignored);
/// "mindspore.nn.Momentum" of an api that ends "..., mindspore.nn.Momentum" or
/// "... + Momentum".
std::string optimizerOf(const VectorFile &file);

} // namespace gradus::vectors
