// Plug-ins: our own libraries that are opened when they are asked for, such as
// libgradus_cuda.so and libgradus_mpi.so.
#pragma once

#include "runtime/shared_library.h"

#include <string_view>
#include <utility>

namespace gradus::runtime {

/// A plug-in: what names its file, and a function that it has.
struct PlugIn {
  const char *variable, *name, *function;
  SharedLibrary::Imports imports = SharedLibrary::Imports::now;
};

/// Opens a plug-in. It stays open: what it makes may live as long as the
/// program.
StatusOr<SharedLibrary> loadPlugIn(const PlugIn &plugIn);

/// The reason why a plug-in of version `own` refuses a runtime of another
/// version, since the two share classes; empty: it does not.
inline std::string versionRefusal(std::string_view plugIn, std::string_view own,
                                  std::string_view version) {
  if (version == own)
    return "";
  return inWords(plugIn, " is of Gradus ", own, ", and this is Gradus ",
                 version);
}

/// Passes what a plug-in has opened to the runtime.
template <typename Opened>
auto handOver(Opened opened, std::string *error)
    -> decltype((*std::move(opened)).release()) {
  if (opened.ok())
    return (*std::move(opened)).release();
  *error = opened.status().message();
  return nullptr;
}

} // namespace gradus::runtime
