// One table of the options. A new option of compiling is a field of Request, a
// flag in tool/compile/compile.cpp and a line of this table; for Python a
// keyword in python/gradus/_compile.py and a word in docs/python.md.

#include "frontends/compiler/extra_options.h"

#include "frontends/compiler/name_map.h"
#include "frontends/compiler/text_file.h"
#include "frontends/compiler/tuning_file.h"
#include "messages/message.h"
#include "recipe/nearest.h"

#include <map>

namespace gradus::compiler {
namespace {

using Values = std::vector<std::string>; // of an option, one at least

absl::Status setText(const char *name, const Values &values,
                     std::string &target) {
  if (values.size() > 1)
    return invalid(name, ": is given ", values.size(), " times, expected once");
  target = values.front();
  return absl::OkStatus();
}

absl::Status setEpilogues(const Values &values, Request &request) {
  return setText("epilogues", values, request.plan.epilogues);
}

absl::Status setRule(const Values &values, Request &request) {
  return setText("initialize", values, request.weights.rule);
}

absl::Status setKernelCache(const Values &values, Request &request) {
  return setText("kernel-cache", values, request.plan.kernelCache);
}

absl::Status checkFiles(const Values &paths) {
  for (const std::string &path : paths)
    if (isNoFile(path))
      return invalid(path, ": is not a file");
  return absl::OkStatus();
}

absl::Status readTuning(const Values &values, Request &request) {
  GRADUS_RETURN_IF_ERROR(checkFiles(values));
  GRADUS_ASSIGN_OR_RETURN(request.plan.tuning, readTuningFiles(values));
  return absl::OkStatus();
}

absl::Status renameWeights(const Values &rules, Request &request) {
  const std::string &file = request.weights.file;
  std::vector<Weight> &weights = request.weights.values;
  if (weights.empty())
    return invalid("weights-map ", rules.front(),
                   ": needs weights, whose names it maps");
  GRADUS_RETURN_IF_ERROR(checkFiles(rules));
  GRADUS_ASSIGN_OR_RETURN(NameMap map, NameMap::of("weights-map", rules));
  std::vector<std::string> names;
  for (const Weight &weight : weights)
    names.push_back(weight.name);
  GRADUS_RETURN_IF_ERROR(map.checkFits(file, names));
  auto renamed = map.newNames(names);
  if (!renamed.ok())
    return invalid(file, ": ", renamed.status().message());
  std::vector<Weight> taken;
  for (size_t i = 0; i < weights.size(); ++i) {
    Weight weight = std::move(weights[i]);
    if ((*renamed)[i].empty())
      continue;
    if ((*renamed)[i] != weight.name)
      weight.ownName = std::exchange(weight.name, (*renamed)[i]);
    taken.push_back(std::move(weight));
  }
  if (taken.empty())
    return invalid("weights ", file, ": none of its ", weights.size(),
                   " tensors is taken; weights-map leaves all out");
  weights = std::move(taken);
  return absl::OkStatus();
}

struct Option {
  std::string name;
  absl::Status (*apply)(const Values &values, Request &request);
};

const Option kOptions[] = {
    {"epilogues", setEpilogues},      {"initialize", setRule},
    {"kernel-cache", setKernelCache}, {"tuning", readTuning},
    {"weights-map", renameWeights},
};

absl::Status refuse(const std::string &name) {
  std::vector<std::string> names;
  for (const Option &option : kOptions)
    names.push_back(option.name);
  std::string_view near = nearest(name, names);
  return invalid("extra: unknown option \"", name, "\"",
                 near.empty() ? "" : message("; did you mean ", near, "?"),
                 "; there are ", joined(names));
}

} // namespace

absl::Status addExtraOptions(const std::vector<std::string> &texts,
                             Request &request) {
  std::map<std::string, Values> given;
  for (const std::string &text : texts) {
    size_t equals = text.find('=');
    if (equals == std::string::npos)
      return invalid("extra: ", text, ": expected NAME=VALUE, such as ",
                     "\"epilogues=bias\"");
    given[text.substr(0, equals)].push_back(text.substr(equals + 1));
  }
  for (const Option &option : kOptions)
    if (auto found = given.extract(option.name))
      GRADUS_RETURN_IF_ERROR(option.apply(found.mapped(), request));
  return given.empty() ? absl::OkStatus() : refuse(given.begin()->first);
}

} // namespace gradus::compiler
