// The options are the same for all commands that read models.

#include "tool/weight_options.h"

#include "frontends/compiler/name_map.h"
#include "runtime/session/checkpoint.h"
#include "tool/failure.h"
#include "tool/foreign_file.h"
#include "tool/text.h"

#include "absl/strings/str_cat.h"

using namespace gradus::runtime;

namespace gradus::cli {

void addWeightOptions(CLI::App &command, compiler::Request &request,
                      std::vector<std::string> &map) {
  command.add_option("--weights", request.weights.file,
                     "Initial weights by name (.safetensors)");
  command
      .add_option("--weights-map", map,
                  "Names in that file: FROM=TO with one *; 'head.*=' leaves "
                  "out; or FILE.json of many; repeats")
      ->allow_extra_args(false);
  CLI::Option *initialize =
      command
          .add_option("--initialize", request.weights.rule,
                      "Rule for weights whose data file is missing: pytorch "
                      "(as its layers of their kind), kaiming_uniform, "
                      "xavier_uniform, normal or zeros")
          ->expected(0, 1); // No file is reported below, in better words.
  command.parse_complete_callback([initialize, &request] {
    if (initialize->count() && request.weights.rule.empty())
      throw badInput(
          "--initialize needs a rule: pytorch (as layers start "
          "there), kaiming_uniform, xavier_uniform, normal or zeros");
  });
}

std::optional<Safetensors> openWeights(compiler::Request &request,
                                       const std::vector<std::string> &map) {
  if (request.weights.file.empty() && !map.empty())
    throw badInput("--weights-map ", map.front(),
                   ": needs --weights FILE, whose names it maps");
  if (request.weights.file.empty())
    return {};
  refuseForeign(request.weights.file, Wanted::weights, "--weights");
  Safetensors file = take(Safetensors::open(request.weights.file));
  std::vector<std::string> names;
  for (const NamedTensor &tensor : file.tensors())
    names.push_back(tensor.name);
  auto rename = take(compiler::NameMap::of("--weights-map", map));
  check(rename.checkFits(request.weights.file, names));
  auto renamed = rename.newNames(names);
  if (!renamed.ok())
    throw badInput(request.weights.file, ": ",
                   std::string(renamed.status().message()));
  int64_t counts = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    const NamedTensor &tensor = file.tensors()[i];
    const std::string &name = (*renamed)[i];
    if (name.empty())
      continue;
    if (isBatchCount(tensor))
      ++counts;
    else
      request.weights.values.push_back(
          {name, nameOf(tensor.type.dtype), tensor.type.shape, tensor.data,
           name == tensor.name ? "" : tensor.name});
  }
  if (request.weights.values.empty() && !file.tensors().empty())
    throw badInput("--weights ", request.weights.file, ": none of its ",
                   file.tensors().size(), " tensors is taken",
                   map.empty() ? "" : "; --weights-map leaves all out");
  if (counts)
    note(absl::StrCat(request.weights.file, ": ", counts,
                      " counts of batches (num_batches_tracked) are not used"));
  return file;
}

std::vector<UsedFile> ruleFiles(const std::string &option,
                                const std::vector<std::string> &rules) {
  std::vector<UsedFile> files;
  for (const std::string &rule : rules)
    if (compiler::isRuleFile(rule))
      files.push_back({option, rule});
  return files;
}

} // namespace gradus::cli
