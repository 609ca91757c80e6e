// Memory, copies, streams and events of the emulated GPU.

#include "runtime/emulated/fake_state.h"

#include "runtime/artifact_hash.h"

#include <cstring>

namespace gradus::runtime::cuda {

namespace {

uint8_t *bytesAt(DevicePointer address) {
  return std::bit_cast<uint8_t *>(address);
}

DevicePointer addressOf(const void *data) {
  return reinterpret_cast<DevicePointer>(data);
}

} // namespace

//===-- memory ------------------------------------------------------------===//

Result FakeState::memoryAllocate(DevicePointer *address, size_t bytes) {
  if (bytes == 0)
    return refuse(Result::invalidValue, "asks for no bytes");
  if (allocated_++ == options_.outOfMemoryAt ||
      bytes > options_.memoryBytes - memory_.used())
    return Result::outOfMemory;
  *address = memory_.allocate(bytes, /*pinned=*/false);
  return *address ? Result::success : Result::outOfMemory;
}

Result FakeState::memoryFree(DevicePointer address) {
  return release(address, /*pinned=*/false);
}

Result FakeState::memoryInfo(size_t *free, size_t *total) {
  *total = options_.memoryBytes;
  *free = options_.memoryBytes - memory_.used();
  return Result::success;
}

Result FakeState::pinnedAllocate(void **address, size_t bytes, unsigned) {
  if (bytes == 0)
    return refuse(Result::invalidValue, "asks for no bytes");
  DevicePointer start = memory_.allocate(bytes, /*pinned=*/true);
  *address = bytesAt(start);
  return start ? Result::success : Result::outOfMemory;
}

Result FakeState::pinnedFree(void *address) {
  return release(addressOf(address), /*pinned=*/true);
}

Result FakeState::release(DevicePointer start, bool pinned) {
  auto found = memory_.allocations().find(start);
  if (found != memory_.allocations().end() && !found->second.freed)
    if (std::string user = work_.userOf(start, found->second.bytes);
        !user.empty())
      return refuse(Result::invalidValue, "frees ", found->second.name(),
                    " that ", user, " is yet to use");
  if (memory_.free(start, pinned))
    return Result::success;
  return refuse(Result::invalidValue, "frees what is not allocated");
}

//===-- work --------------------------------------------------------------===//

Result FakeState::add(const FakeOpRef &op) {
  if (std::string wrong = work_.add(op); !wrong.empty()) {
    fault(Result::launchFailed, wrong);
    return lose(Result::launchFailed);
  }
  return Result::success;
}

FakeOpRef FakeState::behind(const std::shared_ptr<FakeStream> &stream,
                            FakeOp op) {
  auto added = std::make_shared<FakeOp>(std::move(op));
  if (stream->last)
    added->after.push_back(stream->last);
  stream->last = added;
  return added;
}

Result FakeState::begin(Stream stream, FakeOp op) {
  auto found = objects_.streams.find(stream);
  if (!found)
    return refuse(Result::invalidHandle, "there is no such stream");
  if (found->capture)
    return record(*found->capture, std::move(op));
  return add(behind(found, std::move(op)));
}

Result FakeState::finish(const FakeOpRef &op) {
  Result result = work_.finish(op);
  return result == Result::success ? result : lose(result);
}

Result FakeState::checkBytes(const FakeOp &op, bool readsAll) {
  for (const Access &access : op.accesses) {
    std::string wrong = memory_.outside(access.start, access.bytes);
    bool isWritten = true;
    if (wrong.empty() && readsAll && !access.writes)
      access.forEachRow([&](DevicePointer start, uint64_t bytes) {
        isWritten = isWritten && memory_.isWritten(start, bytes);
      });
    if (!isWritten)
      wrong = "holds what nothing has written";
    if (!wrong.empty())
      return fault(Result::illegalAddress,
                   inWords(op.name, ": memory that it ",
                           access.writes ? "writes" : "reads", " ", wrong));
  }
  return Result::success;
}

//===-- copies ------------------------------------------------------------===//

Result FakeState::runCopy(const FakeOp &op, DevicePointer to,
                          DevicePointer from, size_t bytes) {
  note(op);
  if (Result result = checkBytes(op, /*readsAll=*/true);
      result != Result::success)
    return result;
  if (from < to + bytes && to < from + bytes)
    return fault(Result::illegalAddress,
                 op.name + ": the bytes that it writes are those it reads");
  std::memcpy(bytesAt(to), bytesAt(from), bytes);
  memory_.noteWritten(to, bytes);
  return Result::success;
}

Result FakeState::runFill(const FakeOp &op, DevicePointer to, uint8_t value,
                          size_t bytes) {
  note(op);
  if (Result result = checkBytes(op, /*readsAll=*/true);
      result != Result::success)
    return result;
  std::memset(bytesAt(to), value, bytes);
  memory_.noteWritten(to, bytes);
  return Result::success;
}

/// Copies to the device. Pinned memory is read when the copy runs, and must not
/// change until then; other memory is copied now.
Result FakeState::copyToDevice(DevicePointer to, const void *from, size_t bytes,
                               Stream stream) {
  if (Result result = checkNotRecording(stream); result != Result::success)
    return result;
  FakeOp op;
  op.name = inWords("an upload of ", bytes, " bytes");
  op.accesses = {accessTo(to, bytes, true)};
  DevicePointer start = addressOf(from);
  if (!memory_.isPinned(start)) {
    const auto *data = static_cast<const uint8_t *>(from);
    op.run = [this, op, to, held = std::vector<uint8_t>(data, data + bytes)] {
      note(op);
      if (Result result = checkBytes(op, true); result != Result::success)
        return result;
      std::memcpy(bytesAt(to), held.data(), held.size());
      memory_.noteWritten(to, held.size());
      return Result::success;
    };
    return begin(stream, std::move(op));
  }
  op.accesses.push_back(accessTo(start, bytes, false));
  if (Result result = checkBytes(op, true); result != Result::success)
    return result;
  uint64_t hash = artifact::hashBytes(bytesAt(start), bytes);
  op.run = [this, op, to, start, bytes, hash] {
    if (artifact::hashBytes(bytesAt(start), bytes) != hash)
      return fault(Result::launchFailed,
                   op.name + ": the host changed it before it was done");
    return runCopy(op, to, start, bytes);
  };
  return begin(stream, std::move(op));
}

/// Copies to the host. Pinned memory holds NaNs until the copy is done; for
/// other memory the call waits.
Result FakeState::copyToHost(void *to, DevicePointer from, size_t bytes,
                             Stream stream) {
  if (Result result = checkNotRecording(stream); result != Result::success)
    return result;
  FakeOp op;
  op.name = inWords("a download of ", bytes, " bytes");
  op.accesses = {accessTo(from, bytes, false)};
  bool pinned = memory_.isPinned(addressOf(to));
  if (pinned)
    op.accesses.push_back(accessTo(addressOf(to), bytes, true));
  op.run = [this, op, to, from, bytes] {
    note(op);
    if (Result result = checkBytes(op, true); result != Result::success)
      return result;
    std::memcpy(to, bytesAt(from), bytes);
    return Result::success;
  };
  Result result = begin(stream, std::move(op));
  if (result != Result::success)
    return result;
  if (!pinned)
    return finish(objects_.streams.find(stream)->last);
  if (memory_.outside(addressOf(to), bytes).empty())
    std::memset(to, 0xFF, bytes);
  return Result::success;
}

Result FakeState::copyOnDevice(DevicePointer to, DevicePointer from,
                               size_t bytes, Stream stream) {
  if (Result result = checkNotRecording(stream); result != Result::success)
    return result;
  FakeOp op;
  op.name = inWords("a copy of ", bytes, " bytes");
  op.accesses = {accessTo(to, bytes, true), accessTo(from, bytes, false)};
  op.run = [this, op, to, from, bytes] { return runCopy(op, to, from, bytes); };
  return begin(stream, std::move(op));
}

Result FakeState::fill(DevicePointer to, unsigned char value, size_t bytes,
                       Stream stream) {
  FakeOp op;
  op.name = inWords("a fill of ", bytes, " bytes");
  op.accesses = {accessTo(to, bytes, true)};
  op.run = [this, op, to, value, bytes] {
    return runFill(op, to, value, bytes);
  };
  return begin(stream, std::move(op));
}

Result FakeState::discard(DevicePointer start, size_t bytes, Stream stream) {
  if (Result result = checkNotRecording(stream); result != Result::success)
    return result;
  FakeOp op;
  op.name = inWords("a discard of ", bytes, " bytes");
  op.accesses = {accessTo(start, bytes, true)};
  op.run = [this, op, start, bytes] {
    Result result = checkBytes(op, true);
    if (result == Result::success)
      memory_.forget(start, bytes);
    return result;
  };
  return begin(stream, std::move(op));
}

//===-- streams and events ------------------------------------------------===//

Result FakeState::streamCreate(Stream *stream, unsigned, int) {
  *stream = objects_.streams.add(std::make_shared<FakeStream>());
  return Result::success;
}

Result FakeState::streamDestroy(Stream stream) {
  auto found = objects_.streams.find(stream);
  if (!objects_.streams.remove(stream))
    return refuse(Result::invalidHandle, "there is no such stream");
  if (!found->capture)
    return Result::success;
  graphDestroy(found->capture->graph);
  return refuse(Result::illegalState, "the stream still records");
}

Result FakeState::streamSynchronize(Stream stream) {
  auto found = objects_.streams.find(stream);
  if (!found)
    return refuse(Result::invalidHandle, "there is no such stream");
  if (found->capture)
    return refuseInCapture(*found->capture, "waits for a stream that records");
  return finish(found->last);
}

Result FakeState::streamCall(Stream stream, HostFunction function, void *data) {
  FakeOp op;
  op.name = "a call";
  op.isCall = true;
  op.run = [this, op, function, data] {
    note(op);
    function(data);
    return Result::success;
  };
  return begin(stream, std::move(op));
}

Result FakeState::streamWait(Stream stream, Event event, unsigned) {
  auto behindStream = objects_.streams.find(stream);
  auto found = objects_.events.find(event);
  if (!behindStream || !found)
    return refuse(Result::invalidHandle, "there is no such ",
                  found ? "stream" : "event");
  if (Result result = checkNotRecording(stream); result != Result::success)
    return result;
  if (!found->recorded)
    return refuse(Result::invalidValue,
                  "waits for an event that was never recorded");
  FakeOp op;
  op.name = "a wait for an event";
  op.after = {found->recorded};
  return add(behind(behindStream, std::move(op)));
}

Result FakeState::eventCreate(Event *event, unsigned flags) {
  auto made = std::make_shared<FakeEvent>();
  made->timed = !(flags & kEventWithoutTiming);
  *event = objects_.events.add(made);
  return Result::success;
}

Result FakeState::eventDestroy(Event event) {
  if (objects_.events.remove(event))
    return Result::success;
  return refuse(Result::invalidHandle, "there is no such event");
}

Result FakeState::eventRecord(Event event, Stream stream) {
  auto found = objects_.events.find(event);
  auto on = objects_.streams.find(stream);
  if (!found || !on)
    return refuse(Result::invalidHandle, "there is no such ",
                  found ? "stream" : "event");
  if (Result result = checkNotRecording(stream); result != Result::success)
    return result;
  FakeOp op;
  op.name = "the record of an event";
  found->recorded = behind(on, std::move(op));
  return add(found->recorded);
}

Result FakeState::eventSynchronize(Event event) {
  auto found = objects_.events.find(event);
  if (!found)
    return refuse(Result::invalidHandle, "there is no such event");
  if (!found->recorded)
    return refuse(Result::invalidValue,
                  "waits for an event that was never recorded");
  return finish(found->recorded);
}

Result FakeState::eventElapsed(float *milliseconds, Event start, Event end) {
  auto from = objects_.events.find(start), to = objects_.events.find(end);
  if (!from || !to)
    return refuse(Result::invalidHandle, "there is no such event");
  if (!from->timed || !to->timed)
    return refuse(Result::invalidHandle, "the event keeps no time");
  if (!from->recorded || !to->recorded)
    return refuse(Result::invalidHandle, "the event was never recorded");
  if (!from->recorded->isDone() || !to->recorded->isDone())
    return Result::notReady;
  *milliseconds = float(
      double(to->recorded->nanoseconds - from->recorded->nanoseconds) / 1e6);
  return Result::success;
}

} // namespace gradus::runtime::cuda
