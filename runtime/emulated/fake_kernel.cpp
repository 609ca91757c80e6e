// The emulated GPU checks elements and races; this file also checks each access
// against the accesses that the launch declared and the contents of memory.

#include "runtime/emulated/fake_kernel.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

namespace gradus::runtime::cuda {

namespace {

/// Bytes that a kernel declared to read or to write.
struct Part {
  Access access;
  uint8_t *held;              // for each byte whether it was written before
  std::vector<uint8_t> wrote; // for each byte whether this launch wrote it

  bool has(DevicePointer start, uint64_t bytes) const {
    return start >= access.start && start + bytes <= access.end();
  }
};

bool allSet(const uint8_t *flags, uint64_t count) {
  return std::memchr(flags, 0, count) == nullptr;
}

/// Checks each access of a kernel.
class Watch {
public:
  Watch(std::span<const Access> accesses, FakeMemory &memory)
      : memory_(memory) {
    for (const Access &access : accesses)
      if (access.bytes)
        (access.writes ? writes_ : reads_)
            .push_back(
                {access, memory.flags(access.start),
                 std::vector<uint8_t>(access.writes ? access.bytes : 0)});
  }

  std::string write(DevicePointer start, uint64_t bytes) {
    Part *part = find(writes_, start, bytes);
    if (!part)
      return "writes what its command does not say that it writes";
    uint64_t offset = start - part->access.start;
    std::memset(part->held + offset, 1, bytes);
    std::memset(part->wrote.data() + offset, 1, bytes);
    return "";
  }

  /// Checks a read. A kernel may also read what it wrote itself.
  std::string read(DevicePointer start, uint64_t bytes) {
    if (const Part *part = find(reads_, start, bytes))
      return allSet(part->held + (start - part->access.start), bytes)
                 ? ""
                 : "reads what nothing has written";
    if (wroteAll(start, bytes))
      return "";
    return covers(start, start + bytes)
               ? memory_.isWritten(start, bytes)
                     ? ""
                     : "reads what nothing has written"
               : "reads what its command does not say that it reads";
  }

private:
  /// Finds the part of an access; most are in the same part as the one before.
  static Part *find(std::vector<Part> &parts, DevicePointer start,
                    uint64_t bytes) {
    for (Part &part : parts)
      if (part.has(start, bytes)) {
        std::swap(part, parts.front());
        return &parts.front();
      }
    return nullptr;
  }

  bool wroteAll(DevicePointer start, uint64_t bytes) const {
    return std::any_of(writes_.begin(), writes_.end(), [&](const Part &part) {
      return part.has(start, bytes) &&
             allSet(part.wrote.data() + (start - part.access.start), bytes);
    });
  }

  /// Whether the declared reads together cover a range.
  bool covers(DevicePointer start, DevicePointer end) const {
    while (start < end) {
      DevicePointer reached = start;
      for (const Part &part : reads_)
        if (part.access.start <= start)
          reached = std::max(reached, part.access.end());
      if (reached == start)
        return false;
      start = reached;
    }
    return true;
  }

  FakeMemory &memory_;
  std::vector<Part> reads_, writes_;
};

/// Adds accesses, merging overlapping ones. Races need not be tracked in memory
/// that is fully written and only read.
void addRanges(std::vector<Access> accesses, const FakeMemory &memory,
               emulated::Memory &ranges) {
  std::sort(accesses.begin(), accesses.end(),
            [](const Access &a, const Access &b) { return a.start < b.start; });
  for (size_t i = 0; i < accesses.size();) {
    Access range = accesses[i];
    for (++i; i < accesses.size() && accesses[i].start < range.end(); ++i) {
      range.bytes = std::max(range.end(), accesses[i].end()) - range.start;
      range.unit = std::min(range.unit, accesses[i].unit);
      range.writes |= accesses[i].writes;
    }
    void *start = std::bit_cast<void *>(range.start);
    if (range.writes || !memory.isWritten(range.start, range.bytes))
      ranges.add(start, int64_t(range.bytes), range.unit);
    else
      ranges.addConstant(start, int64_t(range.bytes));
  }
}

std::vector<Access> allOf(FakeMemory &memory) {
  std::vector<Access> all;
  for (const auto &[start, allocation] : memory.allocations())
    for (bool writes : {false, true})
      if (!allocation.freed && !allocation.pinned)
        all.push_back({start, allocation.bytes, 1, writes});
  return all;
}

} // namespace

Status runKernel(const FakeLaunch &kernel, FakeMemory &memory,
                 int64_t &operations) {
  std::vector<Access> accesses =
      kernel.declared ? kernel.accesses : allOf(memory);
  Watch watch(accesses, memory);
  emulated::Memory ranges;
  addRanges(std::move(accesses), memory, ranges);
  ranges.watch = [&](const void *address, int64_t bytes, bool writes) {
    auto start = std::bit_cast<DevicePointer>(address);
    return writes ? watch.write(start, uint64_t(bytes))
                  : watch.read(start, uint64_t(bytes));
  };
  return emulated::run(kernel.launch, ranges, operations);
}

} // namespace gradus::runtime::cuda
