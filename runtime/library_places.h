// Where what Gradus opens while it runs is looked for. No path of the machine
// that built it is one of the places.
#pragma once

#include <string>
#include <vector>

namespace gradus::runtime {

/// The folders of what comes with Gradus: that of the file that this code is
/// linked into, and ../lib from there; none where it is not known.
std::vector<std::string> ownPlaces();

/// The files to try for a library, in this order:
///   1. the one that `variable` names in the environment, and no other then; a
///      variable that is empty names none;
///   2. each of `names` beside this code, and in ../lib from there;
///   3. the names alone, which the system's loader looks up: in folders of
///      LD_LIBRARY_PATH and in its own, never in the current one unless that
///      variable says so.
std::vector<std::string> libraryPlaces(const char *variable,
                                       const std::vector<const char *> &names);

} // namespace gradus::runtime
