// Verifies the program in an artifact: states, graphs and schedules.

#include "runtime/artifact/verify.h"
#include "runtime/flat.h"
#include "runtime/logical_ranks.h"
#include "runtime/names.h"
#include "runtime/status.h"
#include "runtime/well_known.h"

#include <limits>
#include <string>
#include <unordered_set>

namespace gradus::runtime {

namespace {

constexpr size_t kMostAxes = 16;

Status verifyType(const artifact::TensorType *type) {
  if (!type)
    return invalid("has no type");
  if (!areAligned(type->shape()))
    return invalid("has a shape that is not aligned");
  if (type->dtype() > artifact::DType::MAX)
    return invalid("has dtype ", static_cast<int>(type->dtype()),
                   ", which is unknown");
  if (countOf(type->shape()) > kMostAxes)
    return invalid("has ", countOf(type->shape()), " axes, more than ",
                   kMostAxes);
  if (!bytesOf(typeOf(type)))
    return invalid("has impossible sizes: ", toString(typeOf(type)));
  return Status();
}

/// A name as an error shows it, whatever its bytes.
std::string shown(const flatbuffers::String *name) {
  return asUtf8(textOf(name));
}

/// Verifies that there is a name, that files can hold it, and that no other of
/// its kind has it.
Status verifyName(const flatbuffers::String *name,
                  std::unordered_set<std::string> &seen) {
  if (!name || name->size() == 0)
    return invalid("has no name");
  if (auto problem = nameProblem(name->string_view()); !problem.empty())
    return invalid("its name ", problem);
  if (!seen.insert(name->str()).second)
    return invalid("has the name of another");
  return Status();
}

Status verifyInitial(const artifact::Header &header,
                     const artifact::State &state) {
  if (!state.has_initial())
    return Status();
  uint64_t weights = header.weights() ? header.weights()->size() : 0;
  uint64_t bytes =
      *bytesOf(typeOf(state.whole() ? state.whole() : state.type()));
  if (state.initial() > weights || bytes > weights - state.initial())
    return invalid("its initial value of ", bytes, " bytes at ",
                   state.initial(), " lies outside the weights, which have ",
                   weights, " bytes");
  return Status();
}

/// Verifies that a session knows what to set a place to.
Status verifyPlace(const artifact::Header &header,
                   const artifact::State &state) {
  std::string name = textOf(state.name());
  bool isTurn = name == well_known::kTurn;
  if (name != well_known::kRank && name != well_known::kRanks && !isTurn)
    return invalid("is a place, expected one of the names ", well_known::kRank,
                   ", ", well_known::kRanks, " and ", well_known::kTurn);
  if (isTurn && header.logical_ranks() == 0)
    return invalid("is the turn of a logical rank, and there are none");
  if (typeOf(state.type()) != TensorType{DType::i64, {}})
    return invalid("is a place of ", toString(typeOf(state.type())),
                   ", expected a scalar of i64");
  return Status();
}

/// Verifies that the parts of all ranks have the elements of the whole.
Status verifyWhole(const artifact::Header &header,
                   const artifact::State &state) {
  GRADUS_TRY(at(verifyType(state.whole()), "the whole"));
  TensorType part = typeOf(state.type()), whole = typeOf(state.whole());
  if (part.dtype != whole.dtype)
    return invalid("is a part of ", toString(part), " of a whole of ",
                   toString(whole));
  if (header.ranks() < 1)
    return invalid("is a rank's part, and the file does not say how many "
                   "ranks there are");
  if (!state.per_rank() || state.role() == artifact::Role::parameter ||
      state.role() == artifact::Role::buffer)
    return invalid("is a rank's part of a tensor, expected a state that each "
                   "rank has of its own, and none of the model");
  bool isNumber = state.limit() < std::numeric_limits<double>::infinity() ||
                  state.minimum() > -std::numeric_limits<double>::infinity();
  if (isNumber)
    return invalid("is a rank's part of a tensor, and has the range of a "
                   "number");
  auto ranks = static_cast<uint64_t>(header.ranks());
  uint64_t all = *bytesOf(whole), own = *bytesOf(part);
  if (all / ranks + (all % ranks ? 1 : 0) > own)
    return invalid("has ", own, " bytes on each of ", ranks,
                   " ranks, too few for the whole of ", all);
  return Status();
}

Status verifyState(const artifact::Header &header, const artifact::State &state,
                   std::unordered_set<std::string> &seen) {
  GRADUS_TRY(verifyName(state.name(), seen));
  GRADUS_TRY(verifyType(state.type()));
  if (state.role() > artifact::Role::MAX)
    return invalid("has role ", static_cast<int>(state.role()),
                   ", which is unknown");
  if (state.role() == artifact::Role::place)
    GRADUS_TRY(verifyPlace(header, state));
  if (state.whole())
    GRADUS_TRY(verifyWhole(header, state));
  return verifyInitial(header, state);
}

using Ports = flatbuffers::Vector<flatbuffers::Offset<artifact::Port>>;

Status verifyPorts(const Ports *ports, const char *kind) {
  std::unordered_set<std::string> seen;
  for (size_t i = 0; i < countOf(ports); ++i) {
    const artifact::Port *port = ports->Get(i);
    Status found = verifyName(port->name(), seen);
    if (found.ok())
      found = verifyType(port->type());
    if (found.ok() && port->indices() < 0)
      found = invalid("has ", port->indices(), " indices");
    GRADUS_TRY(at(found, kind, " ", i, " (", shown(port->name()), ")"));
  }
  return Status();
}

Status verifyGraph(const artifact::Graph &graph,
                   std::unordered_set<std::string> &seen) {
  GRADUS_TRY(verifyName(graph.name(), seen));
  GRADUS_TRY(verifyPorts(graph.inputs(), "input"));
  return verifyPorts(graph.outputs(), "output");
}

bool samePorts(const Ports *one, const Ports *other) {
  if (countOf(one) != countOf(other))
    return false;
  for (size_t i = 0; i < countOf(one); ++i)
    if (!(typeOf(one->Get(i)->type()) == typeOf(other->Get(i)->type())))
      return false;
  return true;
}

/// Verifies the steps at which each variant runs.
Status verifyPeriods(const artifact::Schedule &schedule) {
  if (countOf(schedule.variants()) == 0)
    return invalid("has no variants");
  if (countOf(schedule.every()) > countOf(schedule.variants()) ||
      countOf(schedule.at()) > countOf(schedule.variants()))
    return invalid("has more periods than variants");
  for (size_t i = 0; i < countOf(schedule.every()); ++i)
    if (schedule.every()->Get(i) < 1)
      return invalid("has a period of ", schedule.every()->Get(i), " steps");
  return Status();
}

/// Verifies that a counter is a state that counts, unless it is the default,
/// which may be missing.
Status verifyCounter(const artifact::Header &header,
                     const std::string &counter) {
  if (counter.empty())
    return Status();
  for (size_t i = 0; i < countOf(header.states()); ++i)
    if (const artifact::State *state = header.states()->Get(i);
        textOf(state->name()) == counter &&
        typeOf(state->type()) == TensorType{artifact::DType::i64, {}})
      return Status();
  return invalid("has no counter ", counter);
}

const artifact::Graph *findGraph(const artifact::Header &header,
                                 const std::string &name) {
  for (size_t i = 0; i < countOf(header.graphs()); ++i)
    if (textOf(header.graphs()->Get(i)->name()) == name)
      return header.graphs()->Get(i);
  return nullptr;
}

Status verifySchedule(const artifact::Header &header,
                      const artifact::Schedule &schedule) {
  if (!areAligned(schedule.variants(), schedule.every(), schedule.at()))
    return invalid("has lists that are not aligned");
  GRADUS_TRY(verifyPeriods(schedule));
  GRADUS_TRY(verifyCounter(header, textOf(schedule.counter())));
  // Callers pass the inputs of the graph they name, whichever variant runs.
  const artifact::Graph *named = findGraph(header, textOf(schedule.graph()));
  if (!named)
    return invalid("is of a graph that does not exist");
  for (uint32_t variant : *schedule.variants()) {
    if (variant >= countOf(header.graphs()))
      return invalid("names graph ", variant, " of ", countOf(header.graphs()));
    const artifact::Graph *other = header.graphs()->Get(variant);
    if (!samePorts(named->inputs(), other->inputs()) ||
        !samePorts(named->outputs(), other->outputs()))
      return invalid("graphs ", textOf(named->name()), " and ",
                     textOf(other->name()),
                     " have different inputs or outputs");
  }
  return Status();
}

/// Verifies that the graph that makes copies exists, and that the runtime can
/// call it.
Status verifyCopies(const artifact::Header &header) {
  for (size_t i = 0; i < countOf(header.states()); ++i) {
    if (header.states()->Get(i)->role() != artifact::Role::copy)
      continue;
    const artifact::Graph *graph = findGraph(header, well_known::kRoundWeights);
    if (!graph || countOf(graph->inputs()) || countOf(graph->outputs()))
      return invalid("has copies, but no graph ", well_known::kRoundWeights,
                     " without inputs and outputs to make them");
    return Status();
  }
  return Status();
}

Status verifyLogicalRanks(int64_t ranks) {
  bool isPower = ranks >= 0 && (ranks & (ranks - 1)) == 0;
  if (!isPower || ranks > kMostLogicalRanks)
    return invalid("has ", ranks,
                   " logical ranks, expected 0 or a power of "
                   "two up to ",
                   kMostLogicalRanks);
  return Status();
}

bool isTurnState(const artifact::State &state) {
  return textOf(state.name()) == well_known::kTurn &&
         state.role() == artifact::Role::place;
}

bool isByTurns(const artifact::Schedule &schedule) {
  return textOf(schedule.graph()) == well_known::kTrain &&
         textOf(schedule.counter()) == well_known::kTurn;
}

template <typename List, typename Predicate>
bool anyOf(const List *list, Predicate holds) {
  for (size_t i = 0; i < countOf(list); ++i)
    if (holds(*list->Get(i)))
      return true;
  return false;
}

/// Verifies that several calls of `train` can make a step: each of them is
/// counted and runs the variant of its turn.
Status verifyTurns(const artifact::Header &header) {
  int64_t ranks = header.logical_ranks();
  if (ranks < 2 || !findGraph(header, well_known::kTrain))
    return Status();
  if (!anyOf(header.states(), isTurnState))
    return invalid("has ", ranks, " logical ranks, and no state ",
                   well_known::kTurn,
                   " of the role place, which counts their "
                   "turns");
  if (!anyOf(header.schedules(), isByTurns))
    return invalid("has ", ranks,
                   " logical ranks, and no schedule of the "
                   "graph ",
                   well_known::kTrain, " by ", well_known::kTurn);
  return Status();
}

} // namespace

Status verifyProgram(const artifact::Header &header) {
  std::unordered_set<std::string> states, graphs, schedules;
  if (auto problem = textProblem(textOf(header.name())); !problem.empty())
    return invalid("the program's name ", shown(header.name()), " ", problem);
  GRADUS_TRY(verifyLogicalRanks(header.logical_ranks()));
  if (header.ranks() < 0 || (header.ranks() > 0 && header.logical_ranks() > 0))
    return invalid("is for ", header.ranks(), " ranks and has ",
                   header.logical_ranks(),
                   " logical ones, expected at least 0 "
                   "and not both");
  for (size_t i = 0; i < countOf(header.states()); ++i) {
    const artifact::State *state = header.states()->Get(i);
    GRADUS_TRY(at(verifyState(header, *state, states), "state ", i, " (",
                  shown(state->name()), ")"));
  }
  for (size_t i = 0; i < countOf(header.graphs()); ++i) {
    const artifact::Graph *graph = header.graphs()->Get(i);
    GRADUS_TRY(at(verifyGraph(*graph, graphs), "graph ", i, " (",
                  shown(graph->name()), ")"));
  }
  for (size_t i = 0; i < countOf(header.schedules()); ++i) {
    const artifact::Schedule *schedule = header.schedules()->Get(i);
    Status found = verifyName(schedule->graph(), schedules);
    if (found.ok())
      found = verifySchedule(header, *schedule);
    GRADUS_TRY(at(found, "schedule ", i, " (", shown(schedule->graph()), ")"));
  }
  GRADUS_TRY(verifyTurns(header));
  return verifyCopies(header);
}

} // namespace gradus::runtime
