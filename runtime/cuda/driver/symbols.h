// Loads the functions of an open library by their exported names.
#pragma once

#include "runtime/shared_library.h"

namespace gradus::runtime::cuda {

class Symbols {
public:
  explicit Symbols(const SharedLibrary &library) : library_(library) {}

  template <typename Function>
  void take(Function *&function, const char *symbol) {
    function = library_.function<Function>(symbol);
    if (!function && !missing_)
      missing_ = symbol;
  }
  /// The first missing function; null if all were found.
  const char *missing() const { return missing_; }

private:
  SharedLibrary library_;
  const char *missing_ = nullptr;
};

} // namespace gradus::runtime::cuda
