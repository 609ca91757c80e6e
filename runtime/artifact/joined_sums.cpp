// Joins buffers by their offsets.

#include "runtime/artifact/joined_sums.h"

#include "runtime/flat.h"

namespace gradus::runtime {

std::vector<JoinedSum> joinedSums(const artifact::Plan &plan,
                                  const artifact::StartCommand &command) {
  std::vector<JoinedSum> sums;
  uint64_t begin = 0, end = 0; // of the last one, in the arena
  for (size_t i = 0; i < countOf(command.buffers()); ++i) {
    uint32_t number = command.buffers()->Get(i);
    const artifact::Buffer &buffer = *plan.buffers()->Get(number);
    TensorType type = typeOf(buffer.type());
    uint64_t bytes = *bytesOf(type), offset = buffer.offset();
    if (bytes == 0)
      continue;
    bool continues = !sums.empty() && sums.back().type == type.dtype &&
                     offset >= end && offset - end < 64;
    if (!continues) {
      sums.push_back({number, type.dtype, 0});
      begin = offset;
    }
    end = offset + bytes;
    sums.back().count = (end - begin) / bytesOf(type.dtype);
  }
  return sums;
}

} // namespace gradus::runtime
