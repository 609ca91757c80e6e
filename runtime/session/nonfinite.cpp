// Compares bit patterns and does no arithmetic, as steps run with denormals
// flushed.

#include "runtime/session/nonfinite.h"

#include "runtime/artifact/command_uses.h"
#include "runtime/artifact/winograd.h"

#include <algorithm>
#include <cstring>

namespace gradus::runtime {

namespace {

/// An exponent of all ones is an infinity if the fraction is 0, else a NaN.
template <typename Bits>
bool holds(const uint8_t *data, size_t bytes, Bits exponent, bool infinity) {
  const Bits fraction = (exponent & (~exponent + 1)) - 1;
  for (size_t i = 0; i + sizeof(Bits) <= bytes; i += sizeof(Bits)) {
    Bits value;
    std::memcpy(&value, data + i, sizeof(Bits));
    if ((value & exponent) == exponent && ((value & fraction) == 0) == infinity)
      return true;
  }
  return false;
}

const char *nameOf(bool infinity) { return infinity ? "inf" : "nan"; }

} // namespace

bool holdsNonfinite(DType dtype, const uint8_t *data, size_t bytes,
                    bool infinity) {
  switch (dtype) {
  case DType::f32:
    return holds<uint32_t>(data, bytes, 0x7f800000, infinity);
  case DType::f64:
    return holds<uint64_t>(data, bytes, 0x7ff0000000000000, infinity);
  case DType::f16:
    return holds<uint16_t>(data, bytes, 0x7c00, infinity);
  case DType::bf16:
    return holds<uint16_t>(data, bytes, 0x7f80, infinity);
  default:
    return false;
  }
}

StatusOr<NonfiniteSearch::Kinds> NonfiniteSearch::kindsIn(uint32_t number) {
  const artifact::Buffer &buffer = *plan_.buffers()->Get(number);
  GRADUS_ASSIGN(auto bytes, view_.bytes(buffer));
  DType dtype = typeOf(buffer.type()).dtype;
  return Kinds{holdsNonfinite(dtype, bytes.data(), bytes.size(), false),
               holdsNonfinite(dtype, bytes.data(), bytes.size(), true)};
}

StatusOr<NonfiniteSearch::Names>
NonfiniteSearch::inputsWith(const artifact::GraphPlan &graph) {
  Names names;
  const auto *ports = artifact_.header().graphs()->Get(graph.graph())->inputs();
  for (size_t i = 0; i < countOf(ports); ++i) {
    GRADUS_ASSIGN(Kinds kinds, kindsIn(graph.inputs()->Get(i)));
    for (bool infinity : {false, true})
      if (kinds[infinity])
        names[infinity].push_back(textOf(ports->Get(i)->name()));
  }
  return names;
}

StatusOr<NonfiniteSearch::Names> NonfiniteSearch::statesWith() {
  Names names;
  const auto *states = artifact_.header().states();
  for (size_t i = 0; i < countOf(states); ++i) {
    if (states->Get(i)->role() == artifact::Role::scratch)
      continue; // The command that wrote it is found, and it outlives no step.
    GRADUS_ASSIGN(auto bytes, states_.bytes(i));
    DType dtype = typeOf(states->Get(i)->type()).dtype;
    for (bool infinity : {false, true})
      if (holdsNonfinite(dtype, bytes.data(), bytes.size(), infinity))
        names[infinity].push_back(textOf(states->Get(i)->name()));
  }
  return names;
}

std::string NonfiniteSearch::commandWords(const artifact::GraphPlan &graph,
                                          size_t command) const {
  const auto *facts = graph.commands()->Get(command);
  const auto *graphs = artifact_.header().graphs();
  std::string words =
      inWords("command ", command, " (", textOf(facts->name()), ") of ",
              textOf(graphs->Get(graph.graph())->name()));
  constexpr size_t kMost = 4;
  size_t nodes = countOf(facts->nodes());
  for (size_t i = 0; i < nodes && i < kMost; ++i)
    append(words, i ? ", " : ", of the model's ",
           textOf(facts->nodes()->Get(i)));
  if (nodes > kMost)
    append(words, " and ", nodes - kMost, " more");
  return words;
}

/// Explains a NaN that a direct convolution might not have made.
static const char *wordsOfTiles(const artifact::GraphPlan &graph,
                                size_t command) {
  return isWinograd(textOf(graph.commands()->Get(command)->name()))
             ? " (Winograd's algorithm may have made it of an infinity or of "
               "numbers above 1e37 among its inputs; with convolutions "
               "\"direct\" in the recipe an infinity stays one, in its place)"
             : "";
}

void NonfiniteSearch::note(const std::string &words, bool infinity) {
  std::string &first = infinity ? infinity_ : nan_;
  if (first.empty() && (!infinity || nan_.empty()))
    first = words;
}

Status NonfiniteSearch::lookBefore(const artifact::GraphPlan &graph) {
  GRADUS_ASSIGN(Names inputs, inputsWith(graph));
  GRADUS_ASSIGN(before_, statesWith());
  for (bool infinity : {true, false}) {
    if (!inputs[infinity].empty())
      note(
          inWords("the input ", inputs[infinity][0], " has ", nameOf(infinity)),
          infinity);
    if (!before_[infinity].empty())
      note(inWords("the state ", before_[infinity][0], " was ",
                   nameOf(infinity), " before the step"),
           infinity);
  }
  return Status();
}

Status NonfiniteSearch::lookBehind(const artifact::GraphPlan &graph,
                                   size_t command) {
  if (!nan_.empty())
    return Status();
  Kinds wrote = {};
  for (uint32_t buffer : buffersWritten(plan_, artifact_.kernels(plan_),
                                        *graph.commands()->Get(command))) {
    GRADUS_ASSIGN(Kinds kinds, kindsIn(buffer));
    for (bool infinity : {true, false})
      wrote[infinity] |= kinds[infinity];
  }
  for (bool infinity : {true, false})
    if (wrote[infinity])
      note(inWords(commandWords(graph, command), ", wrote ", nameOf(infinity),
                   infinity ? "" : wordsOfTiles(graph, command)),
           infinity);
  return Status();
}

Status NonfiniteSearch::lookAfter() {
  states_.forget();
  GRADUS_ASSIGN(Names after, statesWith());
  for (bool infinity : {false, true})
    for (const std::string &name : after[infinity])
      if (spoiled_.empty() &&
          !std::count(before_[infinity].begin(), before_[infinity].end(), name))
        spoiled_ = name;
  return Status();
}

Status NonfiniteSearch::run(const artifact::GraphPlan &graph,
                            bool isLaterTurn) {
  if (!isLaterTurn) {
    nan_.clear();
    infinity_.clear();
  }
  spoiled_.clear();
  GRADUS_TRY(device_.runStepwise(graph.graph(), [&](size_t command) {
    return command == 0 ? lookBefore(graph) : lookBehind(graph, command - 1);
  }));
  return lookAfter();
}

std::string NonfiniteSearch::found() const {
  if (nan_.empty() || infinity_.empty())
    return nan_ + infinity_;
  return inWords(infinity_, "; then ", nan_);
}

} // namespace gradus::runtime
