// The functions of a library that is open, by the names that it exports.
#pragma once

#include <dlfcn.h>

namespace gradus::runtime::cuda {

class Symbols {
public:
  explicit Symbols(void *library) : library_(library) {}

  template <typename Function>
  void take(Function *&function, const char *symbol) {
    function = reinterpret_cast<Function *>(dlsym(library_, symbol));
    if (!function && !missing_)
      missing_ = symbol;
  }
  /// The first that it does not have; null: it has all that were asked for.
  const char *missing() const { return missing_; }

private:
  void *library_;
  const char *missing_ = nullptr;
};

} // namespace gradus::runtime::cuda
