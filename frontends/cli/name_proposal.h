// Rules of --init-map that make the names of a file those of a model: what
// wrappers and libraries put in front of names ("module.", "_orig_mod.",
// "resnet.") is found, so that it can be pasted.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gradus::cli {

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
NameProposal proposeNames(const std::vector<NamedShape> &file,
                          const std::vector<NamedShape> &model);

/// "--init-map 'resnet.*=*' --init-map 'fc.*='"
std::string mapOptions(const std::vector<std::string> &rules);

} // namespace gradus::cli
