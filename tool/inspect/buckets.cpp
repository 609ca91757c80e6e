// Pairs starts and finishes, and looks for the states that a sum changes.

#include "tool/inspect/buckets.h"

#include "messages/printable.h"
#include "runtime/artifact/command_uses.h"
#include "runtime/artifact/joined_sums.h"
#include "runtime/flat.h"
#include "tool/inspect/expected_time.h"
#include "tool/text.h"

#include <algorithm>
#include <optional>
#include <set>

using namespace gradus::runtime;
using nlohmann::ordered_json;

namespace gradus::cli {
namespace {

class GraphBuckets {
public:
  GraphBuckets(const Artifact &artifact, const artifact::Plan &plan,
               const artifact::GraphPlan &graph,
               const std::vector<DeviceRates> &rates)
      : header_(artifact.header()), plan_(plan), graph_(graph), rates_(rates),
        kernels_(artifact.kernels(plan)) {}

  ordered_json json() const {
    ordered_json all = ordered_json::array();
    for (unsigned i = 0; i < commandCount(); ++i)
      if (const auto *start = command(i).kind_as_StartCommand())
        all.push_back(bucket(*start, i));
    return all;
  }

private:
  unsigned commandCount() const {
    return static_cast<unsigned>(countOf(graph_.commands()));
  }
  const artifact::Command &command(unsigned number) const {
    return *graph_.commands()->Get(number);
  }
  const artifact::Buffer &buffer(uint32_t number) const {
    return *plan_.buffers()->Get(number);
  }

  ordered_json bucket(const artifact::StartCommand &start,
                      unsigned number) const {
    unsigned end = finishOf(start, number);
    const auto &finish = *command(end).kind_as_FinishCommand();
    uint64_t bytes = 0;
    std::vector<std::string> states;
    for (unsigned i = 0; i < countOf(start.buffers()); ++i) {
      bytes += *bytesOf(typeOf(buffer(start.buffers()->Get(i)).type()));
      std::string state = stateOf(buffer(finish.results()->Get(i)), end);
      if (!state.empty())
        states.push_back(state);
    }
    std::vector<std::string> nodes;
    for (unsigned i = 0; i < countOf(command(number).nodes()); ++i)
      nodes.push_back(textOf(command(number).nodes()->Get(i)));
    return {{"number", start.number()},
            {"bytes", bytes},
            {"is_half", start.parts() != nullptr || gathers(start)},
            {"tensors", countOf(start.buffers())},
            {"states", states},
            {"start", number},
            {"finish", end},
            {"hidden_ms", hidden(number, end)},
            {"nodes", nodes}};
  }

  unsigned finishOf(const artifact::StartCommand &start,
                    unsigned number) const {
    for (unsigned i = number + 1; i < commandCount(); ++i)
      if (const auto *finish = command(i).kind_as_FinishCommand();
          finish && finish->number() == start.number())
        return i;
    return number; // The loader refuses a graph without it.
  }

  std::vector<double> hidden(unsigned start, unsigned finish) const {
    std::vector<double> all;
    for (const DeviceRates &each : rates_) {
      double seconds = 0;
      for (unsigned i = start + 1; i < finish; ++i)
        seconds += expectedSeconds(command(i), each);
      all.push_back(seconds * 1e3);
    }
    return all;
  }

  /// The parameter or buffer of the model that a sum changes, if it is given to
  /// a command that writes one: then it is its gradient, or its new value. A
  /// part of a new value is gathered where the part of the sum was.
  std::string stateOf(const artifact::Buffer &sum, unsigned finish) const {
    if (sum.region() == artifact::Region::state)
      return stateAt(sum);
    for (unsigned i = finish + 1; i < commandCount(); ++i) {
      if (const auto *kernel = command(i).kind_as_KernelCommand())
        for (unsigned s = 0; s < countOf(kernel->segments()); ++s)
          if (auto state = stateIn(*kernel, *kernel->segments()->Get(s), sum))
            return *state;
      if (auto gathered = gatheredFrom(command(i), sum))
        return stateOf(*gathered, i);
      if (replaces(command(i), sum))
        return "";
    }
    return "";
  }

  /// The state that a segment writes if it reads a sum.
  std::optional<std::string> stateIn(const artifact::KernelCommand &kernel,
                                     const artifact::Segment &segment,
                                     const artifact::Buffer &sum) const {
    bool readsIt = false;
    std::string found;
    for (unsigned i = 0; i < countOf(segment.buffers()); ++i) {
      const artifact::Buffer &each = buffer(segment.buffers()->Get(i));
      ArgumentUse use = useOf(*kernels_->kernels()->Get(kernel.kernel()), i);
      readsIt |= use.isRead && each.region() == sum.region() &&
                 each.offset() == sum.offset();
      if (use.isWritten && each.region() == artifact::Region::state &&
          found.empty())
        found = stateAt(each);
    }
    return readsIt && !found.empty() ? std::optional(found) : std::nullopt;
  }

  /// The result of a command that ends another sum in the memory of this one.
  const artifact::Buffer *gatheredFrom(const artifact::Command &command,
                                       const artifact::Buffer &sum) const {
    const auto *finish = command.kind_as_FinishCommand();
    for (unsigned i = 0; finish && i < countOf(finish->buffers()); ++i)
      if (const artifact::Buffer &each = buffer(finish->buffers()->Get(i));
          each.region() == sum.region() && each.offset() == sum.offset())
        return &buffer(finish->results()->Get(i));
    return nullptr;
  }

  std::string stateAt(const artifact::Buffer &buffer) const {
    for (unsigned i = 0; i < countOf(header_.states()); ++i) {
      const artifact::State &state = *header_.states()->Get(i);
      bool isOfModel = state.role() == artifact::Role::parameter ||
                       state.role() == artifact::Role::buffer;
      if (isOfModel && plan_.state_offsets()->Get(i) == buffer.offset())
        return textOf(state.name());
    }
    return "";
  }

  /// Whether a command puts something else where a sum was.
  bool replaces(const artifact::Command &command,
                const artifact::Buffer &sum) const {
    bool reads = false, writes = false;
    for (const BufferUse &use : usesOf(plan_, kernels_, command)) {
      const artifact::Buffer &each = buffer(use.buffer);
      if (each.region() != sum.region() ||
          each.offset() >= sum.offset() + sum.size() ||
          sum.offset() >= each.offset() + use.bytes)
        continue;
      reads |= use.isRead;
      writes |= use.isWritten;
    }
    return writes && !reads;
  }

  const artifact::Header &header_;
  const artifact::Plan &plan_;
  const artifact::GraphPlan &graph_;
  const std::vector<DeviceRates> &rates_;
  const artifact::CodeHeader *kernels_;
};

/// "conv1.weight conv1.bias and 7 more"; of what changes no state, such as a
/// loss, the nodes of the model.
std::string namesText(const ordered_json &bucket) {
  constexpr size_t kShown = 3;
  const ordered_json &names =
      bucket["states"].empty() ? bucket["nodes"] : bucket["states"];
  std::string text;
  for (size_t i = 0; i < std::min(kShown, names.size()); ++i)
    text += (i ? " " : "") + names[i].get<std::string>();
  if (names.size() > kShown)
    text += " and " + std::to_string(names.size() - kShown) + " more";
  return printable(text);
}

/// The rate of a link with which many ranks expose nothing of a bucket.
std::string hidingRateText(const ordered_json &bucket) {
  if (bucket["hidden_ms"].empty())
    return "";
  double seconds = bucket["hidden_ms"][0].get<double>() * 1e-3;
  if (seconds <= 0)
    return "never";
  return rateText((bucket["is_half"].get<bool>() ? 1 : 2) *
                  bucket["bytes"].get<double>() / seconds);
}

/// Says what the columns are.
std::string noteBelow(const ordered_json &buckets, bool onNetwork) {
  if (onNetwork)
    return "    `sent` is what the busiest rank sends, and `takes` how long "
           "that is under way at least. `meanwhile`\n    is the expected time "
           "of the commands between: of what takes longer, the rest is "
           "exposed.\n";
  std::string note = "    Each of N ranks sends 2 n (N - 1) / N bytes of a "
                     "bucket of n. `meanwhile` is the\n    expected time of "
                     "the commands between; on a link of `hidden from` nothing "
                     "is exposed\n    however many ranks there are.\n";
  if (std::ranges::any_of(buckets, [](const ordered_json &bucket) {
        return bucket["is_half"].get<bool>();
      }))
    note += "    What is summed to parts alone, or gathered alone, is sent "
            "once: n (N - 1) / N bytes.\n";
  return note;
}

} // namespace

ordered_json bucketsJson(const Artifact &artifact, const artifact::Plan &plan,
                         const artifact::GraphPlan &graph,
                         const std::vector<DeviceRates> &rates) {
  return GraphBuckets(artifact, plan, graph, rates).json();
}

std::string bucketsText(const ordered_json &buckets) {
  // The costs on a network are added if it was asked for (transfer_costs.h).
  bool onNetwork = buckets[0].contains("ms_transferred");
  std::vector<std::string> columns = {"bucket", "bytes",  "tensors",
                                      "start",  "finish", "meanwhile"};
  if (onNetwork)
    columns.insert(columns.end(), {"sent", "takes"});
  else
    columns.push_back("hidden from");
  columns.push_back("changes");
  Table table(columns);
  for (const ordered_json &bucket : buckets) {
    std::vector<std::string> row = {
        std::to_string(bucket["number"].get<uint64_t>()),
        bytesText(bucket["bytes"].get<double>()),
        std::to_string(bucket["tensors"].get<uint64_t>()),
        std::to_string(bucket["start"].get<uint64_t>()),
        std::to_string(bucket["finish"].get<uint64_t>()),
        bucket["hidden_ms"].empty()
            ? ""
            : millisecondsText(bucket["hidden_ms"][0].get<double>()) + " ms"};
    if (onNetwork) {
      row.push_back(bytesText(bucket["bytes_sent"].get<double>()));
      row.push_back(millisecondsText(bucket["ms_transferred"].get<double>()) +
                    " ms");
    } else {
      row.push_back(hidingRateText(bucket));
    }
    row.push_back(namesText(bucket));
    table.row(row);
  }
  return table.text("    ") + noteBelow(buckets, onNetwork);
}

} // namespace gradus::cli
