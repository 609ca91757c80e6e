// Rounds, piece by piece.

#include "runtime/collectives/sum_tree.h"

#include "runtime/collectives/combine.h"
#include "runtime/logical_ranks.h"

#include <algorithm>

namespace gradus::runtime {

namespace {

/// A piece of what is received where it stays: as a transfer, it is at most
/// Communicator::kMostBytes. Each costs a message in both directions.
constexpr uint64_t kPlacedBytes = uint64_t{1} << 26;
// There is memory to receive 64 bytes of each rank at once.
static_assert(kMostProcesses <= SumTree::kScratchBytes / (2 * 64));

std::span<uint8_t> bytesAt(const Collective &collective, Range range) {
  uint64_t width = bytesOf(collective.type);
  return {static_cast<uint8_t *>(collective.data) + range.begin * width,
          range.count() * width};
}

} // namespace

SumTree::SumTree(Liveness &liveness)
    : liveness_(liveness), groups_(liveness),
      scratch_(new uint8_t[kScratchBytes]) {}

SumTree::Pieces::Pieces(const Rounds &rounds, const Round &round,
                        uint64_t width)
    : bytes(kPlacedBytes) {
  if (round.combines)
    bytes = kScratchBytes / (2 * (round.last - round.first)) / 64 * 64;
  elements = bytes / width;
  uint64_t longest = 0;
  for (size_t i = round.first; i < round.last; ++i)
    longest = std::max({longest, rounds.exchanges[i].send.count(),
                        rounds.exchanges[i].receive.count()});
  count = longest / elements + (longest % elements ? 1 : 0);
}

Range SumTree::Pieces::of(Range range, uint64_t piece) const {
  uint64_t begin = std::min(range.end, range.begin + piece * elements);
  return {begin, std::min(range.end, begin + elements)};
}

uint8_t *SumTree::received(const Round &round, size_t exchange,
                           uint64_t piece) const {
  size_t slots = round.last - round.first;
  return scratch_.get() + (piece % 2 * slots + exchange) * pieces_->bytes;
}

Status SumTree::begin(const Collective &collective, const Round &round,
                      uint64_t piece) {
  Communicator &communicator = liveness_.communicator();
  std::vector<Liveness::Flight> &flights = flights_[piece % 2];
  for (size_t i = round.first; i < round.last; ++i) {
    const Exchange &exchange = rounds_.exchanges[i];
    std::span<uint8_t> into =
        bytesAt(collective, pieces_->of(exchange.receive, piece));
    if (into.empty())
      continue;
    if (round.combines)
      into = {received(round, i - round.first, piece), into.size()};
    GRADUS_ASSIGN(Transfer transfer, communicator.receive(exchange.peer, into));
    flights.push_back({transfer, exchange.peer});
  }
  for (size_t i = round.first; i < round.last; ++i) {
    const Exchange &exchange = rounds_.exchanges[i];
    std::span<uint8_t> from =
        bytesAt(collective, pieces_->of(exchange.send, piece));
    if (from.empty())
      continue;
    GRADUS_ASSIGN(Transfer transfer, communicator.send(exchange.peer, from));
    flights.push_back({transfer, exchange.peer});
  }
  return {};
}

void SumTree::add(const Collective &collective, const Round &round,
                  uint64_t piece) {
  Range range = pieces_->of(rounds_.exchanges[round.first].receive, piece);
  if (range.count() == 0)
    return;
  uint8_t *own = bytesAt(collective, range).data();
  values_.clear();
  for (size_t i = round.first; i < round.last; ++i)
    values_.push_back(received(round, i - round.first, piece));
  auto isHigher = [&](size_t i) {
    return rounds_.exchanges[round.first + i].peer >
           liveness_.communicator().rank();
  };
  insertOwn(values_, own, isHigher);
  combineAll(collective.reduction, collective.type, values_, own,
             range.count());
}

Status SumTree::runRound(const Collective &collective, const Round &round) {
  if (round.first == round.last)
    return {};
  // The ranks of a round that combines have equally many exchanges, so sender
  // and receiver have equal pieces.
  pieces_.emplace(rounds_, round, bytesOf(collective.type));
  for (uint64_t piece = 0; piece <= pieces_->count; ++piece) {
    if (piece < pieces_->count)
      GRADUS_TRY(begin(collective, round, piece));
    if (piece == 0)
      continue;
    // The sum may be written where the piece lies that is being sent.
    GRADUS_TRY(liveness_.waitForAll(flights_[(piece - 1) % 2]));
    if (round.combines)
      add(collective, round, piece - 1);
  }
  return {};
}

Status SumTree::run(const Collective &collective) {
  Communicator &communicator = liveness_.communicator();
  GRADUS_TRY(check(collective, communicator.ranks()));
  if (communicator.ranks() > kMostProcesses)
    return invalid(communicator.ranks(), " ranks: at most ", kMostProcesses,
                   " can reduce together");
  if (collective.op == CollectiveOp::groupReduce)
    return communicator.ranks() > 1 ? groups_.run(collective) : Status();
  rounds_.set(collective, communicator.ranks(), communicator.rank());
  for (const Round &round : rounds_.rounds)
    GRADUS_TRY(runRound(collective, round));
  return {};
}

} // namespace gradus::runtime
