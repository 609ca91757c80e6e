// Rounds in groups, piece by piece.

#include "runtime/collectives/group_tree.h"

#include "runtime/collectives/combine.h"

#include <algorithm>
#include <cstring>

namespace gradus::runtime {

Status GroupTree::run(const Collective &collective) {
  Communicator &communicator = liveness_.communicator();
  now_.collective = &collective;
  GRADUS_ASSIGN(now_.within, ranksWithin(*collective.groups));
  products_.spilled.resize(collective.groups->members.size());
  rounds_.set(collective, now_.within, communicator.ranks(),
              communicator.rank());
  for (const GroupRound &round : rounds_.rounds())
    GRADUS_TRY(runRound(round));
  return {};
}

/// Finds how many ranks a host has, if that is a group.
StatusOr<int> GroupTree::ranksWithin(const Groups &groups) {
  Communicator &communicator = liveness_.communicator();
  if (groups.within > 0)
    return knownWithin(groups, communicator.ranks());
  if (ofHost_ > 0)
    return ofHost_;
  std::vector<std::string> hosts;
  for (int rank = 0; rank < communicator.ranks(); ++rank)
    hosts.push_back(communicator.host(rank));
  GRADUS_ASSIGN(ofHost_, ranksOfHosts(hosts));
  return ofHost_;
}

Status GroupTree::runRound(const GroupRound &round) {
  switch (round.kind) {
  case GroupRound::products:
    return addProducts(round);
  case GroupRound::combine:
    combineHalves(now_.halving);
    return {};
  case GroupRound::halve:
    now_.halving = round;
    products_.sums.assign(now_.collective->groups->members.size(), {});
    GRADUS_TRY(exchange(round));
    totalProducts();
    return {};
  case GroupRound::sum:
  case GroupRound::place:
    return exchange(round);
  }
  return {};
}

//===-- pieces ------------------------------------------------------------===//

Status GroupTree::exchange(const GroupRound &round) {
  const Collective &collective = *now_.collective;
  pieces_.set(rounds_, round, collective.groups->members.size(),
              bytesOf(collective.type));
  size_t needed = 4 * (round.last - round.first) * pieces_.bytes();
  if (scratch_.size() < needed)
    scratch_.resize(needed);
  for (size_t piece = 0; piece <= pieces_.count(); ++piece) {
    if (piece < pieces_.count())
      GRADUS_TRY(begin(round, piece));
    if (piece == 0)
      continue;
    // A received half lies where the sent one was.
    GRADUS_TRY(liveness_.waitForAll(flights_[(piece - 1) % 2]));
    take(round, piece - 1);
  }
  return {};
}

/// The memory in which a piece of one exchange is sent or received.
uint8_t *GroupTree::spaceOf(const GroupRound &round, size_t piece,
                            size_t exchange, bool isSent) {
  size_t exchanges = round.last - round.first;
  size_t slot = (piece % 2 * exchanges + exchange - round.first) * 2;
  return scratch_.data() + (slot + (isSent ? 1 : 0)) * pieces_.bytes();
}

/// Where elements lie that need no packing; empty if they are of several
/// tensors.
std::span<uint8_t> GroupTree::whole(std::span<const Slice> slices,
                                    std::span<const Range> ranges) const {
  if (slices.size() != 1)
    return {};
  Range range = slices[0].of(ranges[slices[0].tensor]);
  return {at(slices[0].tensor, range.begin),
          range.count() * bytesOf(now_.collective->type)};
}

uint8_t *GroupTree::at(size_t tensor, uint64_t element) const {
  const Member &member = now_.collective->groups->members[tensor];
  return static_cast<uint8_t *>(member.data) +
         element * bytesOf(now_.collective->type);
}

void GroupTree::pack(std::span<const Slice> slices,
                     std::span<const Range> ranges, uint8_t *into) const {
  for (const Slice &slice : slices) {
    Range range = slice.of(ranges[slice.tensor]);
    uint64_t bytes = range.count() * bytesOf(now_.collective->type);
    if (bytes)
      std::memcpy(into, at(slice.tensor, range.begin), bytes);
    into += bytes;
  }
}

void GroupTree::unpack(std::span<const Slice> slices,
                       std::span<const Range> ranges,
                       const uint8_t *from) const {
  for (const Slice &slice : slices) {
    Range range = slice.of(ranges[slice.tensor]);
    uint64_t bytes = range.count() * bytesOf(now_.collective->type);
    if (bytes)
      std::memcpy(at(slice.tensor, range.begin), from, bytes);
    from += bytes;
  }
}

Status GroupTree::begin(const GroupRound &round, size_t piece) {
  Communicator &communicator = liveness_.communicator();
  std::span<const Slice> slices = pieces_.slices(piece);
  uint64_t width = bytesOf(now_.collective->type);
  std::vector<Liveness::Flight> &flights = flights_[piece % 2];
  for (size_t i = round.first; i < round.last; ++i) {
    GroupExchange exchange = rounds_.exchange(i);
    uint64_t bytes = elementsOf(slices, exchange.receive) * width;
    if (bytes == 0)
      continue;
    std::span<uint8_t> into = {spaceOf(round, piece, i, false), bytes};
    if (round.kind == GroupRound::place && slices.size() == 1)
      into = whole(slices, exchange.receive);
    GRADUS_ASSIGN(Transfer transfer, communicator.receive(exchange.peer, into));
    flights.push_back({transfer, exchange.peer});
  }
  for (size_t i = round.first; i < round.last; ++i) {
    GroupExchange exchange = rounds_.exchange(i);
    uint64_t bytes = elementsOf(slices, exchange.send) * width;
    if (bytes == 0)
      continue;
    std::span<uint8_t> from = whole(slices, exchange.send);
    if (from.empty()) {
      from = {spaceOf(round, piece, i, true), bytes};
      pack(slices, exchange.send, from.data());
    }
    GRADUS_ASSIGN(Transfer transfer, communicator.send(exchange.peer, from));
    flights.push_back({transfer, exchange.peer});
  }
  return {};
}

void GroupTree::take(const GroupRound &round, size_t piece) {
  if (round.kind == GroupRound::sum)
    return addUp(round, piece);
  if (round.kind == GroupRound::halve)
    return keepHalf(round, piece);
  std::span<const Slice> slices = pieces_.slices(piece);
  if (slices.size() == 1)
    return; // It was received in place.
  for (size_t i = round.first; i < round.last; ++i)
    if (std::span<const Range> ranges = rounds_.exchange(i).receive;
        !ranges.empty())
      unpack(slices, ranges, spaceOf(round, piece, i, false));
}

//===-- sums within a group -----------------------------------------------===//

void GroupTree::addUp(const GroupRound &round, size_t piece) {
  const Collective &collective = *now_.collective;
  std::span<const Range> own = rounds_.exchange(round.first).receive;
  auto isHigher = [&](size_t i) {
    return rounds_.exchange(round.first + i).peer >
           liveness_.communicator().rank();
  };
  uint64_t before = 0; // bytes of the piece
  for (const Slice &slice : pieces_.slices(piece)) {
    Range range = slice.of(own[slice.tensor]);
    if (range.count() == 0)
      continue;
    uint8_t *sum = at(slice.tensor, range.begin);
    values_.clear();
    for (size_t i = round.first; i < round.last; ++i)
      values_.push_back(spaceOf(round, piece, i, false) + before);
    insertOwn(values_, sum, isHigher);
    combineAll(Reduction::sum, collective.type, values_, sum, range.count());
    if (collective.groups->averages)
      divide(collective.type, sum, range.count(), now_.within);
    before += range.count() * bytesOf(collective.type);
  }
}

//===-- halves of two groups ----------------------------------------------===//

/// Puts received elements where the sent ones were, and adds up products.
void GroupTree::keepHalf(const GroupRound &round, size_t piece) {
  const Collective &collective = *now_.collective;
  uint64_t width = bytesOf(collective.type);
  GroupExchange halving = rounds_.halving(round);
  bool isLower = halving.peer > liveness_.communicator().rank();
  const uint8_t *from = spaceOf(round, piece, round.first, false);
  for (const Slice &slice : pieces_.slices(piece)) {
    Range kept = slice.of(halving.receive[slice.tensor]);
    Range sent = slice.of(halving.send[slice.tensor]);
    if (kept.count() == 0)
      continue;
    const uint8_t *own = at(slice.tensor, kept.begin);
    products_.sums[slice.tensor].add(collective.type, isLower ? own : from,
                                     isLower ? from : own, kept.count());
    uint64_t fits = std::min(kept.count(), sent.count());
    if (fits)
      std::memcpy(at(slice.tensor, sent.begin), from, fits * width);
    if (fits < kept.count())
      std::memcpy(&products_.spilled[slice.tensor], from + fits * width, width);
    from += kept.count() * width;
  }
}

/// Sets the products of what this rank has of each vector.
void GroupTree::totalProducts() {
  const Groups &groups = *now_.collective->groups;
  double epsilon = groups.epsilon / now_.within;
  products_.totals.assign(GroupRounds::productsOf(groups), epsilon);
  for (size_t tensor = 0; tensor < products_.sums.size(); ++tensor) {
    Products own = products_.sums[tensor].total();
    size_t vector = groups.across == Across::adasum ? tensor : 0;
    double *total = &products_.totals[3 * vector];
    total[0] += own.ab;
    total[1] += own.aa;
    total[2] += own.bb;
  }
}

/// Adds up the products of ranks, in their order.
Status GroupTree::addProducts(const GroupRound &round) {
  Communicator &communicator = liveness_.communicator();
  std::vector<double> &own = products_.totals;
  if (own.empty())
    return {}; // There are no tensors.
  std::span<uint8_t> bytes = {reinterpret_cast<uint8_t *>(own.data()),
                              own.size() * sizeof(double)};
  size_t others = round.last - round.first;
  products_.received.resize(others * own.size());
  auto received = [&](size_t other) {
    return reinterpret_cast<uint8_t *>(products_.received.data() +
                                       other * own.size());
  };
  values_.clear();
  for (size_t i = 0; i < others; ++i) {
    int peer = rounds_.exchange(round.first + i).peer;
    values_.push_back(received(i));
    GRADUS_ASSIGN(Transfer in,
                  communicator.receive(peer, {received(i), bytes.size()}));
    flights_[0].push_back({in, peer});
  }
  insertOwn(values_, bytes.data(), [&](size_t i) {
    return rounds_.exchange(round.first + i).peer > communicator.rank();
  });
  for (size_t i = 0; i < others; ++i) {
    int peer = rounds_.exchange(round.first + i).peer;
    GRADUS_ASSIGN(Transfer out, communicator.send(peer, bytes));
    flights_[0].push_back({out, peer});
  }
  GRADUS_TRY(liveness_.waitForAll(flights_[0]));
  combineAll(Reduction::sum, DType::f64, values_, bytes.data(), own.size());
  return {};
}

void GroupTree::combineHalves(const GroupRound &round) {
  const Collective &collective = *now_.collective;
  uint64_t width = bytesOf(collective.type);
  GroupExchange halving = rounds_.halving(round);
  bool isLower = halving.peer > liveness_.communicator().rank();
  for (size_t tensor = 0; tensor < products_.sums.size(); ++tensor) {
    bool isAlone = collective.groups->across == Across::adasum;
    const double *total = &products_.totals[isAlone ? 3 * tensor : 0];
    Factors factors = adasumFactors({total[0], total[1], total[2]});
    Range kept = halving.receive[tensor], sent = halving.send[tensor];
    auto combine = [&](uint8_t *own, const void *other, uint64_t count) {
      combineBy(factors, collective.type, isLower ? own : other,
                isLower ? other : own, own, count);
    };
    uint64_t fits = std::min(kept.count(), sent.count());
    combine(at(tensor, kept.begin), at(tensor, sent.begin), fits);
    if (fits < kept.count())
      combine(at(tensor, kept.begin) + fits * width, &products_.spilled[tensor],
              kept.count() - fits);
  }
}

} // namespace gradus::runtime
