// Reads /proc/self/status, and builds the smallest possible artifact.

#include "tool/train/memory_use.h"

#include "runtime/artifact_hash.h"
#include "runtime/session/session.h"

#include <algorithm>
#include <fstream>
#include <malloc.h>
#include <mutex>
#include <string>

using namespace gradus::artifact;

namespace gradus::cli {

uint64_t anonymousBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "RssAnon:") {
      uint64_t kibibytes = 0;
      status >> kibibytes;
      return kibibytes * 1024;
    }
  return 0;
}

/// The C library's allocator initializes itself in its first call, without a
/// lock: at the start of a program, unless another malloc (a sanitizer's, a
/// preloaded one) serves it. Then the first call is this one, which the threads
/// of simulated ranks make at the same time.
void releaseFreed() {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  malloc_trim(0);
}

/// A header with one graph without commands, for any machine.
static HeaderT emptyHeader() {
  HeaderT header;
  header.version = kVersion;
  header.header_hash = 1;
  header.name = "empty";
  header.graphs.push_back(std::make_unique<GraphT>());
  header.graphs.back()->name = "empty";
  auto plan = std::make_unique<PlanT>();
  plan->target = "cpu";
  plan->threads = 1;
  plan->graphs.push_back(std::make_unique<GraphPlanT>());
  header.plans.push_back(std::move(plan));
  return header;
}

static std::vector<uint8_t> emptyArtifact() {
  HeaderT header = emptyHeader();
  flatbuffers::FlatBufferBuilder builder;
  builder.ForceDefaults(true);
  builder.FinishSizePrefixed(Header::Pack(builder, &header),
                             HeaderIdentifier());
  sealHeader(builder.GetBufferPointer(), builder.GetSize());
  return {builder.GetBufferPointer(),
          builder.GetBufferPointer() + builder.GetSize()};
}

uint64_t emptySessionBytes(int threads) {
  releaseFreed();
  uint64_t before = anonymousBytes();
  auto artifact = runtime::Artifact::fromBytes(emptyArtifact(), "empty");
  if (!artifact.ok())
    return 0;
  runtime::SessionOptions options;
  options.threads = threads;
  auto session = runtime::Session::create(*artifact, options);
  releaseFreed();
  return session.ok() ? anonymousBytes() - std::min(before, anonymousBytes())
                      : 0;
}

void MemoryMeter::begin(int threads) {
  before_ = emptySessionBytes(threads);
  releaseFreed();
  before_ += anonymousBytes();
}

runtime::Status MemoryMeter::beforeSave(training::SaveReport &report) {
  if (report.kind != training::SaveKind::end)
    return {};
  releaseFreed();
  after_ = anonymousBytes();
  return {};
}

uint64_t MemoryMeter::bytes() const {
  return after_ - std::min(before_, after_);
}

} // namespace gradus::cli
