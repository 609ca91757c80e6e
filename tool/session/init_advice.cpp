// Compares a file's tensors with the states that they may fill.

#include "tool/session/init_advice.h"

#include "frontends/compiler/name_proposal.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <set>

using namespace gradus::runtime;
using gradus::compiler::NamedShape;

namespace gradus::cli {
namespace {

bool isWeight(const StateInfo &state) {
  return state.role == artifact::Role::parameter ||
         state.role == artifact::Role::buffer;
}

/// The weights of the model for which the file has no tensor.
std::vector<NamedShape> unfilled(const Safetensors &file, const Rename &rename,
                                 const Session &session) {
  std::set<std::string> filled;
  for (const NamedTensor &tensor : file.tensors())
    filled.insert(rename(tensor.name));
  std::vector<NamedShape> weights;
  for (const StateInfo &state : session.states())
    if (isWeight(state) && !filled.contains(state.name))
      weights.push_back({state.name, state.type.shape});
  return weights;
}

/// The tensors of the file whose names are not in the model.
std::vector<NamedShape> unnamed(const Safetensors &file, const Rename &rename,
                                const Session &session) {
  std::vector<NamedShape> tensors;
  for (const NamedTensor &tensor : file.tensors())
    if (std::string name = rename(tensor.name);
        !name.empty() && session.findState(name) < 0)
      tensors.push_back({tensor.name, tensor.type.shape});
  return tensors;
}

/// The names in the file that weights of the model have, and that no rule made.
std::set<std::string> placed(const Safetensors &file, const Rename &rename,
                             const Session &session) {
  std::set<std::string> names;
  for (const NamedTensor &tensor : file.tensors())
    if (int state = session.findState(tensor.name);
        state >= 0 && isWeight(session.states()[state]) &&
        rename(tensor.name) == tensor.name)
      names.insert(tensor.name);
  return names;
}

/// Joins names: "a.weight, b.weight and 3 more".
std::string firstOf(const std::vector<NamedShape> &tensors) {
  constexpr size_t kMost = 3;
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(kMost, tensors.size()); ++i)
    names.push_back(tensors[i].name);
  std::string text = absl::StrJoin(names, ", ");
  if (tensors.size() > kMost)
    absl::StrAppend(&text, " and ", tensors.size() - kMost, " more");
  return text;
}

/// A rule that leaves out the module of a tensor.
std::string leavingOut(const std::string &name) {
  size_t dot = name.rfind('.');
  return dot == std::string::npos ? name + "=" : name.substr(0, dot) + ".*=";
}

} // namespace

std::string adviceOnNames(const Safetensors &file, const Rename &rename,
                          const Session &session) {
  std::vector<NamedShape> tensors = unnamed(file, rename, session);
  return tensors.empty() ? ""
                         : absl::StrCat("; it has ", firstOf(tensors),
                                        adviceOnRest(file, rename, session));
}

std::string adviceOnRest(const Safetensors &file, const Rename &rename,
                         const Session &session) {
  std::string advice =
      compiler::adviceOf(compiler::proposeNames(unnamed(file, rename, session),
                                                unfilled(file, rename, session),
                                                placed(file, rename, session)),
                         "--init-map");
  return advice.empty() ? "" : "; " + advice;
}

std::string adviceOnShapes(const Safetensors &file, const Rename &rename,
                           const Session &session) {
  constexpr size_t kMostRules = 4; // with more it is another model
  std::set<std::string> rules;
  for (const NamedTensor &tensor : file.tensors()) {
    int state = session.findState(rename(tensor.name));
    if (state >= 0 && isWeight(session.states()[state]) &&
        session.states()[state].type.shape != tensor.type.shape)
      rules.insert(leavingOut(tensor.name));
  }
  if (rules.empty() || rules.size() > kMostRules)
    return "";
  return absl::StrCat(
      "; ", compiler::mapOptions("--init-map", {rules.begin(), rules.end()}),
      ", before other rules, leaves out what does not fit, "
      "which then keeps its initial values");
}

} // namespace gradus::cli
