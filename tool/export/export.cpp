// gradus export: writes trained weights as an ONNX file, the user's or that of
// an artifact's program.

#include "messages/json_text.h"
#include "messages/printable.h"
#include "runtime/safetensors.h"
#include "runtime/session/checkpoint.h"
#include "runtime/session/session_facts.h"
#include "tool/carried_program.h"
#include "tool/commands.h"
#include "tool/compiler_library.h"
#include "tool/failure.h"
#include "tool/foreign_file.h"
#include "tool/output_files.h"
#include "tool/session/averages.h"
#include "tool/text.h"
#include "training/training_record.h"

#include "absl/strings/str_join.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <filesystem>

using namespace gradus::runtime;

namespace gradus::cli {
namespace {

struct ExportOptions {
  std::string model, checkpoint, output;
  std::vector<std::string> plugins;
  bool inference = false, normalizes = false, averaged = false, json = false;
};

constexpr const char *kFooter = R"(Examples:
  gradus export lenet.onnx --checkpoint lenet.safetensors -o trained.onnx
  gradus export resnet.onnx --checkpoint resnet.safetensors --inference -o resnet_trained.onnx
  gradus export resnet.gradus --checkpoint resnet.safetensors --inference -o resnet_trained.onnx

A file stays as it is but for the values of its initializers. From an artifact the
program that it carries is written, with the layers that methods have changed
(less_bn, fc_to_fn), and with the sizes that it was compiled for. --inference turns
batch normalization and dropout into those of inference, and of an artifact
AlphaDropout and coins of a known chance (stochastic depth, Bernoulli), too; other
random numbers are drawn as before. --ema writes the averages of the weights in
their place. --with-normalization puts the
recipe's inputs.normalize in front of the model, so that it takes what `predict`
takes; pixels of u8 are still divided by 255 before it. Weights of another
floating-point type are converted to the file's. Above 1 GiB the weights go to a
data file beside the model.)";

/// Checks that the written files are not those that the model's weights are in.
void checkApart(const ExportOptions &options,
                const compiler::Exported &exported,
                const std::string &dataFile) {
  std::vector<UsedFile> inputs = {{"the model", options.model},
                                  {"--checkpoint", options.checkpoint}};
  for (const std::string &path : exported.read)
    inputs.push_back({"the model's data file", path});
  std::string data = exported.data.empty() ? "" : dataFile;
  checkOutputFiles({{"-o", options.output}, {"the data file of -o", data}},
                   inputs);
}

/// The average of a parameter, if the file has one, else the parameter.
const NamedTensor &averageOr(const NamedTensor &own, const Safetensors &file) {
  const NamedTensor *average = file.find(averageName(own.name));
  return average ? *average : own;
}

using Record = std::optional<training::TrainingRecord>;

/// Refuses a file whose model a pass of a plug-in has changed.
void checkPasses(const ExportOptions &options, const Record &record) {
  if (isArtifact(options.model) || !record)
    return;
  for (const std::string &pass : record->passes)
    if (pass.starts_with("model:"))
      throw badInput(
          options.model,
          ": is not the model that was trained, which "
          "the pass ",
          pass,
          " has changed; its artifact carries the "
          "changed model: gradus export STEP.gradus --plugin FILE.so "
          "--checkpoint FILE.safetensors -o FILE.onnx");
}

/// Checks that a checkpoint of a training is one of the artifact; of other
/// files of weights the compiler says what they lack.
void checkFits(const ExportOptions &options, const OpenedProgram &opened,
               const Safetensors &file) {
  auto format = file.metadata().find("format");
  if (format == file.metadata().end() || format->second != "gradus")
    return;
  std::vector<StateInfo> states = stateInfosOf(opened.artifact().header());
  check(runtime::at(
      runtime::at(verifyStates(file, storedOf(states)), options.checkpoint),
      options.model));
}

/// The normalization of inputs in training, as recorded in the checkpoint.
std::vector<compiler::InputNormalization>
normalizationsOf(const ExportOptions &options, const Record &record) {
  std::vector<compiler::InputNormalization> all;
  try {
    if (record && record->normalize.is_object())
      for (const auto &[input, numbers] : record->normalize.items())
        all.push_back({input, numbers.value("mean", std::vector<float>{0}),
                       numbers.value("std", std::vector<float>{1})});
  } catch (const nlohmann::json::exception &) {
    throw badInput(options.checkpoint, ": says of `normalize` what no training "
                                       "writes there");
  }
  if (all.empty() && options.normalizes)
    throw badInput("--with-normalization: ", options.checkpoint,
                   record ? " was trained without inputs.normalize"
                          : " does not say how inputs were normalized, as "
                            "`gradus train` writes it");
  return all;
}

void warnOfNormalization(const ExportOptions &options,
                         const compiler::Exported &exported) {
  if (options.inference && !exported.wantNormalized.empty())
    warn(absl::StrCat(options.model, ": wants ",
                      absl::StrJoin(exported.wantNormalized, ", "),
                      " normalized, which training did before the model "
                      "(inputs.normalize of the recipe) and `gradus predict` "
                      "does; --with-normalization puts it into the model"));
}

/// The program and its initial values, which the request refers to.
std::optional<OpenedProgram> openArtifact(compiler::ExportRequest &request) {
  compiler::Request artifact;
  artifact.model = request.model;
  std::optional<OpenedProgram> opened = openProgram(artifact);
  request.carried = artifact.carried;
  return opened;
}

void run(const ExportOptions &options) {
  checkOutputFiles(
      {{"-o", options.output}},
      {{"the model", options.model}, {"--checkpoint", options.checkpoint}});
  if (!std::filesystem::exists(options.model))
    throw badInput(options.model, ": there is no such file");
  if (!options.model.ends_with(".onnx") && !isArtifact(options.model))
    throw badInput(options.model,
                   ": is neither an ONNX model (.onnx) nor an artifact");
  if (!options.output.ends_with(".onnx"))
    throw badInput("-o ", options.output,
                   ": expected a name that ends in .onnx");
  refuseForeign(options.checkpoint, Wanted::weights, "--checkpoint");
  Safetensors file = take(Safetensors::open(options.checkpoint));
  check(runtime::at(verifyContents(file), options.checkpoint));
  compiler::ExportRequest request;
  request.model = options.model;
  request.inference = options.inference;
  request.plugins = options.plugins;
  Record record =
      take(training::TrainingRecord::ofCheckpoint(options.checkpoint));
  checkPasses(options, record);
  request.normalizations = normalizationsOf(options, record);
  request.withNormalization = options.normalizes;
  std::string dataFile = options.output + ".data";
  request.dataName = std::filesystem::path(dataFile).filename();
  if (options.averaged)
    verifyAverages(file, options.checkpoint);
  for (const NamedTensor &tensor : file.tensors()) {
    const NamedTensor &from =
        options.averaged ? averageOr(tensor, file) : tensor;
    request.weights.push_back(
        {tensor.name, nameOf(from.type.dtype), from.type.shape, from.data});
  }
  std::optional<OpenedProgram> artifact = openArtifact(request);
  if (artifact)
    checkFits(options, *artifact, file);
  compiler::Exported exported = take(compilerLibrary().exportModel(request));
  checkApart(options, exported, dataFile);
  if (!exported.data.empty())
    writeWhole(dataFile, exported.data);
  writeWhole(options.output, exported.model);
  for (const std::string &name : exported.kept)
    warn(options.checkpoint + " has no value for \"" + name +
         "\", which stays");
  warnOfNormalization(options, exported);
  if (options.json)
    printJson(nlohmann::ordered_json{{"model", options.output},
                                     {"written", exported.written},
                                     {"kept", exported.kept}});
  else
    std::printf(
        "%zu tensors -> %s (%s)\n", exported.written.size(),
        printable(options.output).c_str(),
        bytesText(exported.model.size() + exported.data.size()).c_str());
}

} // namespace

void addExport(CLI::App &app) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App *command =
      app.add_subcommand("export", "Writes trained weights as an ONNX file");
  command->footer(kFooter);
  command
      ->add_option("model", options->model,
                   "The .onnx file that was trained, or its artifact")
      ->required();
  command
      ->add_option("--checkpoint", options->checkpoint,
                   "Trained state (.safetensors)")
      ->required();
  command->add_option("-o,--output", options->output, "A new .onnx file")
      ->required();
  command->add_option("--plugin", options->plugins,
                      "A shared library with passes that the artifact's recipe "
                      "names");
  command->add_flag("--inference", options->inference,
                    "Inference form of normalization and dropout, and of an "
                    "artifact's coins of a known chance");
  command->add_flag("--with-normalization", options->normalizes,
                    "The model normalizes its inputs itself, as training did "
                    "before it");
  command->add_flag("--ema", options->averaged,
                    "Write the averages of the weights (the recipe's ema)");
  command->add_flag("--json", options->json, "One JSON object");
  command->callback([options] { run(*options); });
}

} // namespace gradus::cli
