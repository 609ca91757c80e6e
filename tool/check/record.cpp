// Writes the model with its initial weights, the data and the task first; then
// trains from these files alone, as `gradus check` will.

#include "tool/check/record.h"

#include "messages/json_text.h"
#include "runtime/file.h"
#include "runtime/safetensors.h"
#include "runtime/well_known.h"
#include "tool/check/measured_run.h"
#include "training/data/feed.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <utility>

namespace gradus::check {
namespace {

namespace fs = std::filesystem;
using runtime::NamedTensor;
using runtime::Session;

constexpr const char *kModel = "model.onnx";
constexpr int kShakenRuns = 6;
constexpr size_t kLargestStored = 4096; // elements of a recorded gradient
constexpr size_t kStoredFinals = 6;     // tensors after a run

template <typename... Parts> [[noreturn]] void refuse(const Parts &...parts) {
  throw Refusal(absl::StrCat(parts...));
}

void throwIfFailed(const runtime::Status &status) {
  if (!status.ok())
    throw Refusal(status.message());
}

void writeFile(const fs::path &path, const std::string &bytes) {
  auto file = takeOrThrow(runtime::AtomicFile::create(path));
  throwIfFailed(file.write(bytes.data(), bytes.size()));
  throwIfFailed(file.commit());
}

/// Keeps the order of keys that are given in a list; a Json has sorted keys.
nlohmann::ordered_json ordered(const Json &object) { return object; }

/// PyTorch's name of a type.
std::string dtypeName(runtime::DType dtype) {
  std::string name = runtime::nameOf(dtype); // "f32"
  if (dtype == runtime::DType::boolean || dtype == runtime::DType::bf16)
    return name == "bool" ? "bool" : "bfloat16";
  const char *kind = name[0] == 'f' ? "float" : name[0] == 'i' ? "int" : "uint";
  return kind + name.substr(1);
}

Json portOf(const runtime::TensorType &type) {
  return {{"dtype", dtypeName(type.dtype)}, {"shape", type.shape}};
}

/// A folder beside the target, renamed to it at the end.
class Draft {
public:
  explicit Draft(const fs::path &folder)
      : target_(folder.filename().empty() ? folder.parent_path() : folder),
        path_(target_.string() + ".XXXXXX") {
    if (fs::exists(target_))
      refuse(target_.string(), ": is there already; name a new folder");
    std::error_code error;
    if (target_.has_parent_path())
      fs::create_directories(target_.parent_path(), error);
    if (error)
      refuse(target_.parent_path().string(),
             ": cannot be made: ", error.message());
    std::string name = path_;
    if (!mkdtemp(name.data()))
      refuse(target_.string(), ": cannot be made: ", std::strerror(errno));
    path_ = name;
    fs::permissions(path_,
                    fs::perms::group_read | fs::perms::group_exec |
                        fs::perms::others_read | fs::perms::others_exec,
                    fs::perm_options::add);
  }
  ~Draft() {
    std::error_code none;
    fs::remove_all(path_, none);
  }
  const fs::path &path() const { return path_; }
  std::string name() const { return target_.filename(); }
  void finish() {
    std::error_code error;
    fs::rename(path_, target_, error);
    if (error)
      refuse(target_.string(), ": cannot be made: ", error.message());
  }

private:
  fs::path target_, path_;
};

class Recorder {
public:
  Recorder(compiler::Compiler &compiler, const RecordRequest &request,
           const fs::path &folder)
      : compiler_(compiler), request_(request), draft_(folder) {}

  void run() {
    compile();
    checkRecipe();
    writeModel();
    writeData();
    describe();
    writeCase(); // The recording below reads it.
    measure();
    writeCase();
    draft_.finish();
  }

private:
  void compile();
  void checkRecipe() const;
  void writeModel();
  void writeData();
  void describe();
  void measure();
  void writeCase() const;

  const runtime::GraphInfo &train() const {
    return session_->graphs()[session_->findGraph(well_known::kTrain)];
  }
  data::Preparations preparations() const;
  data::Feed feed() const;
  Json output() const;
  std::vector<std::string> parameters() const;
  Trainer trainer(const RecordedCase &recorded, bool gradients);
  std::vector<std::string> statistics() const;
  Tensors measureParameters(const RecordedCase &recorded);
  void writeExpected(const Tensors &gradients, const MeasuredRun &run) const;

  compiler::Compiler &compiler_;
  const RecordRequest &request_;
  Draft draft_;
  data::Dataset dataset_;
  std::unique_ptr<Session> session_;
  Json recipe_;
  nlohmann::ordered_json description_;
};

//===-- the task ----------------------------------------------------------===//

void Recorder::compile() {
  dataset_ = takeOrThrow(data::Dataset::open(request_.data));
  compiler::Result result = takeOrThrow(compiler_.compile(request_.model));
  auto artifact = takeOrThrow(runtime::Artifact::fromBytes(
      {reinterpret_cast<const uint8_t *>(result.artifact.data()),
       result.artifact.size()},
      request_.model.model));
  session_ = takeOrThrow(Session::create(artifact));
  recipe_ = Json::parse(artifact->header().recipe()->str());
  if (session_->findGraph(well_known::kTrain) < 0)
    refuse(request_.model.model, ": the recipe names no loss to train by");
}

/// Refuses recipe keys that a case cannot state: a case has only a loss and an
/// optimizer.
void Recorder::checkRecipe() const {
  static const std::set<std::string> kSaid = {
      "inputs",       "trainable", "fixed",        "loss",
      "metrics",      "optimizer", "memory_limit", "deterministic",
      "convolutions", "seed",      "on_nonfinite", "batch_norm_variance"};
  Json defaults = Json::parse(takeOrThrow(compiler_.readRecipe({})).json);
  for (const auto &[key, value] : recipe_.items())
    if (!kSaid.contains(key) && value != defaults[key])
      refuse("recipe: a recorded case cannot say `", key, "`, which is ",
             jsonText(value));
  if (recipe_["batch_norm_variance"] != "pytorch")
    refuse("recipe: a recorded case has PyTorch's running variance, not that "
           "of `batch_norm_variance`");
  if (!recipe_["inputs"]["augment"].empty())
    refuse("recipe: a recorded case cannot say `inputs.augment`: its batches "
           "are the same for all who train by it");
  if (recipe_["loss"].contains("of") ||
      !recipe_["loss"].value("label", Json()).is_null() ||
      train().inputs.empty() ||
      train().inputs.back().name != well_known::kLabel)
    refuse(
        "recipe: a recorded case has one loss, whose labels come in `label`");
}

//===-- model and data ----------------------------------------------------===//

/// Writes the model with its initial weights, also random ones, and with the
/// sizes of symbolic dimensions.
void Recorder::writeModel() {
  compiler::ExportRequest request;
  request.model = request_.model.model;
  request.dataName = std::string(kModel) + ".data";
  for (const auto &[name, size] : recipe_["inputs"]["dims"].items())
    request.dims[name] = size;
  for (size_t i = 0; i < session_->states().size(); ++i) {
    const runtime::StateInfo &state = session_->states()[i];
    request.weights.push_back({state.name, runtime::nameOf(state.type.dtype),
                               state.type.shape,
                               takeOrThrow(session_->stateBytes(i))});
  }
  compiler::Exported exported = takeOrThrow(compiler_.exportModel(request));
  writeFile(draft_.path() / kModel, exported.model);
  if (!exported.data.empty())
    writeFile(draft_.path() / request.dataName, exported.data);
}

/// Normalizes, because a case holds the inputs of steps.
data::Preparations Recorder::preparations() const {
  data::Preparations all;
  for (const auto &[name, numbers] : recipe_["inputs"]["normalize"].items()) {
    all[name].mean = numbers.value("mean", std::vector<float>{0});
    all[name].std = numbers.value("std", std::vector<float>{1});
  }
  return all;
}

data::Feed Recorder::feed() const {
  data::LabelRule labels;
  labels.classes = session_->artifact().header().classes();
  if (auto ignored = recipe_["loss"].find("ignore_index");
      ignored != recipe_["loss"].end() && ignored->is_number_integer())
    labels.ignore = ignored->get<int64_t>();
  return takeOrThrow(data::Feed::match(dataset_, train().inputs,
                                       {{well_known::kLabel, labels}},
                                       preparations()));
}

/// Writes the first whole batches.
void Recorder::writeData() {
  data::Feed feed = this->feed();
  int64_t whole = feed.samples() / feed.batch();
  if (whole == 0)
    refuse(dataset_.source(), ": has ", feed.samples(),
           " samples, but one batch takes ", feed.batch());
  int64_t batches = std::min(request_.batches, whole);
  std::vector<std::vector<uint8_t>> memory;
  std::vector<NamedTensor> tensors;
  for (int64_t batch = 0; batch < batches; ++batch) {
    std::vector<void *> places;
    for (const runtime::TensorInfo &input : train().inputs)
      places.push_back(memory.emplace_back(input.bytes).data());
    for (int64_t i = 0; i < feed.batch(); ++i)
      throwIfFailed(
          feed.copySample(batch * feed.batch() + i, i, places.data()));
    for (size_t i = 0; i < places.size(); ++i) {
      const runtime::TensorInfo &input = train().inputs[i];
      std::string key =
          input.name == well_known::kLabel ? "labels" : "input." + input.name;
      tensors.push_back({absl::StrCat(key, ".", batch),
                         input.type,
                         {static_cast<uint8_t *>(places[i]), input.bytes}});
    }
  }
  throwIfFailed(
      runtime::writeSafetensors(draft_.path() / "data.safetensors", tensors));
  description_["batches"] = batches;
}

//===-- case.json ---------------------------------------------------------===//

/// The output that the loss reads.
Json Recorder::output() const {
  const auto &outputs =
      session_->graphs()[session_->findGraph(well_known::kPredict)].outputs;
  Json name = recipe_["loss"].value("output", Json());
  for (const runtime::TensorInfo &output : outputs)
    if (name.is_null() || name == output.name) {
      Json port = portOf(output.type);
      port["name"] = output.name;
      return port;
    }
  refuse("the model has no output ", jsonText(name));
}

std::vector<std::string> Recorder::parameters() const {
  std::vector<std::string> names;
  for (const runtime::StateInfo &state : session_->states())
    if (state.role == artifact::Role::parameter)
      names.push_back(state.name);
  return names;
}

/// Removes keys with the default null.
Json withoutNulls(Json object) {
  for (auto at = object.begin(); at != object.end();)
    at = at->is_null() ? object.erase(at) : std::next(at);
  return object;
}

void Recorder::describe() {
  Json optimizer = withoutNulls(recipe_["optimizer"]);
  for (auto [ours, theirs] :
       {std::pair("learning_rate", "lr"), {"epsilon", "eps"}})
    if (optimizer.contains(ours)) {
      optimizer[theirs] = optimizer[ours];
      optimizer.erase(ours);
    }
  Json loss = withoutNulls(recipe_["loss"]);
  loss.erase("output");
  Json inputs = Json::array(), labels;
  for (const runtime::TensorInfo &input : train().inputs) {
    Json port = portOf(input.type);
    if (input.name == well_known::kLabel) {
      labels = port;
      continue;
    }
    port["name"] = input.name;
    inputs.push_back(port);
  }
  std::vector<int> order(request_.steps);
  for (int64_t step = 0; step < request_.steps; ++step)
    order[step] = step % description_["batches"].get<int64_t>();
  Json file = {{"file", kModel},
               {"exporter", "gradus"},
               {"trainable_initializers", parameters()}};
  Json run = {{"id", optimizer["type"]},
              {"optimizer", optimizer},
              {"batch_order", order}};
  description_.update(ordered({{"format", 1},
                               {"name", draft_.name()},
                               {"inputs", inputs},
                               {"output", output()},
                               {"labels", labels},
                               {"loss", loss},
                               {"files", Json::array({file})},
                               {"runs", Json::array({run})},
                               {"reference", "Gradus " GRADUS_VERSION}}));
}

/// Writes one key a line.
void Recorder::writeCase() const {
  std::string text = "{";
  for (const auto &[key, value] : description_.items())
    absl::StrAppend(&text, text.size() > 1 ? ",\n " : "\n ",
                    jsonText(Json(key)), ": ", jsonText(value));
  writeFile(draft_.path() / "case.json", text + "\n}\n");
}

//===-- results of training -----------------------------------------------===//

Trainer Recorder::trainer(const RecordedCase &recorded, bool gradients) {
  compiler::Request request;
  request.model = recorded.pathOf(kModel);
  request.recipe.text =
      recorded.recipe(kModel, recorded.description().at("runs").at(0));
  // A recording has the smallest rounding, as others are compared with it.
  request.recipe.flags.emplace_back("convolutions=direct", "--write");
  request.plan.threads = request_.model.plan.threads;
  request.wanted.gradientOutputs = gradients;
  return Trainer(takeOrThrow(compiler_.compile(request)).artifact, recorded,
                 {.threads = request.plan.threads});
}

/// The names of the running statistics of batch normalization.
std::vector<std::string> Recorder::statistics() const {
  std::vector<std::string> names;
  for (const runtime::StateInfo &state : session_->states())
    if (absl::EndsWith(state.name, ".running_mean") ||
        absl::EndsWith(state.name, ".running_var"))
      names.push_back(state.name);
  return names;
}

Tensors Recorder::measureParameters(const RecordedCase &recorded) {
  Trainer trainer = this->trainer(recorded, true);
  auto gradients = measureGradients(trainer, kShakenRuns);
  trainer.restart(0);
  double squares = 0, elements = 0;
  for (const auto &[name, gradient] : gradients[0]) {
    squares += std::pow(normOf(gradient), 2);
    elements += gradient.size();
  }
  Json norms = Json::array();
  for (absl::string_view name : statistics())
    if (absl::ConsumeSuffix(&name, ".running_mean"))
      norms.push_back({{"name", std::string(name)}});
  description_.update(
      ordered({{"parameters_total", elements},
               {"grad0_global_l2", std::sqrt(squares)},
               {"parameters", describeGradients(gradients, trainer)},
               {"batch_norm", norms}}));
  return gradients[0];
}

void Recorder::measure() {
  RecordedCase recorded = takeOrThrow(RecordedCase::open(draft_.path()));
  Tensors gradients = measureParameters(recorded);
  std::vector<std::string> names = statistics();
  for (const auto &[name, gradient] : gradients)
    names.push_back(name);
  auto &run = description_["runs"][0];
  std::vector<int> order = run["batch_order"];
  order.push_back(0); // the loss after the last step
  Trainer trainer = this->trainer(recorded, false);
  auto runs = measureRuns(trainer, order, names, kShakenRuns);
  Json measured = describeRun(runs);
  for (const std::string &statistic : statistics())
    measured["final_param_l2"].erase(statistic);
  run.update(ordered(measured));
  writeExpected(gradients, runs[0]);
}

/// The contents of expected.safetensors: values that were f32, as f32.
class Stored {
public:
  explicit Stored(const Session &session) : session_(session) {}

  void add(const std::string &prefix, const std::string &state,
           const std::vector<double> &values) {
    names_.push_back(prefix + state);
    shapes_.push_back(session_.states()[session_.findState(state)].type.shape);
    values_.emplace_back(values.begin(), values.end());
  }

  void write(const fs::path &path) const {
    std::vector<NamedTensor> tensors;
    for (size_t i = 0; i < names_.size(); ++i)
      tensors.push_back({names_[i],
                         {runtime::DType::f32, shapes_[i]},
                         {reinterpret_cast<const uint8_t *>(values_[i].data()),
                          values_[i].size() * sizeof(float)}});
    throwIfFailed(runtime::writeSafetensors(path, tensors));
  }

private:
  const Session &session_;
  std::vector<std::string> names_;
  std::vector<std::vector<int64_t>> shapes_;
  std::vector<std::vector<float>> values_;
};

void Recorder::writeExpected(const Tensors &gradients,
                             const MeasuredRun &run) const {
  std::string id = description_["runs"][0]["id"];
  Stored stored(*session_);
  std::set<std::pair<size_t, std::string>> bySize;
  for (const auto &[name, values] : gradients) {
    bySize.insert({values.size(), name});
    if (values.size() <= kLargestStored)
      stored.add("grad0.", name, values);
  }
  size_t finals = 0;
  for (const auto &[size, name] : bySize)
    if (finals++ < kStoredFinals)
      stored.add(id + ".final.", name, run.final.at(name));
  for (const std::string &name : statistics())
    stored.add(id + ".torch.", name, run.final.at(name));
  stored.write(draft_.path() / "expected.safetensors");
}

} // namespace

void recordCase(compiler::Compiler &compiler, const RecordRequest &request,
                const fs::path &folder) {
  Recorder(compiler, request, folder).run();
}

} // namespace gradus::check
