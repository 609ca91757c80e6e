// gradus basis: the principal components of a run's checkpoints, by the names
// of parameters, and the checkpoints' mean.

#include "messages/json_text.h"
#include "messages/printable.h"
#include "messages/shell_word.h"
#include "runtime/artifact/artifact.h"
#include "runtime/artifact_hash.h"
#include "runtime/flat.h"
#include "runtime/float_conversion.h"
#include "runtime/session/checkpoint.h"
#include "runtime/session/session_facts.h"
#include "tool/basis/snapshots.h"
#include "tool/commands.h"
#include "tool/failure.h"
#include "tool/foreign_file.h"
#include "tool/number_options.h"
#include "tool/output_files.h"
#include "tool/session/averages.h"
#include "tool/session/session_options.h"
#include "tool/text.h"
#include "tool/train/former_run.h"
#include "training/data/formats.h"
#include "training/principal_components.h"

#include "absl/strings/match.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>

using namespace gradus::runtime;
using nlohmann::ordered_json;

namespace gradus::cli {
namespace {

struct BasisOptions {
  std::string artifact;
  std::vector<std::string> checkpoints;
  size_t components = 0; // 0: not given
  std::string output, mean, matrix;
  bool json = false;
};

constexpr const char *kFooter =
    R"(The artifact says which tensors of the checkpoints are parameters. Each of them
becomes a tensor of the same name with one axis more in front, the components:
directions of all parameters together, orthonormal, in the order of the variance
along them. `gradus train --keep` keeps several checkpoints of a run.
--mean writes a checkpoint with the mean of parameters, of their averages (`ema`) and
slow weights, and of running statistics, and all else as in the newest one: a
network that is often better than each of them.

Examples:
  gradus train lenet.gradus --data train.safetensors --epochs 20 \
      --checkpoint-every 1epochs --keep 12
  gradus basis lenet.gradus lenet.step*.safetensors --components 8 -o basis.safetensors
  gradus basis lenet.gradus lenet.step*.safetensors --mean mean.safetensors
  gradus evaluate lenet.gradus --checkpoint mean.safetensors --data test.safetensors
  gradus basis lenet.gradus --from-npy pca_mat.npy -o basis.safetensors)";

/// In the metadata of a mean: the steps of what it is the mean of.
constexpr const char *kMeanOf = "mean_of";

//===-- what is asked for -------------------------------------------------===//

void checkWanted(const BasisOptions &options) {
  size_t count = options.checkpoints.size();
  if (options.output.empty() && options.mean.empty())
    throw badInput("expected -o FILE for the basis, --mean FILE, or both");
  if (!options.matrix.empty() && (count > 0 || options.output.empty()))
    throw badInput("--from-npy ", options.matrix,
                   ": expected -o FILE and no checkpoints");
  if (!options.matrix.empty())
    return;
  if (count < 2)
    throw badInput("expected two checkpoints or more behind the artifact, "
                   "found ",
                   count);
  if (options.output.empty() != (options.components == 0))
    throw badInput(options.output.empty()
                       ? "--components: expected -o FILE beside it"
                       : "-o: expected --components K beside it");
  if (options.components >= count)
    throw badInput("--components ", options.components, ": ", count,
                   " checkpoints differ along at most ", count - 1,
                   " directions; expected 1 to ", count - 1,
                   ", or more checkpoints");
}

/// A mean that this command has written may be written anew.
void checkHoldsNoOtherState(const std::string &path) {
  auto file = Safetensors::open(path);
  if (!file.ok() || !file->metadata().contains(kMeanOf))
    checkHoldsNoState("--mean", path);
}

void checkFiles(const BasisOptions &options) {
  std::vector<UsedFile> inputs = {{"the artifact", options.artifact},
                                  {"--from-npy", options.matrix}};
  for (const std::string &path : options.checkpoints)
    inputs.push_back({"the checkpoint", path});
  checkOutputFiles({{"-o", options.output}, {"--mean", options.mean}}, inputs);
  for (const std::string &path : {options.output, options.mean})
    if (!path.empty() && !absl::EndsWith(path, ".safetensors"))
      throw badInput(path, ": expected a name that ends in .safetensors");
  if (!options.output.empty())
    checkHoldsNoState("-o", options.output);
  if (!options.mean.empty())
    checkHoldsNoOtherState(options.mean);
  checkWritable({options.output, options.mean});
}

std::shared_ptr<const Artifact> openArtifact(const std::string &path) {
  if (isArtifact(path))
    return take(Artifact::open(path));
  if (absl::EndsWith(path, ".safetensors"))
    throw badInput(path, ": is no artifact; expected that of the run first, "
                         "which says what parameters are, and then the "
                         "checkpoints: gradus basis STEP.gradus FILE...");
  refuseForeign(path, Wanted::artifact);
  return take(Artifact::open(path));
}

/// The states of these roles that are floating-point numbers.
std::vector<StateInfo> statesOf(const Artifact &artifact,
                                std::initializer_list<artifact::Role> roles) {
  std::vector<StateInfo> states = stateInfosOf(artifact.header());
  std::erase_if(states, [&](const StateInfo &state) {
    bool isWanted =
        std::find(roles.begin(), roles.end(), state.role) != roles.end();
    return !isWanted || !areFloats(nameOf(state.type.dtype), "f64");
  });
  return states;
}

//===-- the basis ---------------------------------------------------------===//

/// Reads numbers from `begin` to `end` of rows from `first` on, for as many as
/// there is room for.
using ReadRows = std::function<Status(size_t first, size_t begin, size_t end,
                                      std::span<float> numbers)>;

/// The basis that is written, but for its numbers.
struct Basis {
  std::vector<StateInfo> parameters;
  size_t components = 0;
  std::map<std::string, std::string> metadata;

  size_t numbers() const {
    size_t sum = 0;
    for (const StateInfo &parameter : parameters)
      sum += elementsOf(parameter);
    return sum;
  }
};

/// A hash of the names and shapes of the parameters, in their order.
std::string layoutHash(const std::vector<StateInfo> &parameters) {
  std::string text;
  for (const StateInfo &parameter : parameters)
    append(text, parameter.name, " ",
           toString({DType::f32, parameter.type.shape}), "\n");
  return inHex(artifact::hashBytes(
      reinterpret_cast<const uint8_t *>(text.data()), text.size()));
}

Basis basisOf(const Artifact &artifact, size_t components) {
  Basis basis{statesOf(artifact, {artifact::Role::parameter}), components, {}};
  if (basis.numbers() == 0)
    throw badInput(artifact.path(), ": has no parameters");
  basis.metadata = {{"format", "gradus_basis"},
                    {"program", textOf(artifact.header().name())},
                    {"components", inWords(components)},
                    {"layout_hash", layoutHash(basis.parameters)}};
  return basis;
}

std::span<const uint8_t> raw(std::span<const float> numbers) {
  return {reinterpret_cast<const uint8_t *>(numbers.data()),
          numbers.size_bytes()};
}

/// Writes each parameter's rows, of as many components at a time as fit into
/// some memory.
void write(const Basis &basis, const std::string &path, const ReadRows &read) {
  constexpr size_t kMostNumbers = size_t(1) << 26;
  std::vector<NamedTensor> tensors;
  for (const StateInfo &parameter : basis.parameters) {
    NamedTensor tensor{parameter.name, {DType::f32, parameter.type.shape}, {}};
    tensor.type.shape.insert(tensor.type.shape.begin(),
                             static_cast<int64_t>(basis.components));
    tensors.push_back(std::move(tensor));
  }
  TensorsWriter writer =
      take(TensorsWriter::create(path, std::move(tensors), basis.metadata));
  size_t begin = 0;
  std::vector<float> rows;
  for (const StateInfo &parameter : basis.parameters) {
    size_t size = elementsOf(parameter), end = begin + size;
    size_t most = std::max<size_t>(kMostNumbers / std::max<size_t>(size, 1), 1);
    for (size_t first = 0; first < basis.components; first += most) {
      rows.resize(std::min(most, basis.components - first) * size);
      check(read(first, begin, end, rows));
      check(writer.write(raw(rows)));
    }
    begin = end;
  }
  check(writer.commit());
}

//===-- of checkpoints ----------------------------------------------------===//

ordered_json stepsOf(const Snapshots &snapshots) {
  ordered_json steps = ordered_json::array();
  for (const auto &snapshot : snapshots.all())
    steps.push_back(snapshot.step ? ordered_json(*snapshot.step) : nullptr);
  return steps;
}

ordered_json ratiosOf(const training::PrincipalComponents &components) {
  ordered_json ratios = ordered_json::array();
  for (double variance : components.variances())
    ratios.push_back(variance / components.totalVariance());
  return ratios;
}

/// Computes and writes the basis; returns what there is to say of it.
ordered_json writeComponents(const BasisOptions &options,
                             const Snapshots &snapshots, Basis basis) {
  SnapshotVectors vectors(snapshots, basis.parameters);
  auto components =
      take(training::PrincipalComponents::of(vectors, options.components));
  ordered_json facts = {{"explained_variance", components.variances()},
                        {"explained_variance_ratio", ratiosOf(components)}};
  for (const auto &[key, value] : facts.items())
    basis.metadata[key] = jsonText(value);
  basis.metadata["snapshots"] = inWords(snapshots.all().size());
  basis.metadata["steps"] = jsonText(stepsOf(snapshots));
  write(basis, options.output,
        [&](size_t first, size_t begin, size_t end, std::span<float> numbers) {
          return components.read(first, begin, end, numbers);
        });
  return facts;
}

/// Converts a mean, from the element `begin` of a state on, to the state's
/// type, which may have no finite number for it.
void convertMean(const StateInfo &state, size_t begin, std::span<double> mean,
                 std::vector<uint8_t> &converted, const std::string &path) {
  const char *wide = nameOf(DType::f64), *type = nameOf(state.type.dtype);
  std::vector<double> back(mean.size());
  converted.resize(mean.size() * bytesOf(state.type.dtype));
  convertFloats(wide, type, mean.data(), converted.data(), mean.size());
  convertFloats(type, wide, converted.data(), back.data(), mean.size());
  for (size_t i = 0; i < mean.size(); ++i)
    if (!std::isfinite(back[i]))
      throw badInput(path, ": the mean of ", state.name, " is ", mean[i],
                     " at element ", begin + i,
                     ": expected a finite number of ", type);
}

/// Writes the mean of a state, piece by piece.
void writeMean(const SnapshotVectors &vectors, const StateInfo &state,
               size_t first, TensorsWriter &writer, const std::string &path) {
  constexpr size_t kPiece = size_t(1) << 16;
  size_t size = elementsOf(state);
  std::vector<double> mean;
  std::vector<uint8_t> converted;
  for (size_t begin = 0; begin < size; begin += mean.size()) {
    mean.resize(std::min(kPiece, size - begin));
    check(training::readMean(vectors, first + begin, mean));
    convertMean(state, begin, mean, converted, path);
    check(writer.write(converted));
  }
}

/// Running statistics are of the networks that were trained, and those of the
/// network of the mean may be far from their mean.
void noteStatistics(const BasisOptions &options, const Snapshots &snapshots,
                    const std::vector<StateInfo> &averaged) {
  const Safetensors &oldest = snapshots.all().front().file,
                    &newest = snapshots.newest().file;
  auto hasMoved = [&](const StateInfo &state) {
    return state.role == artifact::Role::buffer &&
           !std::ranges::equal(oldest.find(state.name)->data,
                               newest.find(state.name)->data);
  };
  auto first = std::find_if(averaged.begin(), averaged.end(), hasMoved);
  if (first != averaged.end())
    note(absl::StrCat(
        options.mean, ": its running statistics, such as ", first->name,
        ", are means of those of other networks; steps at a rate of 0 make its "
        "own: gradus train ",
        shellWord(options.artifact), " --init ", shellWord(options.mean),
        " --set optimizer.learning_rate=0 --data ..."));
}

/// The newest checkpoint's copies of parameters among `weights` that follow
/// them from update to update. All snapshots must have them, and none may be
/// from before the first update, where they hold nothing yet, if others are
/// not.
std::vector<StateInfo> copiesOf(const std::vector<StateInfo> &weights,
                                const Snapshots &snapshots) {
  std::vector<StateInfo> copies;
  for (const NamedTensor &tensor : snapshots.newest().file.tensors()) {
    int weight = findName(weights, copiedName(tensor.name));
    if (weight < 0 || weights[weight].role != artifact::Role::parameter)
      continue;
    copies.push_back(weights[weight]);
    copies.back().name = tensor.name;
  }
  snapshots.verify(copies);
  auto hasBegun = [&](const Snapshots::Snapshot &snapshot) {
    return std::any_of(copies.begin(), copies.end(), [&](const auto &copy) {
      return !isZero(*snapshot.file.find(copy.name));
    });
  };
  const auto &all = snapshots.all();
  auto empty = std::find_if_not(all.begin(), all.end(), hasBegun);
  if (empty != all.end() && std::any_of(all.begin(), all.end(), hasBegun))
    throw badInput(
        "--mean: ", empty->path, " holds nothing in ", copies.front().name,
        " and all other copies of parameters yet, since no update "
        "was made; expected checkpoints from after the first update");
  return copies;
}

/// Writes the newest checkpoint with the means of `averaged` in it.
void writeMeans(const std::string &path, const Snapshots &snapshots,
                const std::vector<StateInfo> &averaged) {
  const Safetensors &newest = snapshots.newest().file;
  SnapshotVectors vectors(snapshots, averaged);
  std::vector<NamedTensor> tensors = newest.tensors();
  for (NamedTensor &tensor : tensors)
    if (int state = findName(averaged, tensor.name); state >= 0)
      tensor.type = averaged[state].type;
  std::map<std::string, std::string> metadata = newest.metadata();
  metadata[kMeanOf] = jsonText(stepsOf(snapshots));
  TensorsWriter writer =
      take(TensorsWriter::create(path, tensors, std::move(metadata)));
  for (const NamedTensor &tensor : newest.tensors())
    if (int state = findName(averaged, tensor.name); state >= 0)
      writeMean(vectors, averaged[state], vectors.beginOf(state), writer, path);
    else
      check(writer.write(tensor.data));
  check(writer.commit());
}

//===-- of a matrix -------------------------------------------------------===//

/// The rows of a NumPy matrix.
class MatrixRows : public training::Vectors {
public:
  MatrixRows(const std::string &path, const Basis &basis) : path_(path) {
    data::FileBytes file = take(data::readFile(path));
    auto matrix = data::readNpy(file, path);
    check(runtime::at(matrix.status(), path));
    matrix_ = *std::move(matrix);
    size_t numbers = basis.numbers();
    const TensorType &type = matrix_.type;
    bool isMatrix = type.shape.size() == 2 && type.shape[0] > 0 &&
                    areFloats(nameOf(type.dtype), "f64");
    if (!isMatrix || static_cast<size_t>(type.shape[1]) != numbers)
      throw badInput(path, ": is ", toString(type),
                     "; expected a matrix of floats with a row for each "
                     "component, of ",
                     numbers, " numbers as the ", basis.parameters.size(),
                     " parameters of the artifact have together");
  }

  size_t count() const override { return matrix_.type.shape[0]; }
  size_t length() const override { return matrix_.type.shape[1]; }
  Status read(size_t row, size_t begin,
              std::span<double> numbers) const override {
    DType dtype = matrix_.type.dtype;
    convertFloats(nameOf(dtype), nameOf(DType::f64),
                  matrix_.bytes.data() +
                      (row * length() + begin) * bytesOf(dtype),
                  numbers.data(), numbers.size());
    for (size_t i = 0; i < numbers.size(); ++i)
      if (!std::isfinite(numbers[i]))
        return invalid(path_, ": row ", row, " holds ", numbers[i],
                       " in column ", begin + i, ": expected finite numbers");
    return Status();
  }

private:
  std::string path_;
  data::Column matrix_;
};

/// A matrix has no names: its columns are the parameters one after the other.
void warnOfOrder(const std::string &path, const Basis &basis) {
  constexpr size_t kMost = 8;
  std::string names;
  size_t count = basis.parameters.size();
  for (size_t i = 0; i < count && i < kMost; ++i)
    append(names, i ? ", " : "", basis.parameters[i].name);
  if (count > kMost)
    append(names, " and ", count - kMost, " more");
  warn(absl::StrCat(path,
                    ": has no names, and is read by position, in the "
                    "artifact's order of parameters: ",
                    names));
}

void convert(const BasisOptions &options, const Artifact &artifact) {
  Basis basis = basisOf(artifact, 0);
  MatrixRows rows(options.matrix, basis);
  check(at(verifyOrthonormal(rows), options.matrix));
  basis.components = rows.count();
  basis.metadata["components"] = inWords(basis.components);
  warnOfOrder(options.matrix, basis);
  std::vector<double> row;
  write(basis, options.output,
        [&](size_t first, size_t begin, size_t end, std::span<float> numbers) {
          row.resize(end - begin);
          for (size_t at = 0; at < numbers.size(); at += row.size(), ++first) {
            GRADUS_TRY(rows.read(first, begin, row));
            std::copy(row.begin(), row.end(), numbers.begin() + at);
          }
          return Status();
        });
  ordered_json facts = {{"basis", options.output},
                        {"components", basis.components},
                        {"parameters", basis.parameters.size()},
                        {"numbers", basis.numbers()}};
  if (options.json)
    printJson(facts);
  else
    std::printf("%zu components -> %s\n", basis.components,
                printable(options.output).c_str());
}

//===-- the command -------------------------------------------------------===//

std::string percent(double part) { return number("%.2f %%", 100 * part); }

void print(const BasisOptions &options, const Snapshots &snapshots,
           const ordered_json &facts) {
  std::printf("%zu checkpoints%s: %zu parameters, %zu numbers\n",
              snapshots.all().size(), snapshots.stepsText().c_str(),
              facts["parameters"].get<size_t>(),
              facts["numbers"].get<size_t>());
  if (!options.output.empty()) {
    Table table({"component", "variance", "of all", "together"});
    double together = 0;
    for (size_t i = 0; i < options.components; ++i) {
      double ratio = facts["explained_variance_ratio"][i].get<double>();
      together += ratio;
      table.row({inWords(i + 1),
                 number("%.4g", facts["explained_variance"][i].get<double>()),
                 percent(ratio), percent(together)});
    }
    std::fputs(table.text().c_str(), stdout);
    std::printf("%zu components -> %s\n", options.components,
                printable(options.output).c_str());
  }
  if (!options.mean.empty())
    std::printf("their mean -> %s\n", printable(options.mean).c_str());
}

void run(const BasisOptions &options) {
  checkWanted(options);
  checkFiles(options);
  auto artifact = openArtifact(options.artifact);
  if (!options.matrix.empty())
    return convert(options, *artifact);
  std::vector<StateInfo> averaged =
      statesOf(*artifact, {artifact::Role::parameter, artifact::Role::buffer});
  Basis basis = basisOf(*artifact, options.components);
  Snapshots snapshots(options.checkpoints,
                      options.mean.empty() ? basis.parameters : averaged,
                      *artifact);
  if (!options.mean.empty()) {
    std::vector<StateInfo> copies = copiesOf(averaged, snapshots);
    averaged.insert(averaged.end(), copies.begin(), copies.end());
  }
  ordered_json facts = {{"snapshots", snapshots.all().size()},
                        {"steps", stepsOf(snapshots)},
                        {"parameters", basis.parameters.size()},
                        {"numbers", basis.numbers()}};
  if (!options.output.empty()) {
    facts["basis"] = options.output;
    facts["components"] = options.components;
    facts.update(writeComponents(options, snapshots, basis));
  }
  if (!options.mean.empty()) {
    writeMeans(options.mean, snapshots, averaged);
    noteStatistics(options, snapshots, averaged);
    facts["mean"] = options.mean;
  }
  if (options.json)
    printJson(facts);
  else
    print(options, snapshots, facts);
}

} // namespace

void addBasis(CLI::App &app) {
  auto options = std::make_shared<BasisOptions>();
  CLI::App *command = app.add_subcommand(
      "basis", "Principal components of checkpoints, and their mean");
  command->footer(kFooter);
  command->add_option("artifact", options->artifact, "The .gradus file")
      ->required();
  command->add_option("checkpoints", options->checkpoints,
                      "Checkpoints of one run (.safetensors)");
  CLI::Option *components =
      command
          ->add_option("--components", options->components,
                       "How many components; fewer than checkpoints")
          ->check(positive());
  command->add_option("-o,--output", options->output,
                      "The file of components (.safetensors)");
  CLI::Option *mean = command->add_option(
      "--mean", options->mean,
      "A checkpoint (.safetensors) of the means of parameters and buffers");
  command
      ->add_option("--from-npy", options->matrix,
                   "Convert MindSpore's matrix of components (.npy) instead")
      ->excludes(components)
      ->excludes(mean);
  command->add_flag("--json", options->json, "One JSON object");
  command->callback([options] { run(*options); });
}

} // namespace gradus::cli
