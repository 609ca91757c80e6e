// The options are the same for all commands that read models.

#include "tool/weight_options.h"

#include "runtime/session/checkpoint.h"
#include "tool/failure.h"
#include "tool/foreign_file.h"
#include "tool/name_map.h"
#include "tool/text.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

using namespace gradus::runtime;

namespace gradus::cli {

void addWeightOptions(CLI::App &command, compiler::Request &request,
                      std::vector<std::string> &map) {
  command.add_option("--weights", request.weightsFile,
                     "Initial weights by name (.safetensors)");
  command
      .add_option("--weights-map", map,
                  "Names in that file: FROM=TO with one *; 'head.*=' leaves "
                  "out; or FILE.json of many; repeats")
      ->allow_extra_args(false);
  CLI::Option *initialize =
      command
          .add_option("--initialize", request.initialize,
                      "Rule for weights whose data file is missing: pytorch "
                      "(as its layers of their kind), kaiming_uniform, "
                      "xavier_uniform, normal or zeros")
          ->expected(0, 1); // No file is reported below, in better words.
  command.parse_complete_callback([initialize, &request] {
    if (initialize->count() && request.initialize.empty())
      throw badInput(
          "--initialize needs a rule: pytorch (as layers start "
          "there), kaiming_uniform, xavier_uniform, normal or zeros");
  });
}

/// PyTorch counts the batches of each batch normalization in its state_dict; no
/// computation uses them.
static bool isBatchCount(const NamedTensor &tensor) {
  return absl::EndsWith(tensor.name, "num_batches_tracked") &&
         tensor.type == TensorType{DType::i64, {}};
}

std::optional<Safetensors> openWeights(compiler::Request &request,
                                       const std::vector<std::string> &map) {
  if (request.weightsFile.empty() && !map.empty())
    throw badInput("--weights-map ", map.front(),
                   ": needs --weights FILE, whose names it maps");
  if (request.weightsFile.empty())
    return {};
  refuseForeign(request.weightsFile, Wanted::weights, "--weights");
  Safetensors file = take(Safetensors::open(request.weightsFile));
  std::vector<std::string> names;
  for (const NamedTensor &tensor : file.tensors())
    names.push_back(tensor.name);
  NameMap rename("--weights-map", map);
  rename.checkFits(request.weightsFile, names);
  auto meant = meantFor(file, rename);
  check(at(meant.status(), request.weightsFile));
  int64_t counts = 0;
  for (const NamedTensor &tensor : file.tensors()) {
    std::string name = rename(tensor.name);
    auto found = meant->find(name);
    if (found == meant->end() || found->second != &tensor)
      continue;
    if (isBatchCount(tensor))
      ++counts;
    else
      request.weights.push_back({name, nameOf(tensor.type.dtype),
                                 tensor.type.shape, tensor.data,
                                 name == tensor.name ? "" : tensor.name});
  }
  if (request.weights.empty() && !file.tensors().empty())
    throw badInput("--weights ", request.weightsFile, ": none of its ",
                   file.tensors().size(), " tensors is taken",
                   map.empty() ? "" : "; --weights-map leaves all out");
  if (counts)
    note(absl::StrCat(request.weightsFile, ": ", counts,
                      " counts of batches (num_batches_tracked) are not used"));
  return file;
}

} // namespace gradus::cli
