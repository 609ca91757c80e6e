// Each distinct call is measured once, with the least scratch among its
// commands, so that its algorithm works for all of them.

#include "runtime/cuda/tune.h"

#include "runtime/cuda/library_nodes.h"
#include "runtime/cuda/plain_product.h"
#include "runtime/library_text.h"

#include <algorithm>
#include <limits>

namespace gradus::runtime::cuda {

namespace {

using artifact::LibraryCommand;

/// A call, and its first command without earlier choices.
struct Asked {
  std::string text, where;
  flatbuffers::DetachedBuffer bytes;
  uint64_t scratchBytes;

  const LibraryCommand &command() const {
    return *flatbuffers::GetRoot<LibraryCommand>(bytes.data());
  }
};

flatbuffers::DetachedBuffer withoutChoices(const LibraryCommand &command) {
  artifact::LibraryCommandT table;
  command.UnPackTo(&table);
  table.choices.clear();
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(LibraryCommand::Pack(builder, &table));
  return builder.Release();
}

std::vector<Asked> callsOf(const artifact::Plan &plan) {
  std::vector<Asked> calls;
  (void)forEachLibraryCommand(plan, [&](const LibraryCommand &command,
                                        const std::string &where) {
    std::string text = libraryText(command);
    uint64_t scratch = scratchInPlan(plan, command);
    auto same =
        std::find_if(calls.begin(), calls.end(),
                     [&](const Asked &asked) { return asked.text == text; });
    if (same == calls.end())
      calls.push_back({text, where, withoutChoices(command), scratch});
    else
      same->scratchBytes = std::min(same->scratchBytes, scratch);
    return Status();
  });
  return calls;
}

/// The library's own choice, then others that work with the plan's scratch.
StatusOr<std::vector<std::unique_ptr<LibraryCall>>>
candidatesFor(LibraryServer &server, const Asked &asked,
              const Algorithms &list) {
  std::vector<std::unique_ptr<LibraryCall>> calls;
  GRADUS_ASSIGN(auto first,
                server.prepare(asked.command(), asked.scratchBytes));
  calls.push_back(std::move(first));
  for (const std::string &algorithm : list.texts) {
    if (algorithm == calls.front()->algorithm())
      continue;
    auto call =
        server.prepareWith(algorithm, asked.command(), asked.scratchBytes);
    if (call.ok() && (*call)->scratchBytes() <= asked.scratchBytes)
      calls.push_back(*std::move(call));
  }
  return calls;
}

StatusOr<TunedCall> tuneCall(const Card &card, LibraryServer &server,
                             const Asked &asked, const TuneOptions &options) {
  GRADUS_ASSIGN(Algorithms list,
                server.algorithms(asked.command(), asked.scratchBytes));
  GRADUS_ASSIGN(auto candidates, candidatesFor(server, asked, list));
  std::vector<LibraryCall *> calls;
  for (const auto &call : candidates)
    calls.push_back(call.get());
  GRADUS_ASSIGN(auto times,
                timeCalls(card, asked.command(), calls, options.trials));
  size_t best = fastest(times, options.margin);
  TunedCall tuned;
  tuned.call = asked.text;
  tuned.library = list.library;
  if (best != 0)
    tuned.algorithm = calls[best]->algorithm();
  tuned.microseconds = median(times[best]);
  tuned.defaultMicroseconds = median(times[0]);
  tuned.candidates = calls.size() - 1;
  return tuned;
}

} // namespace

double median(Times times) {
  if (times.empty())
    return std::numeric_limits<double>::infinity();
  auto middle = times.begin() + std::ptrdiff_t(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

size_t fastest(const std::vector<Times> &times, double margin) {
  size_t best = 0;
  double least = median(times[0]) * (1 - margin);
  for (size_t i = 1; i < times.size(); ++i)
    if (double middle = median(times[i]); middle < least) {
      best = i;
      least = middle;
    }
  return best;
}

StatusOr<std::vector<TunedCall>> tuneCalls(const Card &card,
                                           LibraryServer &server,
                                           const artifact::Plan &plan,
                                           const TuneOptions &options) {
  std::vector<TunedCall> tuned;
  std::vector<Asked> calls = callsOf(plan);
  for (const Asked &asked : calls) {
    if (options.progress)
      options.progress(tuned.size(), calls.size());
    if (sumsOperand(asked.command()) || hasEpilogue(asked.command())) {
      auto lack = server.lackOf(asked.command());
      GRADUS_TRY(at(lack.status(), asked.where));
      if (!lack->empty())
        continue; // it becomes plain calls at load
    }
    auto measured = tuneCall(card, server, asked, options);
    GRADUS_TRY(at(measured.status(), asked.where));
    tuned.push_back(*std::move(measured));
  }
  return tuned;
}

} // namespace gradus::runtime::cuda
