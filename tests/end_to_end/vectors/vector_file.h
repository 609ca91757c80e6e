// A file of numbers recorded from another implementation
// (tests/data/vectors/README.md), and comparing with it. For tests.
#pragma once

#include "compiled.h"

#include <nlohmann/json.hpp>

namespace gradus::vectors {

using Json = nlohmann::json;

class VectorFile {
public:
  explicit VectorFile(const std::string &path);

  std::string kind() const { return json_["kind"]; }
  /// Of a trajectory.
  const Json &recipe() const { return json_["recipe"]; }
  const Json &hyperparameters() const { return json_["hyperparameters"]; }
  const Json &inputs() const { return json_["inputs"]; }
  const Json &expected() const { return json_["expected"]; }
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
};

/// Every .json file of tests/data/vectors, tests/data/trajectories and of the
/// folder GRADUS_VECTORS.
std::vector<std::string> vectorFiles();

/// The numbers of a recorded tensor; `step` picks one along its leading axis.
std::vector<double> numbersOf(const Json &tensor, int64_t step = -1);
/// The same as a tensor of a shape.
HostTensor tensorOf(const Json &tensor, llvm::ArrayRef<int64_t> shape,
                    int64_t step = -1);
std::vector<int64_t> shapeOf(const Json &tensor);

/// A recipe, given by its keys that differ from the defaults, as the attribute
/// of a program in text.
std::string recipeText(const Json &recipe);

// By optimizer_case.cpp, schedule_case.cpp, training_case.cpp, less_bn_case.cpp
// and freeze_case.cpp.

void checkOptimizer(const VectorFile &file);
void checkSchedule(const VectorFile &file);
void checkLossScale(const VectorFile &file);
void checkTraining(const VectorFile &file);
void checkAccumulation(const VectorFile &file);
void checkLossScaleTraining(const VectorFile &file);
void checkCentralization(const VectorFile &file);
void checkLessBn(const VectorFile &file);
void checkFreezeGroups(const VectorFile &file);
void checkFreezeSequence(const VectorFile &file);
void checkFreezeRun(const VectorFile &file);
/// Our own recorded runs, whose recipe stands in the file.
void checkTrajectory(const VectorFile &file);

/// The recipe's `optimizer` and what belongs to it (schedule, clip, loss scale)
/// for an optimizer of another framework. The test fails for a hyperparameter
/// that is not known, but those in `ignored`.
Json optimizerRecipe(const VectorFile &file, const std::string &api,
                     const std::vector<std::string> &ignored);

} // namespace gradus::vectors
