// Shared libraries that are opened while the program runs: all that Gradus
// opens so, it opens here.
//
// A name without a folder is looked up by the system's loader, never in the
// current folder, whose files may be anybody's.
#pragma once

#include "runtime/status.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace gradus::runtime {

/// A library that stays open as long as the process, unless it is closed.
class SharedLibrary {
public:
  /// The time when the functions that the library imports are looked up. A
  /// library that lacks some opens with `whenCalled` alone.
  enum class Imports { now, whenCalled };

  /// Opens a file, or a name that the system's loader looks up. The error is
  /// the loader's, which begins with the file.
  static StatusOr<SharedLibrary> open(const std::string &file,
                                      Imports imports = Imports::now);

  const std::string &file() const { return file_; }
  void *handle() const { return handle_; }
  /// The function that is exported as `symbol`; null if there is none.
  template <typename Function> Function *function(const char *symbol) const {
    return reinterpret_cast<Function *>(address(symbol));
  }
  /// Ends the use of a library in which nothing was called.
  void close();

private:
  SharedLibrary(void *handle, const std::string &file)
      : handle_(handle), file_(file) {}
  void *address(const char *symbol) const;

  void *handle_;
  std::string file_;
};

/// A library that is looked for in the places of runtime/library_places.h.
struct WantedLibrary {
  const char *variable;            // the environment variable that may name it
  std::vector<const char *> names; // its names, the best first
  SharedLibrary::Imports imports = SharedLibrary::Imports::now;
};

/// The result of a search.
struct LibrarySearch {
  std::optional<SharedLibrary> found;
  /// If nothing is found: why not, one reason a file, for those that are not
  /// there and for those that are.
  std::string missing, refused;

  /// The reasons that say most. That of a file which is there says more than
  /// that others are not.
  const std::string &reasons() const {
    return refused.empty() ? missing : refused;
  }
};

/// Finds the first library that opens and serves. `serves` says what an open
/// one lacks, as in "is of version 11.8.0".
LibrarySearch
findLibrary(const WantedLibrary &wanted,
            const std::function<Status(const SharedLibrary &)> &serves = {});

} // namespace gradus::runtime
