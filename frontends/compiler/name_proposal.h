// Proposes rules for --init-map and --weights-map that turn the names in a file
// into those of the model. It finds prefixes that wrappers and libraries add
// ("module.", "_orig_mod.", "resnet."). The tool compiles this file, too: its
// `train` runs without the compiler.

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
  size_t fits = 0;                // number of the file's tensors that they name
};

/// Proposes rules for tensors whose names the model does not have; empty if
/// nothing fits. Only tensors of equal shape match. No rule renames one of
/// `placed`: other tensors of the file whose names the model has.
NameProposal proposeNames(const std::vector<NamedShape> &file,
                          const std::vector<NamedShape> &model,
                          std::set<std::string> placed = {});

/// Returns the rules as options to paste into a shell: "--init-map 'resnet.*=*'
/// --init-map 'fc.*='".
std::string mapOptions(const std::string &option,
                       const std::vector<std::string> &rules);

/// Returns "--init-map 'resnet.*=*' names 62 of its tensors as the model does";
/// empty if nothing is proposed.
std::string adviceOf(const NameProposal &proposal, const std::string &option);

} // namespace gradus::compiler
