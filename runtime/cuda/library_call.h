// Library commands of a plan, as somebody serves them: the vendor's libraries
// on a card, plain loops on the emulated one.
#pragma once

#include "runtime/artifact.h"
#include "runtime/cuda/driver.h"
#include "runtime/flat.h"

#include <memory>
#include <string>
#include <vector>

namespace gradus::runtime::cuda {

/// Where the tensors of a call lie, and memory for it alone.
struct CallAddresses {
  std::vector<DevicePointer> inputs, outputs;
  DevicePointer scratch = 0;
};

/// What a command asks for, made ready for one card. Commands that differ in
/// their buffers alone may share it.
class LibraryCall {
public:
  virtual ~LibraryCall() = default;
  /// Bytes of scratch that it takes.
  virtual uint64_t scratchBytes() const { return 0; }
  /// How it computes, where there was a choice, as artifact::LibraryChoice has
  /// it.
  virtual std::string algorithm() const { return ""; }
  /// Whether that was measured to be best, and not the library's own choice.
  bool isMeasured() const { return isMeasured_; }
  void noteMeasured() { isMeasured_ = true; }
  /// Begins the call on a stream, which may be recording a graph: nothing is
  /// allocated, loaded or waited for. Each time may have other addresses.
  virtual Status enqueue(Stream stream, const CallAddresses &addresses) = 0;
  /// Forgets the stream, which may go from there on. It records nothing now.
  virtual void leaveStream() {}

private:
  bool isMeasured_ = false;
};

/// How a command may be computed, the first as its library would have it.
struct Algorithms {
  std::string library; // "cublaslt 130100", which they are of
  std::vector<std::string> texts;
};

class LibraryServer {
public:
  virtual ~LibraryServer() = default;
  /// Makes a verified command ready, if it can with no more than so many bytes
  /// of scratch, else with as few as it can. The command outlives the call.
  virtual StatusOr<std::unique_ptr<LibraryCall>>
  prepare(const artifact::LibraryCommand &command, uint64_t scratchBytes) = 0;
  /// The same, by one algorithm, and an error where it does not serve.
  virtual StatusOr<std::unique_ptr<LibraryCall>>
  prepareWith(const std::string &algorithm,
              const artifact::LibraryCommand & /*command*/,
              uint64_t /*scratchBytes*/) {
    return invalid("there is no algorithm '", algorithm, "'");
  }
  /// Which there are for a command, with no more than so much scratch.
  virtual StatusOr<Algorithms>
  algorithms(const artifact::LibraryCommand & /*command*/,
             uint64_t /*scratchBytes*/) {
    return Algorithms();
  }
  /// What it has no algorithm for, of a command that it can be asked for and
  /// with any scratch: "cuBLASLt has no algorithm with GELU_AUX"; empty: it
  /// has.
  virtual StatusOr<std::string>
  lackOf(const artifact::LibraryCommand & /*command*/) {
    return std::string();
  }
  /// So many bytes of scratch may be taken beside a plan's by calls that
  /// `prepare` makes ready from now on, where a library would rather have them.
  virtual void lend(uint64_t /*bytes*/) {}
  /// Whether each call must run once before it is recorded, on whatever its
  /// tensors hold.
  virtual bool warmsUp() const { return false; }
};

/// By the first algorithm that serves of those that were measured to be best
/// for a command, on a card of this name by this version of a library. Null:
/// none was, or none serves.
inline std::unique_ptr<LibraryCall>
prepareMeasured(LibraryServer &server, const artifact::LibraryCommand &command,
                const std::string &card, const std::string &library,
                uint64_t scratchBytes) {
  for (size_t i = 0; i < countOf(command.choices()); ++i) {
    const artifact::LibraryChoice &choice = *command.choices()->Get(i);
    if (textOf(choice.card()) != card || textOf(choice.library()) != library)
      continue;
    auto call =
        server.prepareWith(textOf(choice.algorithm()), command, scratchBytes);
    if (call.ok()) {
      (*call)->noteMeasured();
      return *std::move(call);
    }
  }
  return nullptr;
}

} // namespace gradus::runtime::cuda
