// Remarks are for the user where nothing fails: the library prints nothing
// itself.

#pragma once

#include <functional>
#include <string>

namespace gradus::training {

enum class Remark { note, warning };

/// Receives a remark; an empty one receives none.
using Tell = std::function<void(Remark kind, const std::string &words)>;

inline void tellIf(const Tell &tell, Remark kind, const std::string &words) {
  if (tell)
    tell(kind, words);
}

} // namespace gradus::training
