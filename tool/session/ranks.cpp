// Starts ranks, and ends them together.

#include "tool/session/ranks.h"

#include "messages/printable.h"
#include "runtime/collectives/in_process.h"
#include "runtime/collectives/launcher.h"
#include "runtime/collectives/open_mpi.h"
#include "runtime/cpu/cores.h"
#include "tool/command_line.h"
#include "tool/failure.h"
#include "tool/network.h"
#include "tool/number_options.h"
#include "tool/session/open_files.h"
#include "tool/session/session_options.h"
#include "tool/session/started_ranks.h"
#include "tool/text.h"

#include <algorithm>
#include <future>
#include <set>
#include <thread>
#include <unistd.h>

using namespace gradus::runtime;

namespace gradus::cli {

//===-- options -----------------------------------------------------------===//

namespace {

constexpr uint64_t kMostSimulated = 64;

/// Adds --ranks for a number alone.
CLI::Option *addRanks(CLI::App &command, RankOptions &options) {
  return command
      .add_option("--ranks", options.start,
                  "Run on N processes of this host, started by mpirun. "
                  "On several hosts: mpirun or srun before the command")
      ->check(wholeNumber(1, kMostRanks))
      ->type_name("N");
}

/// Adds --ranks for a number or a range.
CLI::Option *addRanks(CLI::App &command, RankOptions &options,
                      RankRange &predicted) {
  CLI::Validator number = wholeNumber(1, kMostRanks);
  auto words = [number](std::string &text) {
    if (text.find("..") == std::string::npos)
      return number(text);
    return rankRangeOf(text)
               ? std::string()
               : absl::StrCat("expected a range of 1 to ", kMostRanks,
                              " ranks, such as 2..256, found ", text);
  };
  return command
      .add_option_function<std::string>(
          "--ranks",
          [&options, &predicted](const std::string &text) {
            if (auto range = rankRangeOf(text))
              predicted = *range;
            else
              options.start = std::stoll(text);
          },
          "Run on N processes of this host, started by mpirun. A range, as "
          "2..256, predicts steps on so many, with --network")
      ->check(CLI::Validator(words, "N"));
}

} // namespace

void addRankOptions(CLI::App &command, RankOptions &options,
                    RankRange *predicted) {
  CLI::Option *start = predicted ? addRanks(command, options, *predicted)
                                 : addRanks(command, options);
  CLI::Option *simulate =
      command
          .add_option("--simulate-ranks", options.simulate,
                      "Run N ranks as threads of this process, with the bits "
                      "of N processes")
          ->check(wholeNumber(1, kMostSimulated))
          ->type_name("N")
          ->excludes(start);
  std::string network = "The network that simulated ranks have, as 25GB/s,5us; "
                        "none: as fast as memory";
  if (predicted)
    network += ". Of other ranks: that for which steps are predicted";
  CLI::Option *option = addNetworkOption(command, options.network, network);
  if (!predicted)
    option->needs(simulate);
  command
      .add_option("--rank-timeout", options.limit,
                  "Seconds without a sign of life after which a rank is taken "
                  "for dead (10); a slow one lives")
      ->check(secondsBetween(0.5, 86400));
}

//===-- a rank ------------------------------------------------------------===//

int Ranks::neighbours() const {
  int here = 0;
  for (int rank = 0; rank < count(); ++rank)
    here += thread_->host(rank) == thread_->host(thread_->rank());
  return here;
}

int Ranks::threads(int asked) const {
  if (isAlone() || asked > 0)
    return asked;
  int ranks = neighbours(), mine = availableCores();
  int all =
      usableCores(std::max<long>(1, sysconf(_SC_NPROCESSORS_ONLN)), cpuQuota());
  int share = std::max(1, all / ranks);
  if (mine < all && mine < share)
    warn(absl::StrCat("each rank may use ", mine,
                      mine == 1 ? " core" : " cores", " of the ", all, " that ",
                      thread_->host(rank()), " has for ", ranks,
                      " ranks: the launcher has bound it; mpirun --bind-to "
                      "none lets it use ",
                      share));
  return std::min(mine, share);
}

std::string Ranks::text() const {
  if (isAlone())
    return "";
  std::set<std::string> hosts;
  for (int rank = 0; rank < count(); ++rank)
    hosts.insert(thread_->host(rank));
  if (isSimulated_)
    return absl::StrCat(count(), ", simulated by threads of this process");
  return absl::StrCat(count(), " processes on ",
                      hosts.size() == 1 ? *hosts.begin()
                                        : absl::StrCat(hosts.size(), " hosts"));
}

void Ranks::doing(const std::string &what) const {
  if (thread_)
    thread_->doing(what);
}

std::string Ranks::fromFirst(const std::string &text) const {
  return thread_ ? take(fromRankZero(*thread_, text)) : text;
}

void Ranks::agree(const Facts &facts) const {
  Status status = thread_ ? runtime::agree(*thread_, facts) : Status();
  if (status.ok())
    return;
  bool lives = thread_->run([](Liveness &) { return Status(); }).ok();
  if (lives) // so it is no failure of the group: they differ
    throw SharedFailure(failureOf(status));
  throw failureOf(status);
}

void Ranks::adviseWhenOneDies(std::function<std::string()> advice) const {
  *advice_ = std::move(advice);
}

std::string Ranks::wordsOf(const Status &failure) const {
  bool hasDied = thread_ && thread_->dead() >= 0;
  return failure.message() + (hasDied && *advice_ ? (*advice_)() : "");
}

//===-- all of them -------------------------------------------------------===//

namespace {

void say(const std::string &words) {
  std::fflush(stdout);
  std::fprintf(stderr, "gradus: %s\n", printableLines(words).c_str());
}

StatusCode codeOf(const Failure &failure) {
  switch (failure.code) {
  case kInterrupted:
    return StatusCode::cancelled;
  case kBadInput:
    return StatusCode::invalid;
  default:
    return StatusCode::failed;
  }
}

/// Ends a rank where all end alike, as an interrupted run.
[[noreturn]] void endAlike(const Ranks &ranks, const Failure &failure) {
  CommunicationThread &thread = *ranks.thread();
  // It says so before the end, as a launcher may end it when another ends.
  if (thread.rank() == 0)
    say(failure.what());
  Status ended = thread.end();
  if (ended.ok())
    throw Failure(failure.code, "");
  if (thread.claimWords())
    say(ranks.wordsOf(ended));
  throw Failure(failureOf(ended).code, "");
}

/// Ends a rank whose command threw: the others get its words, and one of all
/// prints these.
[[noreturn]] void endFailed(const Ranks &ranks, const Failure &failure) {
  CommunicationThread &thread = *ranks.thread();
  if (dynamic_cast<const SharedFailure *>(&failure))
    endAlike(ranks, failure);
  Status shared = thread.fail(Status(codeOf(failure), failure.what()));
  std::string words = ranks.wordsOf(shared);
  bool speaks = thread.claimWords();
  if (speaks)
    say(words);
  // It has printed: a launcher may end the others when this one has ended.
  (void)thread.end();
  if (!speaks && thread.claimWords()) // The one that was to is busy or gone.
    say(words);
  throw Failure(failureOf(shared).code, "");
}

/// Opens the communicator of a rank. What is refused is so on all processes
/// alike, and the first says it; a failure may be of one alone.
std::shared_ptr<CommunicationThread> openRank(OpenCommunicator open,
                                              LivenessOptions liveness) {
  auto started =
      CommunicationThread::start(std::move(open), std::move(liveness));
  if (started.ok())
    return *std::move(started);
  Failure failure = failureOf(started.status());
  bool isSaid = leavesWordsToFirst() && failure.code == kBadInput;
  throw Failure(failure.code, isSaid ? "" : failure.what());
}

/// Runs the command as one rank.
void runRank(OpenCommunicator open, const RankOptions &options,
             const std::function<void(const Ranks &)> &command) {
  bool isSimulated = options.simulate > 0;
  LivenessOptions liveness;
  liveness.limit =
      std::chrono::milliseconds(static_cast<int64_t>(options.limit * 1000));
  liveness.say = [](const std::string &line) {
    std::fprintf(stderr, "note: %s\n", printableLines(line).c_str());
  };
  auto thread = openRank(std::move(open), std::move(liveness));
  Silence silence(thread->rank() != 0);
  Ranks ranks(thread, isSimulated);
  try {
    command(ranks);
    check(
        agree(*thread, {})); // One may have failed behind the last collective.
  } catch (const Failure &failure) {
    endFailed(ranks, failure);
  } catch (const std::exception &thrown) {
    endFailed(ranks, failed(thrown.what()));
  }
  if (Status ended = thread->end(); !ended.ok()) {
    bool speaks = thread->claimWords();
    throw Failure(failureOf(ended).code, speaks ? ranks.wordsOf(ended) : "");
  }
}

/// 2 for an exception with words, 1 for another one, 0 for none.
int saysSomething(const std::exception_ptr &thrown) {
  if (!thrown)
    return 0;
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception &exception) {
    return *exception.what() ? 2 : 1;
  }
}

/// Calls a function in so many threads, once all of them are there; returns
/// how many there are.
size_t inThreads(size_t count, const std::function<void(size_t)> &function) {
  std::promise<bool> start;
  std::shared_future<bool> started = start.get_future();
  std::vector<std::thread> threads;
  try {
    while (threads.size() < count)
      threads.emplace_back([&, number = threads.size()] {
        if (started.get())
          function(number);
      });
  } catch (const std::system_error &) {
    // The system starts no more of them.
  }
  start.set_value(threads.size() == count);
  for (std::thread &thread : threads)
    thread.join();
  return threads.size();
}

/// Each simulated rank has the artifact open, and what it reads; the first one
/// has its logs and checkpoints, too.
uint64_t filesOfSimulated(int64_t ranks) {
  return 16 + 2 * static_cast<uint64_t>(ranks);
}

/// Runs the ranks as threads. Each has cores of its own, as launchers bind
/// processes: else the system may leave two ranks on one core and another idle.
void simulate(const RankOptions &options,
              const std::function<void(const Ranks &)> &command) {
  checkOpenFiles(absl::StrCat("--simulate-ranks ", options.simulate),
                 filesOfSimulated(options.simulate));
  std::vector<OpenCommunicator> openers =
      inProcess(static_cast<int>(options.simulate), options.network);
  std::vector<std::exception_ptr> thrown(openers.size());
  size_t threads = inThreads(openers.size(), [&](size_t rank) {
    try {
      bindToShare(rank, openers.size());
      runRank(std::move(openers[rank]), options, command);
    } catch (...) {
      thrown[rank] = std::current_exception();
    }
  });
  if (threads < openers.size())
    throw failed("--simulate-ranks ", openers.size(), ": the system starts ",
                 threads, " threads");
  // What the ranks have in common was said already, and has no words here.
  std::ranges::stable_sort(thrown, std::greater(), saysSomething);
  if (thrown.front())
    std::rethrow_exception(thrown.front());
}

} // namespace

/// Refuses options that ask for other ranks than a launcher has started.
static void checkStarted(const RankOptions &options, const Launched &found) {
  std::string words;
  if (options.simulate && found.processes > 1)
    words = absl::StrCat("--simulate-ranks ", options.simulate,
                         ": a launcher has started ", found.processes,
                         " processes (", found.variable,
                         "); simulated ranks are threads of one");
  else if (options.start && options.start != found.processes)
    words = absl::StrCat("--ranks ", options.start, ": a launcher has started ",
                         found.processes, " processes (", found.variable,
                         "); leave --ranks out");
  if (!words.empty())
    throw badInput(leavesWordsToFirst() ? "" : words);
}

void runOnRanks(const RankOptions &options,
                const std::function<void(const Ranks &)> &command) {
  auto found = launched();
  bool isOfSeveral = found && found->processes > 1;
  if (found)
    checkStarted(options, *found);
  if (options.simulate)
    return simulate(options, command);
  if (options.start > 1 && !isOfSeveral)
    return startRanks(static_cast<int>(options.start));
  if (!isOfSeveral)
    return command(Ranks());
  auto open = openMpi();
  if (!open.ok()) // On all hosts or on one: the first says it before others do.
    (void)leavesWordsToFirst();
  runRank(take(std::move(open)), options, command);
}

} // namespace gradus::cli
