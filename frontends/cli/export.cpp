// gradus export: trained weights go back into the user's ONNX file.

#include "frontends/cli/averages.h"
#include "frontends/cli/commands.h"
#include "frontends/cli/compiler_library.h"
#include "frontends/cli/failure.h"
#include "frontends/cli/output_files.h"
#include "frontends/cli/text.h"
#include "runtime/checkpoint.h"
#include "runtime/safetensors.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <filesystem>

using namespace gradus::runtime;

namespace gradus::cli {
namespace {

struct ExportOptions {
  std::string model, checkpoint, output;
  bool inference = false, averaged = false, json = false;
};

constexpr const char *kFooter = R"(Examples:
  gradus export lenet.onnx --checkpoint lenet.safetensors -o trained.onnx
  gradus export resnet.onnx --checkpoint resnet.safetensors --inference -o resnet_trained.onnx

The file stays as it is but for the values of its initializers. --inference turns
batch normalization, dropout and AlphaDropout of a file exported for training into
those of inference, and puts its chance in the place of each coin of a known chance
(stochastic depth, Bernoulli); other random numbers are drawn as before. --ema
writes the averages of the weights in their place. Weights of another
floating-point type are converted to the file's. Above 1 GiB the weights go to a
data file beside the model.)";

/// The files that are written, from those that the model's weights lie in.
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

/// The average of a parameter, where the file has one.
const NamedTensor &averageOr(const NamedTensor &own, const Safetensors &file) {
  const NamedTensor *average = file.find(averageName(own.name));
  return average ? *average : own;
}

/// As the import says it of predictions.
void warnOfCoins(const std::string &model, int added) {
  if (added)
    std::fprintf(stderr,
                 "warning: %s: %d %s added, as in a form of AlphaDropout; for "
                 "inference the chance stands in its place, which need not be "
                 "PyTorch's eval\n",
                 model.c_str(), added,
                 added == 1 ? "coin of a known chance has a number"
                            : "coins of a known chance have numbers");
}

void run(const ExportOptions &options) {
  checkOutputFiles(
      {{"-o", options.output}},
      {{"the model", options.model}, {"--checkpoint", options.checkpoint}});
  if (!options.model.ends_with(".onnx"))
    throw badInput(options.model, ": is no ONNX model (.onnx)");
  if (!options.output.ends_with(".onnx"))
    throw badInput("-o ", options.output,
                   ": expected a name that ends in .onnx");
  Safetensors file = take(Safetensors::open(options.checkpoint));
  check(runtime::at(verifyContents(file), options.checkpoint));
  compiler::ExportRequest request;
  request.model = options.model;
  request.inference = options.inference;
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
  compiler::Exported exported = take(compilerLibrary().exportModel(request));
  checkApart(options, exported, dataFile);
  if (!exported.data.empty())
    writeWhole(dataFile, exported.data);
  writeWhole(options.output, exported.model);
  for (const std::string &name : exported.kept)
    std::fprintf(stderr, "warning: %s has no value for \"%s\", which stays\n",
                 options.checkpoint.c_str(), name.c_str());
  warnOfCoins(options.model, exported.addedCoins);
  if (options.json)
    std::puts(nlohmann::ordered_json{{"model", options.output},
                                     {"written", exported.written},
                                     {"kept", exported.kept}}
                  .dump()
                  .c_str());
  else
    std::printf(
        "%zu tensors -> %s (%s)\n", exported.written.size(),
        options.output.c_str(),
        bytesText(exported.model.size() + exported.data.size()).c_str());
}

} // namespace

void addExport(CLI::App &app) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App *command =
      app.add_subcommand("export", "Writes trained weights into an ONNX file");
  command->footer(kFooter);
  command
      ->add_option("model", options->model, "The .onnx file that was trained")
      ->required();
  command
      ->add_option("--checkpoint", options->checkpoint,
                   "Trained state (.safetensors)")
      ->required();
  command->add_option("-o,--output", options->output, "A new .onnx file")
      ->required();
  command->add_flag("--inference", options->inference,
                    "Inference form of normalization, dropout and coins of a "
                    "known chance");
  command->add_flag("--ema", options->averaged,
                    "Write the averages of the weights (the recipe's ema)");
  command->add_flag("--json", options->json, "One JSON object");
  command->callback([options] { run(*options); });
}

} // namespace gradus::cli
