// Forged artifacts: every hash is computed again, and machine code stays what a
// compiler wrote, as it is trusted. What is loaded runs two steps of every
// graph.

#include "target.h"

#include "runtime/session/session.h"
#include "tests/runtime/collectives/equal_ranks.h"
#include "tests/runtime/test_artifact.h"

#include <set>

namespace gradus::fuzz {
namespace {

constexpr uint64_t kMostArena = 1 << 26; // bytes, of what is run

/// Hashes of machine code and of how its kernels are called.
using Code = std::pair<uint64_t, uint64_t>;

/// The code of the artifacts that inputs are made of.
std::set<Code> &knownCode() {
  static std::set<Code> known;
  return known;
}

uint64_t hashOf(std::span<const uint8_t> bytes) {
  return artifact::hashBytes(bytes.data(), bytes.size());
}

/// Of each plan that has code of processors.
std::vector<Code> codeOf(const runtime::Artifact &artifact) {
  std::vector<Code> code;
  for (const artifact::Plan *plan : *artifact.header().plans())
    if (plan->code())
      code.push_back({hashOf(artifact.bytes(plan->code())),
                      hashOf(artifact.bytes(plan->kernels()))});
  return code;
}

bool isKnown(const runtime::Artifact &artifact) {
  for (const Code &code : codeOf(artifact))
    if (!knownCode().contains(code))
      return false;
  return true;
}

Outcome refused(const runtime::Status &status) {
  return {Outcome::refused, std::string(status.message())};
}

Outcome run(std::shared_ptr<const runtime::Artifact> artifact) {
  auto session = runtime::Session::create(
      std::move(artifact),
      {.threads = 2, .collectives = std::make_shared<test::EqualRanks>()});
  if (!session.ok())
    return refused(session.status());
  if ((*session)->memory().arena > kMostArena)
    return {Outcome::skipped, "takes much memory"};
  for (size_t graph = 0; graph < (*session)->graphs().size(); ++graph)
    for (int step = 0; step < 2; ++step)
      if (runtime::Status status = (*session)->step(static_cast<int>(graph));
          !status.ok())
        return refused(status);
  return {};
}

} // namespace

void prepare(const std::vector<std::string> &paths) {
  for (const std::string &path : filesAt(paths))
    if (auto artifact = runtime::Artifact::fromBytes(contentOf(path), path);
        artifact.ok())
      for (const Code &code : codeOf(**artifact))
        knownCode().insert(code);
}

Outcome tryInput(std::span<const uint8_t> input) {
  Bytes file(input.begin(), input.end());
  test::reseal(file);
  auto artifact = runtime::Artifact::fromBytes(file, "forged");
  if (!artifact.ok())
    return refused(artifact.status());
  if (!isKnown(**artifact))
    return {Outcome::skipped, "has other machine code"};
  return run(*std::move(artifact));
}

} // namespace gradus::fuzz
