// The process in which something was made.
//
// fork copies memory and not threads: in the child, what waits for one of them
// waits for ever. A session asks here before it does.

#pragma once

#include <cstdint>

namespace gradus::runtime {

class Origin {
public:
  Origin();
  /// Whether this process is a child that fork has made since.
  bool isOther() const;

private:
  uint64_t generation_;
};

} // namespace gradus::runtime
