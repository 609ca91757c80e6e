// The emulated GPU checks elements and races; here each access is checked once
// more, against what the launch declared and what memory holds.

#include "runtime/cuda/fake_kernel.h"

#include <algorithm>

namespace gradus::runtime::cuda {

namespace {

/// Whether accesses of a kind cover all of [start, end).
bool covers(const std::vector<Access> &accesses, bool writes,
            DevicePointer start, DevicePointer end) {
  while (start < end) {
    DevicePointer reached = start;
    for (const Access &access : accesses)
      if (access.writes == writes && access.start <= start)
        reached = std::max(reached, access.end());
    if (reached == start)
      return false;
    start = reached;
  }
  return true;
}

/// What a kernel touches, checked access by access.
class Watch {
public:
  Watch(const FakeLaunch &kernel, FakeMemory &memory)
      : kernel_(kernel), memory_(memory) {
    for (const Access &access : kernel.accesses)
      if (access.writes)
        own_.push_back({access, std::vector<bool>(access.bytes)});
  }

  std::string touch(DevicePointer start, uint64_t bytes, bool writes) {
    if (writes)
      return write(start, bytes);
    if (!memory_.isWritten(start, bytes))
      return "reads what nothing has written";
    // What it wrote itself it may read as well.
    if (kernel_.declared &&
        !covers(kernel_.accesses, false, start, start + bytes) &&
        !wrote(start, bytes))
      return "reads what its command does not say that it reads";
    return "";
  }

private:
  /// Bytes that it may write, and which of them it has written.
  struct Own {
    Access access;
    std::vector<bool> written;
  };

  std::string write(DevicePointer start, uint64_t bytes) {
    if (kernel_.declared &&
        !covers(kernel_.accesses, true, start, start + bytes))
      return "writes what its command does not say that it writes";
    memory_.noteWritten(start, bytes);
    for (Own &own : own_)
      for (DevicePointer at = start; at < start + bytes; ++at)
        if (at >= own.access.start && at < own.access.end())
          own.written[at - own.access.start] = true;
    return "";
  }

  bool wrote(DevicePointer start, uint64_t bytes) const {
    return std::any_of(own_.begin(), own_.end(), [&](const Own &own) {
      if (start < own.access.start || start + bytes > own.access.end())
        return false;
      auto at = own.written.begin() + ptrdiff_t(start - own.access.start);
      return std::all_of(at, at + ptrdiff_t(bytes), [](bool is) { return is; });
    });
  }

  const FakeLaunch &kernel_;
  FakeMemory &memory_;
  std::vector<Own> own_;
};

/// What overlaps is one range, of which threads' accesses are kept track.
void addRanges(std::vector<Access> accesses, emulated::Memory &memory) {
  std::sort(accesses.begin(), accesses.end(),
            [](const Access &a, const Access &b) { return a.start < b.start; });
  for (size_t i = 0; i < accesses.size();) {
    DevicePointer start = accesses[i].start, end = accesses[i].end();
    uint32_t unit = accesses[i].unit;
    for (++i; i < accesses.size() && accesses[i].start < end; ++i) {
      end = std::max(end, accesses[i].end());
      unit = std::min(unit, accesses[i].unit);
    }
    memory.add(reinterpret_cast<void *>(start), int64_t(end - start), unit);
  }
}

std::vector<Access> allOf(FakeMemory &memory) {
  std::vector<Access> all;
  for (const auto &[start, allocation] : memory.allocations())
    if (!allocation.freed && !allocation.pinned)
      all.push_back({start, allocation.bytes, 1, true});
  return all;
}

} // namespace

Status runKernel(const FakeLaunch &kernel, FakeMemory &memory) {
  emulated::Memory ranges;
  addRanges(kernel.declared ? kernel.accesses : allOf(memory), ranges);
  Watch watch(kernel, memory);
  ranges.watch = [&](const void *address, int64_t bytes, bool writes) {
    return watch.touch(reinterpret_cast<DevicePointer>(address),
                       uint64_t(bytes), writes);
  };
  return emulated::run(kernel.launch, ranges);
}

} // namespace gradus::runtime::cuda
