// The runtime's hand-made artifact as a file, loaded: `train` adds the input
// `x` (8 floats) to the state `total`, which starts as 0, 1, ... 7, and gives
// `sum`.
#pragma once

#include "tests/runtime/fake_device.h"
#include "tests/runtime/test_artifact.h"
#include "tool/failure.h"
#include "tool/session/session_options.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace gradus::cli {

class Adder {
public:
  explicit Adder(test::TestArtifact artifact = {}) {
    path = (std::filesystem::temp_directory_path() /
            ("gradus_adder." + std::to_string(getpid()) + ".gradus"))
               .string();
    std::vector<uint8_t> bytes = artifact.bytes();
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  }
  ~Adder() { std::filesystem::remove(path); }

  std::unique_ptr<runtime::Session> open() const {
    SessionOptions options;
    options.artifact = path;
    options.threads = 1;
    return openSession(options);
  }
  /// On "cpu" or "fake", whose memory is out of the host's reach.
  std::unique_ptr<runtime::Session> openOn(const std::string &device) const {
    return take(runtime::Session::create(take(runtime::Artifact::open(path)),
                                         test::deviceOf(device),
                                         {.threads = 1}));
  }

  std::string path;
};

} // namespace gradus::cli
