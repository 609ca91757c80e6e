// gradus predict: computes the model's outputs for every sample of a data set.

#include "messages/json_text.h"
#include "messages/printable.h"
#include "runtime/well_known.h"
#include "tool/commands.h"
#include "tool/evaluate/data_options.h"
#include "tool/evaluate/trained_normalization.h"
#include "tool/failure.h"
#include "tool/output_files.h"
#include "tool/run/tensor_file.h"
#include "tool/session/session_options.h"
#include "tool/text.h"
#include "tool/train/former_run.h"
#include "training/data/batches.h"

#include "absl/strings/str_cat.h"

#include <cstdio>

using namespace gradus::runtime;

namespace gradus::cli {
namespace {

struct PredictOptions {
  SessionOptions session;
  std::vector<std::string> data;
  std::string output;
};

constexpr const char *kFooter =
    R"(Rows are in the order of the samples; those of a folder of images in the order
of its sorted classes and paths, which a .safetensors output lists under "files"
in its metadata, and --json prints.

Examples:
  gradus predict lenet.gradus --checkpoint lenet.safetensors --data new.safetensors -o out.npz
  gradus predict lenet.gradus --init weights.safetensors --data image=new.npy -o out.safetensors)";

/// An output with one row a sample, and its number in the graph.
struct Predicted {
  size_t output;
  OutputTensor tensor;
};

/// The outputs with memory for all samples. Other outputs, such as a loss of
/// the whole batch, are left out with a note.
std::vector<Predicted> outputTensors(const GraphInfo &graph,
                                     const data::Feed &feed) {
  std::vector<Predicted> predicted;
  std::string others;
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const TensorInfo &output = graph.outputs[i];
    if (output.type.shape.empty() || output.type.shape[0] != feed.batch()) {
      absl::StrAppend(&others, others.empty() ? "" : ", ", "'", output.name,
                      "' (", toString(output.type), ")");
      continue;
    }
    OutputTensor tensor{output.name, output.type, {}};
    tensor.type.shape[0] = feed.samples();
    tensor.bytes.resize(output.bytes / feed.batch() * feed.samples());
    predicted.push_back({i, std::move(tensor)});
  }
  if (predicted.empty())
    throw badInput("no output has an axis of ", feed.batch(),
                   " samples: ", others, "; use `gradus run`");
  if (!others.empty())
    note(absl::StrCat("without an axis of ", feed.batch(),
                      " samples, and left out: ", others,
                      "; `gradus run` gives them batch by batch"));
  return predicted;
}

/// Copies the first `count` samples of the outputs of the last step.
void collect(const Session &session, int graph, int64_t first, int64_t count,
             std::vector<Predicted> &predicted) {
  for (auto &[output, tensor] : predicted) {
    size_t perSample = tensor.bytes.size() / tensor.type.shape[0];
    auto *from =
        static_cast<const uint8_t *>(session.outputBuffer(graph, output));
    std::copy_n(from, count * perSample,
                tensor.bytes.data() + first * perSample);
  }
}

std::vector<OutputTensor> predict(Session &session, int graph,
                                  const data::Feed &feed, int dataThreads) {
  std::vector<Predicted> predicted =
      outputTensors(session.graphs()[graph], feed);
  data::Batches batches(feed, {.end = data::Batches::perEpoch(feed, false),
                               .threads = dataThreads});
  size_t inputs = feed.inputCount();
  while (const data::Chunk *chunk = batches.next())
    for (int64_t i = 0; i < chunk->count; ++i) {
      check(session.step(graph, chunk->inputs.subspan(i * inputs, inputs)));
      int64_t first = (chunk->first + i) * feed.batch();
      collect(session, graph, first,
              std::min(feed.batch(), feed.samples() - first), predicted);
    }
  check(batches.status());
  std::vector<OutputTensor> tensors;
  for (Predicted &each : predicted)
    tensors.push_back(std::move(each.tensor));
  return tensors;
}

/// The image files of the rows of the outputs, in this order.
std::vector<std::string> filesOf(const data::Dataset &dataset) {
  for (const data::Column &column : dataset.columns())
    if (column.files)
      return *column.files;
  return {};
}

/// The metadata of a .safetensors file that names the images of its rows.
std::map<std::string, std::string>
metadataOf(const std::vector<std::string> &files) {
  if (files.empty())
    return {};
  return {{"files", jsonText(nlohmann::json(files))}};
}

void run(const PredictOptions &options) {
  checkTensorPath(options.output);
  std::vector<UsedFile> inputs = initialFiles(options.session);
  inputs.push_back({"--checkpoint", options.session.resume});
  for (UsedFile &file : dataFiles("--data", options.data))
    inputs.push_back(std::move(file));
  checkOutputFiles({{"-o", options.output}}, inputs);
  checkHoldsNoState("-o", options.output);
  data::Dataset dataset = openData(options.data);
  auto session = openSession(options.session);
  checkNormalization(*session, options.session);
  noteInitialState(options.session);
  int graph = findGraph(*session, well_known::kPredict);
  data::Feed feed = matchData(*session, graph, dataset, Use::prediction);
  auto tensors = predict(*session, graph, feed, dataThreads(options.session));
  std::vector<std::string> files = filesOf(dataset);
  writeTensors(options.output, tensors, metadataOf(files));
  for (const OutputTensor &tensor : tensors)
    if (options.session.json)
      printJson(nlohmann::ordered_json{{"output", tensor.name},
                                       {"type", toString(tensor.type)},
                                       {"file", options.output}});
    else
      std::printf("%s %s -> %s\n", printable(tensor.name).c_str(),
                  toString(tensor.type).c_str(),
                  printable(options.output).c_str());
  if (options.session.json && !files.empty())
    printJson(nlohmann::ordered_json{{"files", files}});
}

} // namespace

void addPredict(CLI::App &app) {
  auto options = std::make_shared<PredictOptions>();
  CLI::App *command =
      app.add_subcommand("predict", "The model's outputs for a data set");
  command->footer(std::string(kDataFooter) + "\n" + kFooter);
  addTrainedOptions(*command, options->session, options->data);
  command
      ->add_option("-o,--output", options->output,
                   "A .safetensors or .npz file")
      ->required();
  command->callback([options] { run(*options); });
}

} // namespace gradus::cli
