// Beats, lines about slow ranks, and the words of a failure.

#include "runtime/collectives/liveness.h"

#include <algorithm>
#include <cstring>

namespace gradus::runtime {

namespace {

/// A rank that was not awake itself hears nobody; so much of a time between
/// two calls counts as the silence of others.
constexpr int kIntervalsAwake = 2;
constexpr int kBeatsInLimit = 5;
/// A rank that misses so many beats does not do any more what it said last.
constexpr int kBeatsMissed = 3;
constexpr std::chrono::milliseconds kLongestInterval{1000};
/// Processes are looked for so often.
constexpr std::chrono::milliseconds kLook{20};
/// Others are heard so often while something is waited for.
constexpr std::chrono::milliseconds kAttention{1};
/// A rank leaves it for so long to a lower one to claim the words that the
/// first speaker has not, and looks for so long for a claim that has crossed
/// its own.
constexpr std::chrono::milliseconds kTurn{200};

std::string inSeconds(std::chrono::steady_clock::duration time) {
  auto tenths =
      std::chrono::duration_cast<std::chrono::milliseconds>(time).count() / 100;
  return inWords(static_cast<double>(tenths) / 10, " s");
}

} // namespace

/// It needs no version: a communication thread takes part only where all ranks
/// are of one build.
struct Liveness::Head {
  Kind kind = Kind::beat;
  Cause cause = Cause::own;
  StatusCode code = StatusCode::ok;
  int32_t waitsFor = -1;      // of a beat
  uint64_t number = 0;        // of a beat: collectives that are done
  int32_t by = -1, dead = -1; // of a failure
};

Liveness::Liveness(Communicator &communicator, LivenessOptions options)
    : communicator_(communicator), options_(std::move(options)),
      interval_(std::clamp(options_.limit / kBeatsInLimit,
                           std::chrono::milliseconds(1), kLongestInterval)),
      peers_(static_cast<size_t>(communicator.ranks())), where_(peers_.size()),
      last_{Clock::now(), Clock::now() - interval_, {}} {
  peer(communicator.rank()).hasEnded = true;
}

//===-- messages ----------------------------------------------------------===//

/// Tells all that can be reached; the error is that of the first that cannot.
Status Liveness::tellAll(Head head, std::string text) {
  text.resize(
      std::min(text.size(), Communicator::kMostControlBytes - sizeof(head)));
  std::vector<uint8_t> message(sizeof(head) + text.size());
  std::memcpy(message.data(), &head, sizeof(head));
  std::copy(text.begin(), text.end(), message.begin() + sizeof(head));
  Status first;
  for (int rank = 0; rank < communicator_.ranks(); ++rank) {
    if (rank == communicator_.rank())
      continue;
    Status told = communicator_.tell(rank, message, head.kind != Kind::beat);
    if (first.ok())
      first = told;
  }
  return first;
}

Status Liveness::hear(int from, const std::vector<uint8_t> &message) {
  auto isNoRank = [&](int32_t rank) {
    return rank < -1 || rank >= communicator_.ranks();
  };
  Head head;
  if (message.size() >= sizeof(head))
    std::memcpy(&head, message.data(), sizeof(head));
  if (message.size() < sizeof(head) || isNoRank(head.waitsFor) ||
      isNoRank(head.by) || isNoRank(head.dead))
    return failed(named(from), " sent a message that is none of Gradus");
  std::string text(message.begin() + sizeof(head), message.end());
  at(from).silence = {};
  switch (head.kind) {
  case Kind::beat:
    at(from) = {head.waitsFor, head.number, {}};
    peer(from).does = std::move(text);
    break;
  case Kind::claim:
    peer(from).hasClaimed = true;
    break;
  case Kind::end:
    peer(from).hasEnded = true;
    break;
  case Kind::failed:
    hearFailure(from, head, std::move(text));
    break;
  }
  return {};
}

void Liveness::hearFailure(int from, const Head &head, std::string text) {
  peer(from).told = Failure{Status(head.code, std::move(text)), head.cause,
                            head.by, head.dead};
  peer(from).hasEnded = false; // It ends once more when it has said so.
  if (head.dead >= 0)
    peer(head.dead).isDead = true;
  if (!failure_)
    failure_ = peer(from).told;
}

Status Liveness::hearAll() {
  std::vector<uint8_t> message;
  for (;;) {
    GRADUS_ASSIGN(int from, communicator_.hear(message));
    if (from < 0)
      return {};
    GRADUS_TRY(hear(from, message));
  }
}

//===-- failures ----------------------------------------------------------===//

std::string Liveness::named(int rank) const {
  return inWords("rank ", rank, " (", communicator_.host(rank), ")");
}

std::string Liveness::entered() {
  return what_ ? inWords(what_(), " (number ", own().number, ")") : "";
}

/// Tells the others, once, the failure that this rank knows.
void Liveness::announce() {
  if (std::exchange(isAnnounced_, true))
    return;
  Head head{.kind = Kind::failed,
            .cause = failure_->cause,
            .code = failure_->status.code(),
            .by = failure_->by,
            .dead = failure_->dead};
  // An error while they are told is no news: the group has failed.
  (void)tellAll(head, failure_->status.message());
}

Status Liveness::failNow(Cause cause, const Status &status, int dead) {
  if (!failure_) {
    failure_ = Failure{status, cause, communicator_.rank(), dead};
    announce();
  }
  return failure_->status;
}

void Liveness::fail(const Status &status) {
  std::lock_guard lock(mutex_);
  if (words_.ok())
    words_ = status;
  hasFailed_ = true;
}

void Liveness::doing(std::string what) {
  std::lock_guard lock(mutex_);
  does_ = std::move(what);
}

Status Liveness::loses(int rank, const std::string &why) {
  std::string text = inWords(named(rank), why);
  if (std::string what = entered(); !what.empty())
    append(text, "; ", named(communicator_.rank()), " was in ", what);
  peer(rank).isDead = true; // It is not waited for.
  return failNow(Cause::lost, failed(text), rank);
}

Status Liveness::findDead() {
  auto now = Clock::now();
  bool looks = now - last_.looked >= kLook;
  if (looks)
    last_.looked = now;
  for (int rank = 0; rank < communicator_.ranks(); ++rank) {
    if (peer(rank).hasEnded)
      continue;
    if (auto silence = at(rank).silence; silence > options_.limit) {
      peer(rank).isSilent = true;
      return loses(rank, inWords(" has given no sign of life for ",
                                 inSeconds(silence),
                                 ": it was killed or stopped, or its host is "
                                 "gone"));
    }
    if (!looks || !communicator_.isGone(rank))
      continue;
    GRADUS_TRY(hearAll()); // Its last words may say why.
    if (failure_)
      return failure_->status;
    if (!peer(rank).hasEnded)
      return loses(rank, " is gone: it was killed, or it crashed");
  }
  return {};
}

/// Whether nothing more is expected of a rank after a failure.
bool Liveness::isLost(int rank) {
  if (peer(rank).isDead || at(rank).silence > options_.limit)
    return true;
  if (!communicator_.isGone(rank))
    return false;
  (void)hearAll(); // its last words
  return true;
}

/// A rank may have left, and tells nothing any more, once all have ended: a
/// beat is time enough for one that has not. It is also what one gets that was
/// lost by its silence, which may have lost this rank by the same: of the two
/// one is to print it.
bool Liveness::haveAllTold(Clock::duration waited) {
  for (int rank = 0; rank < communicator_.ranks(); ++rank) {
    bool mayHaveLeft = hasEnded_ && peer(rank).hasEnded && waited > interval_;
    bool mayTellYet = peer(rank).isSilent && waited <= interval_ &&
                      !communicator_.isGone(rank);
    bool isGivenUp = mayHaveLeft || (isLost(rank) && !mayTellYet);
    if (rank != communicator_.rank() && !peer(rank).told && !isGivenUp)
      return false;
  }
  return true;
}

/// Stays in touch after a failure, also where not all can be heard, until
/// something is true, at most for a time.
void Liveness::pauseUntil(Clock::duration limit,
                          const std::function<bool(Clock::duration)> &isTrue) {
  auto start = Clock::now();
  for (Clock::duration waited{}; waited < limit && !isTrue(waited);
       waited = Clock::now() - start) {
    communicator_.pause(
        std::chrono::duration_cast<std::chrono::microseconds>(waited));
    (void)keepInTouch();
  }
}

Status Liveness::settle(const Status &status) {
  if (!failure_)
    (void)failNow(Cause::transport,
                  runtime::at(status, named(communicator_.rank())));
  announce();
  pauseUntil(options_.limit,
             [&](Clock::duration waited) { return haveAllTold(waited); });
  for (const Peer &each : peers_)
    if (each.told && each.told->comesBefore(*failure_))
      failure_ = each.told;
  return failure_->status;
}

/// A lower one that has told its failure and is no more was killed before it
/// could print one. A rank that was given up, and wakes, leaves it to the
/// others.
bool Liveness::claimWords() {
  int rank = communicator_.rank();
  (void)hearAll(); // What one says that has a claim counts.
  if (dead() == rank || hasClaimed(communicator_.ranks()))
    return peer(rank).hasClaimed;
  for (int lower = 0; lower < rank; ++lower)
    if (peer(lower).told && !communicator_.isGone(lower))
      return false;
  tellClaim();
  return true;
}

//===-- what is called again and again ------------------------------------===//

Status Liveness::attend() {
  if (failure_)
    return failure_->status;
  Status touch = keepInTouch();
  if (failure_)
    return failure_->status;
  if (hasFailed_) {
    std::lock_guard lock(mutex_);
    return failNow(Cause::own,
                   runtime::at(words_, named(communicator_.rank())));
  }
  if (!touch.ok())
    return failNow(Cause::transport,
                   runtime::at(touch, named(communicator_.rank())));
  return findDead();
}

Status Liveness::keepInTouch() {
  auto now = Clock::now();
  if (now - last_.attended < kAttention)
    return {};
  auto awake = std::min<Clock::duration>(now - last_.attended,
                                         interval_ * kIntervalsAwake);
  last_.attended = now;
  for (int rank = 0; rank < communicator_.ranks(); ++rank)
    if (rank != communicator_.rank())
      at(rank).silence += awake;
  GRADUS_TRY(hearAll());
  if (now - last_.told < interval_)
    return {};
  last_.told = now;
  std::unique_lock lock(mutex_);
  std::string does = does_;
  lock.unlock();
  return tellAll({.waitsFor = own().waitsFor, .number = own().number},
                 std::move(does));
}

void Liveness::enter(uint64_t number, std::function<std::string()> what) {
  own().number = number;
  what_ = std::move(what);
}

void Liveness::leave() {
  ++own().number;
  what_ = nullptr;
}

/// The lowest of those that wait says it.
void Liveness::sayWhoIsWaitedFor(Clock::duration waited) {
  Clock::duration stale = interval_ * kBeatsMissed;
  if (!options_.say)
    return;
  for (int lower = 0; lower < communicator_.rank(); ++lower)
    if (at(lower).waitsFor >= 0 && at(lower).silence <= stale)
      return;
  int late = lateRank(where_, communicator_.rank(), stale);
  std::string line =
      inWords(named(communicator_.rank()), " has waited for ",
              inSeconds(waited), " for ", named(late), " in ", entered());
  if (peer(late).hasEnded)
    append(line, ", which has ended");
  else if (at(late).silence > stale)
    append(line, ", which has given no sign of life for ",
           inSeconds(at(late).silence));
  else if (!peer(late).does.empty())
    append(line, ", which ", peer(late).does);
  options_.say(line);
}

Status Liveness::wait(Transfer transfer, int from) {
  own().waitsFor = from;
  auto start = Clock::now();
  Clock::duration patience = options_.patience, waited{};
  Status status;
  for (;; waited = Clock::now() - start) {
    auto done = communicator_.isDone(transfer);
    status =
        done.ok()
            ? attend()
            : failNow(Cause::transport,
                      runtime::at(done.status(), named(communicator_.rank())));
    if (!status.ok() || *done)
      break;
    if (peer(from).hasEnded && waited > options_.limit) {
      status = failNow(Cause::own, failed(named(from), " has ended, and ",
                                          named(communicator_.rank()),
                                          " waits for it in ", entered()));
      break;
    }
    if (waited >= patience) {
      sayWhoIsWaitedFor(waited);
      patience *= 2;
    }
    communicator_.pause(
        std::chrono::duration_cast<std::chrono::microseconds>(waited));
  }
  own().waitsFor = -1;
  if (!status.ok()) // The caller's memory may be away next.
    communicator_.forget();
  return status;
}

Status Liveness::waitForAll(std::vector<Flight> &flights) {
  for (const Flight &flight : flights)
    GRADUS_TRY(wait(flight.transfer, flight.peer));
  flights.clear();
  return {};
}

bool Liveness::haveAllEnded() {
  for (int rank = 0; rank < communicator_.ranks(); ++rank)
    if (!peer(rank).hasEnded && at(rank).silence <= options_.limit)
      return false;
  return true;
}

bool Liveness::haveAllParted() {
  for (int rank = 0; rank < communicator_.ranks(); ++rank)
    if (!peer(rank).hasEnded && !isLost(rank))
      return false;
  return true;
}

Status Liveness::end() {
  GRADUS_TRY(attend());
  hasEnded_ = true;
  GRADUS_TRY(tellAll({.kind = Kind::end}, ""));
  auto start = Clock::now();
  while (!haveAllEnded()) {
    communicator_.pause(std::chrono::duration_cast<std::chrono::microseconds>(
        Clock::now() - start));
    GRADUS_TRY(attend());
  }
  return {};
}

/// Whether one of the ranks below a number has claimed the words.
bool Liveness::hasClaimed(int below) const {
  return std::any_of(peers_.begin(), peers_.begin() + below,
                     [](const Peer &peer) { return peer.hasClaimed; });
}

void Liveness::tellClaim() {
  peer(communicator_.rank()).hasClaimed = true;
  // An error is no news: the group has failed.
  (void)tellAll({.kind = Kind::claim}, "");
}

bool Liveness::part() {
  int rank = communicator_.rank(), all = communicator_.ranks();
  // An error while they part is no news: the group has failed.
  (void)tellAll({.kind = Kind::end}, "");
  pauseUntil(options_.limit, [&](Clock::duration) { return haveAllParted(); });
  if (dead() == rank || hasClaimed(all))
    return false;
  auto hasParted = [](const Peer &peer) { return peer.told && peer.hasEnded; };
  if (std::any_of(peers_.begin(), peers_.begin() + rank, hasParted))
    pauseUntil(kTurn, [&](Clock::duration) { return hasClaimed(all); });
  if (hasClaimed(all))
    return false;
  tellClaim();
  if (!haveAllParted()) // A lower one may have claimed them at the same time.
    pauseUntil(kTurn, [&](Clock::duration) { return hasClaimed(rank); });
  return !hasClaimed(rank);
}

} // namespace gradus::runtime
