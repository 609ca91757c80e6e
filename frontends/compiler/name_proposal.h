// Rules of --init-map and --weights-map that make the names of a file those of
// a model: what wrappers and libraries put in front of names ("module.",
// "_orig_mod.", "resnet.") is found, so that it can be pasted. The tool
// compiles this, too: its `train` runs without the compiler.

#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace gradus::compiler {

struct NamedShape {
  std::string name;
  std::vector<int64_t> shape;
};

struct NameProposal {
  std::vector<std::string> rules; // "resnet.*=*", in their order
  size_t fits = 0;                // how many tensors of the file they name
};

/// Rules for tensors of a file that no tensor of the model has the name of.
/// Only tensors of one shape are taken for the same. None where nothing fits.
/// No rule is for one of the names that are `placed`: other tensors of the file
/// that the model has as they are.
NameProposal proposeNames(const std::vector<NamedShape> &file,
                          const std::vector<NamedShape> &model,
                          std::set<std::string> placed = {});

/// "--init-map 'resnet.*=*' --init-map 'fc.*='" of the option --init-map, to be
/// pasted into a shell.
std::string mapOptions(const std::string &option,
                       const std::vector<std::string> &rules);

/// "--init-map 'resnet.*=*' names 62 of its tensors as the model does"; empty
/// where nothing is proposed.
std::string adviceOf(const NameProposal &proposal, const std::string &option);

} // namespace gradus::compiler
