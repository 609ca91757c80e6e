// The process in which an object was made.
//
// fork copies memory but not threads: a child that waits for one of them waits
// for ever. A session checks this first.

#pragma once

#include <cstdint>

namespace gradus::runtime {

class Origin {
public:
  Origin();
  /// Whether this process is a child that was forked since.
  bool isOther() const;

private:
  uint64_t generation_;
};

} // namespace gradus::runtime
