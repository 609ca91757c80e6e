// Libraries that stand for a driver's or a vendor's, which lie beside this
// program: where it was built, and where it was packed to (tests/gpu/pack.py).
#pragma once

#include "runtime/own_folder.h"

namespace gradus::runtime::cuda {

inline std::string libraryOf(const std::string &name) {
  return ownFolder() + "/" + name + ".so";
}

} // namespace gradus::runtime::cuda
