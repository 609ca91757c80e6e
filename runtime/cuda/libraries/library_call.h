// An interface to serve the library commands of a plan: by the vendor's
// libraries on a real GPU, by plain loops on the emulated one.
#pragma once

#include "runtime/artifact/artifact.h"
#include "runtime/cuda/driver/driver.h"
#include "runtime/flat.h"

#include <memory>
#include <string>
#include <vector>

namespace gradus::runtime::cuda {

/// The addresses of the tensors of a call, and of its scratch.
struct CallAddresses {
  std::vector<DevicePointer> inputs, outputs;
  DevicePointer scratch = 0;
};

/// A command prepared for one GPU. Commands that differ only in buffers may
/// share it.
class LibraryCall {
public:
  virtual ~LibraryCall() = default;
  /// The bytes of scratch that it needs.
  virtual uint64_t scratchBytes() const { return 0; }
  /// The algorithm, if there was a choice, as in artifact::LibraryChoice.
  virtual std::string algorithm() const { return ""; }
  /// Whether the algorithm was measured to be best, not the library's own
  /// choice.
  bool isMeasured() const { return isMeasured_; }
  void noteMeasured() { isMeasured_ = true; }
  /// Enqueues the call on a stream, which may be capturing: nothing is
  /// allocated, loaded or waited for. Addresses may differ each time.
  virtual Status enqueue(Stream stream, const CallAddresses &addresses) = 0;
  /// Releases the stream, which may then be destroyed; it no longer captures.
  virtual void leaveStream() {}

private:
  bool isMeasured_ = false;
};

/// The algorithms for a command; the library's own choice comes first.
struct Algorithms {
  std::string library; // library and version: "cublaslt 130100"
  std::vector<std::string> texts;
};

class LibraryServer {
public:
  virtual ~LibraryServer() = default;
  /// Prepares a verified command with at most `scratchBytes` of scratch if
  /// possible, else with as few as possible. The command must outlive the call.
  virtual StatusOr<std::unique_ptr<LibraryCall>>
  prepare(const artifact::LibraryCommand &command, uint64_t scratchBytes) = 0;
  /// Prepares a command with a given algorithm; fails if that does not work.
  virtual StatusOr<std::unique_ptr<LibraryCall>>
  prepareWith(const std::string &algorithm,
              const artifact::LibraryCommand & /*command*/,
              uint64_t /*scratchBytes*/) {
    return invalid("there is no algorithm '", algorithm, "'");
  }
  /// Lists the algorithms for a command with at most `scratchBytes` of scratch.
  virtual StatusOr<Algorithms>
  algorithms(const artifact::LibraryCommand & /*command*/,
             uint64_t /*scratchBytes*/) {
    return Algorithms();
  }
  /// Describes the missing algorithm if the library supports none for a valid
  /// command with any scratch: "cuBLASLt has no algorithm with GELU_AUX"; empty
  /// otherwise.
  virtual StatusOr<std::string>
  lackOf(const artifact::LibraryCommand & /*command*/) {
    return std::string();
  }
  /// Allows calls that are prepared from now on to use this many bytes of
  /// scratch in addition to the plan's, if the library benefits.
  virtual void lend(uint64_t /*bytes*/) {}
  /// Whether each call must run once before it is captured, on arbitrary data.
  virtual bool warmsUp() const { return false; }
};

/// Prepares a command with the first working algorithm among those measured to
/// be best on a GPU of this name by this version of the library. Null: there is
/// none.
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
