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
constexpr std::chrono::milliseconds kLongestInterval{1000};
/// Processes are looked for so often.
constexpr std::chrono::milliseconds kLook{20};
/// Others are heard so often while something is waited for.
constexpr std::chrono::milliseconds kAttention{1};

std::string inSeconds(std::chrono::steady_clock::duration time) {
  auto tenths =
      std::chrono::duration_cast<std::chrono::milliseconds>(time).count() / 100;
  return inWords(static_cast<double>(tenths) / 10, " s");
}

} // namespace

struct Liveness::Head {
  Kind kind;
  StatusCode code;
  int32_t waitsFor, dead;
};

Liveness::Liveness(Communicator &communicator, LivenessOptions options)
    : communicator_(communicator), options_(std::move(options)),
      interval_(std::clamp(options_.limit / kBeatsInLimit,
                           std::chrono::milliseconds(1), kLongestInterval)),
      peers_(static_cast<size_t>(communicator.ranks())),
      last_{Clock::now(), Clock::now() - interval_, {}} {
  peers_[static_cast<size_t>(communicator.rank())].hasEnded = true;
}

//===-- messages ----------------------------------------------------------===//

Status Liveness::tellAll(Kind kind, StatusCode code, std::string text) {
  Head head{kind, code, waitsFor_, dead_};
  text.resize(
      std::min(text.size(), Communicator::kMostControlBytes - sizeof(head)));
  std::vector<uint8_t> message(sizeof(head) + text.size());
  std::memcpy(message.data(), &head, sizeof(head));
  std::copy(text.begin(), text.end(), message.begin() + sizeof(head));
  for (int rank = 0; rank < communicator_.ranks(); ++rank)
    if (rank != communicator_.rank())
      GRADUS_TRY(communicator_.tell(rank, message, kind != Kind::beat));
  return {};
}

Status Liveness::hear(int from, const std::vector<uint8_t> &message) {
  Head head;
  if (message.size() < sizeof(head))
    return failed(named(from), " sent a message that is none of Gradus");
  std::memcpy(&head, message.data(), sizeof(head));
  std::string text(message.begin() + sizeof(head), message.end());
  Peer &peer = peers_[static_cast<size_t>(from)];
  peer.silence = {};
  switch (head.kind) {
  case Kind::beat:
    peer.waitsFor = head.waitsFor;
    peer.does = std::move(text);
    break;
  case Kind::end:
    peer.hasEnded = true;
    break;
  case Kind::failed:
    if (failure_.ok()) {
      failure_ = Status(head.code, std::move(text));
      dead_ = head.dead;
      if (dead_ >= 0 && dead_ < communicator_.ranks())
        peers_[static_cast<size_t>(dead_)].hasEnded = true;
    }
    break;
  }
  return {};
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

std::string Liveness::entered() const {
  return what_ ? inWords(what_(), " (number ", number_, ")") : "";
}

Status Liveness::failNow(const Status &status) {
  if (!failure_.ok())
    return failure_;
  failure_ = status;
  // An error while they are told is no news: the group has failed.
  (void)tellAll(Kind::failed, status.code(), status.message());
  return failure_;
}

void Liveness::fail(const Status &status) {
  std::lock_guard lock(mutex_);
  if (own_.ok())
    own_ = status;
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
  dead_ = rank;
  peers_[static_cast<size_t>(rank)].hasEnded = true; // It is not waited for.
  return failNow(failed(text));
}

Status Liveness::findDead() {
  auto now = Clock::now();
  bool looks = now - last_.looked >= kLook;
  if (looks)
    last_.looked = now;
  for (int rank = 0; rank < communicator_.ranks(); ++rank) {
    const Peer &peer = peers_[static_cast<size_t>(rank)];
    if (!peer.hasEnded && peer.silence > options_.limit)
      return loses(rank, inWords(" has given no sign of life for ",
                                 inSeconds(peer.silence),
                                 ": it was killed or stopped, or its host is "
                                 "gone"));
    if (!looks || peer.hasEnded || !communicator_.isGone(rank))
      continue;
    GRADUS_TRY(hearAll()); // Its last words may say why.
    if (!failure_.ok())
      return failure_;
    if (!peer.hasEnded)
      return loses(rank, " is gone: it was killed, or it crashed");
  }
  return {};
}

//===-- what is called again and again ------------------------------------===//

Status Liveness::attend() {
  if (!failure_.ok())
    return failure_;
  if (hasFailed_) {
    std::lock_guard lock(mutex_);
    return failNow(at(own_, named(communicator_.rank())));
  }
  if (Status status = keepInTouch(); !status.ok())
    return failNow(at(status, named(communicator_.rank())));
  return failure_.ok() ? findDead() : failure_;
}

Status Liveness::keepInTouch() {
  auto now = Clock::now();
  if (now - last_.attended < kAttention)
    return {};
  auto awake = std::min<Clock::duration>(now - last_.attended,
                                         interval_ * kIntervalsAwake);
  last_.attended = now;
  for (Peer &peer : peers_)
    peer.silence += awake;
  GRADUS_TRY(hearAll());
  if (now - last_.told < interval_)
    return {};
  last_.told = now;
  std::unique_lock lock(mutex_);
  std::string does = does_;
  lock.unlock();
  return tellAll(Kind::beat, {}, std::move(does));
}

void Liveness::enter(uint64_t number, std::function<std::string()> what) {
  number_ = number;
  what_ = std::move(what);
}

void Liveness::leave() { what_ = nullptr; }

/// Follows who waits for whom to a rank that waits for none.
void Liveness::sayWhoIsWaitedFor(Clock::duration waited) {
  if (!options_.say)
    return;
  for (int lower = 0; lower < communicator_.rank(); ++lower)
    if (peers_[static_cast<size_t>(lower)].waitsFor >= 0)
      return;
  int slow = waitsFor_;
  for (size_t seen = 0; seen < peers_.size(); ++seen) {
    const Peer &peer = peers_[static_cast<size_t>(slow)];
    if (peer.waitsFor < 0 || peer.waitsFor == communicator_.rank())
      break;
    slow = peer.waitsFor;
  }
  const Peer &peer = peers_[static_cast<size_t>(slow)];
  std::string line =
      inWords(named(communicator_.rank()), " has waited for ",
              inSeconds(waited), " for ", named(slow), " in ", entered());
  if (peer.hasEnded)
    append(line, ", which has ended");
  else if (!peer.does.empty())
    append(line, ", which ", peer.does);
  options_.say(line);
}

Status Liveness::wait(Transfer transfer, int peer) {
  waitsFor_ = peer;
  auto start = Clock::now();
  Clock::duration patience = options_.patience, waited{};
  Status status;
  for (;; waited = Clock::now() - start) {
    auto done = communicator_.isDone(transfer);
    status = done.ok()
                 ? attend()
                 : failNow(at(done.status(), named(communicator_.rank())));
    if (!status.ok() || *done)
      break;
    if (peers_[static_cast<size_t>(peer)].hasEnded && waited > options_.limit) {
      status = failNow(failed(named(peer), " has ended, and ",
                              named(communicator_.rank()), " waits for it in ",
                              entered()));
      break;
    }
    if (waited >= patience) {
      sayWhoIsWaitedFor(waited);
      patience *= 2;
    }
    communicator_.pause(
        std::chrono::duration_cast<std::chrono::microseconds>(waited));
  }
  waitsFor_ = -1;
  if (!status.ok()) // The caller's memory may be away next.
    communicator_.forget();
  return status;
}

bool Liveness::haveAllEnded() const {
  return std::all_of(peers_.begin(), peers_.end(), [&](const Peer &peer) {
    return peer.hasEnded || peer.silence > options_.limit;
  });
}

/// Several may have died at once, of which one was found.
bool Liveness::speaks() {
  for (int rank = 0; rank < communicator_.rank(); ++rank) {
    const Peer &peer = peers_[static_cast<size_t>(rank)];
    if (rank != dead_ && peer.silence < options_.limit / 2 &&
        !communicator_.isGone(rank))
      return false;
  }
  return true;
}

Status Liveness::end() {
  GRADUS_TRY(attend());
  GRADUS_TRY(tellAll(Kind::end, {}, ""));
  auto start = Clock::now();
  while (!haveAllEnded()) {
    communicator_.pause(std::chrono::duration_cast<std::chrono::microseconds>(
        Clock::now() - start));
    GRADUS_TRY(attend());
  }
  return {};
}

void Liveness::part() {
  // An error while they part is no news: the group has failed.
  if (!tellAll(Kind::end, {}, "").ok())
    return;
  auto start = Clock::now();
  for (Clock::duration waited{}; waited < options_.limit && !haveAllEnded();
       waited = Clock::now() - start) {
    communicator_.pause(
        std::chrono::duration_cast<std::chrono::microseconds>(waited));
    if (!keepInTouch().ok())
      return;
  }
}

} // namespace gradus::runtime
