// The ring of what was begun, and the life of the thread.

#include "runtime/collectives/communication_thread.h"

#include "runtime/collectives/sum_tree.h"
#include "runtime/float_mode.h"

#include <algorithm>
#include <csignal>

namespace gradus::runtime {

/// A thread without work looks so often for a failure of others: all that live
/// settle on one before it is said, and a launcher kills them a second after
/// one has died.
static constexpr std::chrono::milliseconds kLook{50};

//===-- the program's side ------------------------------------------------===//

StatusOr<std::unique_ptr<CommunicationThread>>
CommunicationThread::start(OpenCommunicator open, LivenessOptions options) {
  std::unique_ptr<CommunicationThread> made(new CommunicationThread());
  GRADUS_TRY(made->createThread(std::move(open), std::move(options)));
  std::unique_lock lock(made->mutex_);
  made->ended_.wait(lock,
                    [&] { return made->liveness_ || made->state_ == left; });
  if (!made->failure_.ok())
    return made->failure_;
  lock.unlock();
  return made;
}

/// The thread's own copy of what start() was given.
struct CommunicationThread::Start {
  CommunicationThread *self;
  OpenCommunicator open;
  LivenessOptions options;
};

/// Only the program's own threads handle signals.
Status CommunicationThread::createThread(OpenCommunicator open,
                                         LivenessOptions options) {
  auto start =
      std::make_unique<Start>(Start{this, std::move(open), std::move(options)});
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int refused = pthread_create(&thread_.id, nullptr, enter, start.get());
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (refused) {
    thread_.id = {};
    return failed("the system starts no thread for collectives");
  }
  (void)start.release(); // It is the thread's now.
  return {};
}

CommunicationThread::~CommunicationThread() {
  if (!thread_.id || thread_.origin.isOther())
    return;
  (void)fail(failed("has ended without a word"));
  (void)end();
  pthread_join(thread_.id, nullptr);
}

uint64_t CommunicationThread::add(const Collective &collective,
                                  const Task *task) {
  std::unique_lock lock(mutex_);
  ended_.wait(
      lock, [&] { return begunCount_ < endedCount_ + kMostBegun || isOver(); });
  uint64_t number = begunCount_++;
  auto now = Clock::now();
  ring_[number % kMostBegun] = {collective, task, {now, now, now}};
  bool isDone = ranks() == 1 && !task && endedCount_ == number &&
                check(collective, 1).ok();
  if (isDone)
    ++endedCount_;
  else
    changed_.notify_one();
  return number;
}

uint64_t CommunicationThread::begin(const Collective &collective) {
  return add(collective, nullptr);
}

bool CommunicationThread::isOver() const {
  return !failure_.ok() || state_ == left;
}

Status CommunicationThread::finish(uint64_t number) {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [&] { return endedCount_ > number || isOver(); });
  if (endedCount_ > number || !failure_.ok())
    return failure_;
  return failed("a collective was begun after the end of all");
}

Status CommunicationThread::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

bool CommunicationThread::claimWords() {
  std::unique_lock lock(mutex_);
  if (!failure_.ok() && state_ == running) {
    outcome_.isAsked = true;
    changed_.notify_one();
    ended_.wait(lock, [&] { return !outcome_.isAsked; });
  }
  return outcome_.speaks;
}

int CommunicationThread::dead() const {
  std::lock_guard lock(mutex_);
  return outcome_.dead;
}

CommunicationThread::Times CommunicationThread::timesOf(uint64_t number) const {
  std::lock_guard lock(mutex_);
  return ring_[number % kMostBegun].times;
}

Status CommunicationThread::run(const Task &task) {
  return finish(add({}, &task));
}

void CommunicationThread::doing(std::string what) {
  std::lock_guard lock(mutex_);
  if (liveness_)
    liveness_->doing(std::move(what));
}

Status CommunicationThread::fail(const Status &status) {
  std::unique_lock lock(mutex_);
  if (liveness_)
    liveness_->fail(status);
  hasFailed_ = true;
  changed_.notify_one();
  ended_.wait(lock, [&] { return isOver(); });
  return failure_;
}

void CommunicationThread::keep(std::shared_ptr<const void> memory) {
  std::lock_guard lock(mutex_);
  kept_.push_back(std::move(memory));
}

Status CommunicationThread::end() {
  std::unique_lock lock(mutex_);
  if (state_ == running)
    state_ = ending;
  changed_.notify_one();
  ended_.wait(lock, [&] { return state_ == left; });
  return failure_;
}

//===-- the thread's side -------------------------------------------------===//

void *CommunicationThread::enter(void *start) {
  std::unique_ptr<Start> own(static_cast<Start *>(start));
  own->self->live(std::move(own->open), std::move(own->options));
  return nullptr;
}

/// Refuses ranks of other builds than rank 0's, on all ranks alike: they tell
/// each other plain structs.
static Status checkBuilds(const Communicator &communicator) {
  auto words = [&](int rank) {
    return inWords("rank ", rank, " (", communicator.host(rank),
                   ") runs Gradus ", communicator.build(rank));
  };
  for (int rank = 1; rank < communicator.ranks(); ++rank)
    if (communicator.build(rank) != communicator.build(0))
      return invalid(words(rank), ", and ", words(0),
                     ": start the same build on all hosts");
  return {};
}

void CommunicationThread::live(OpenCommunicator open, LivenessOptions options) {
  FlushDenormals mode;
  auto communicator = open();
  Status status = communicator.status();
  if (communicator.ok()) {
    status = checkBuilds(**communicator);
    if (status.ok())
      status = stay(**communicator, std::move(options));
    else
      (*communicator)->leave(/*orderly=*/true); // All do.
  }
  std::lock_guard lock(mutex_);
  failure_ = status;
  state_ = left;
  ended_.notify_all();
}

/// Takes part until the end of the group, and leaves it.
Status CommunicationThread::stay(Communicator &communicator,
                                 LivenessOptions options) {
  Liveness liveness(communicator, std::move(options));
  SumTree sums(liveness); // Others may write to its memory until it is left.
  Status status = takePart(liveness, sums);
  if (!status.ok())
    status = part(liveness, status);
  {
    std::lock_guard lock(mutex_);
    liveness_ = nullptr;
  }
  communicator.leave(status.ok());
  return status;
}

Status CommunicationThread::takePart(Liveness &liveness, SumTree &sums) {
  Communicator &communicator = liveness.communicator();
  {
    std::lock_guard lock(mutex_);
    group_.rank = communicator.rank();
    for (int rank = 0; rank < communicator.ranks(); ++rank)
      group_.hosts.push_back(communicator.host(rank));
    liveness_ = &liveness;
    ended_.notify_all();
  }
  while (!isAtEnd())
    GRADUS_TRY(waitForWork(std::min(kLook, liveness.interval()))
                   ? runNext(liveness, sums)
                   : liveness.attend());
  return liveness.end();
}

/// Settles with the others on one failure, which it returns, and stays in touch
/// until the program has ended, too.
Status CommunicationThread::part(Liveness &liveness, const Status &failure) {
  liveness.communicator().forget();
  Status settled = liveness.settle(failure);
  std::unique_lock lock(mutex_);
  failure_ = settled;
  outcome_.dead = liveness.dead();
  ended_.notify_all();
  while (state_ != ending) {
    changed_.wait_for(lock, liveness.interval(),
                      [&] { return state_ == ending || outcome_.isAsked; });
    lock.unlock();
    (void)liveness.keepInTouch(); // The group has failed already.
    lock.lock();
    answerClaim(liveness);
  }
  lock.unlock();
  bool speaksAfterAll = liveness.part();
  lock.lock();
  outcome_.speaks |= speaksAfterAll;
  return settled;
}

/// It says so at once: the program may have been busy for so long that another
/// rank is about to speak.
void CommunicationThread::answerClaim(Liveness &liveness) {
  if (!outcome_.isAsked)
    return;
  outcome_.speaks = liveness.claimWords();
  outcome_.isAsked = false;
  ended_.notify_all();
}

bool CommunicationThread::isAtEnd() const {
  std::lock_guard lock(mutex_);
  return state_ == ending && endedCount_ == begunCount_;
}

bool CommunicationThread::waitForWork(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, time, [&] {
    return endedCount_ < begunCount_ || state_ == ending || hasFailed_;
  });
  return endedCount_ < begunCount_;
}

Status CommunicationThread::runNext(Liveness &liveness, SumTree &sums) {
  std::unique_lock lock(mutex_);
  uint64_t number = endedCount_;
  Entry &entry = ring_[number % kMostBegun];
  entry.times.started = Clock::now();
  lock.unlock();
  liveness.enter(number, [&entry] {
    return entry.task ? "an agreement" : inWords(entry.collective);
  });
  Status status =
      entry.task ? (*entry.task)(liveness) : sums.run(entry.collective);
  liveness.leave();
  lock.lock();
  entry.times.ended = Clock::now();
  if (status.ok())
    ++endedCount_;
  ended_.notify_all();
  return status;
}

} // namespace gradus::runtime
