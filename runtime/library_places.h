// The places where libraries that Gradus opens at run time are searched for. No
// path of the build machine is among them.
#pragma once

#include <string>
#include <vector>

namespace gradus::runtime {

/// The folders of libraries that come with Gradus: the folder of the file that
/// contains this code, and ../lib from there; none if it is not known.
std::vector<std::string> ownPlaces();

/// The files to try for a library, in this order:
///   1. the file that the environment variable `variable` names, and then no
///      other; an empty variable names none;
///   2. each of `names` beside this code, and in ../lib from there;
///   3. the names alone, which the system's loader looks up: in folders of
///      LD_LIBRARY_PATH and in its own, never in the current folder unless that
///      variable says so.
std::vector<std::string> libraryPlaces(const char *variable,
                                       const std::vector<const char *> &names);

/// Of these the first that is there to be read, as far as that is known without
/// the system's loader; empty if it alone knows, or there is none.
std::string knownPlace(const char *variable,
                       const std::vector<const char *> &names);

} // namespace gradus::runtime
