// Transfers and messages as MPI's requests.

#include "runtime/collectives/mpi/mpi_communicator.h"

#include "runtime/collectives/launcher.h"

#define OMPI_SKIP_MPICXX
#define MPICH_SKIP_MPICXX
#include <mpi.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <deque>
#include <sched.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace gradus::runtime {

namespace {

using std::chrono::microseconds;

/// A transfer is looked at again at once, then after others had the
/// core, then after a sleep.
constexpr microseconds kSpin{100}, kYield{2000}, kNap{50};
/// The time that words about a failure get to leave.
constexpr std::chrono::seconds kFarewell{1};

Status check(int code, const char *call) {
  if (code == MPI_SUCCESS)
    return {};
  char words[MPI_MAX_ERROR_STRING];
  int size = 0;
  MPI_Error_string(code, words, &size);
  return failed(call, ": ", std::string_view(words, static_cast<size_t>(size)));
}

#define GRADUS_MPI(call, ...) GRADUS_TRY(check(call(__VA_ARGS__), #call))

/// What ranks tell each other first of all. Its form never changes, as they may
/// be of other builds.
struct Introduction {
  char build[64] = {}; // cut off, and zeros behind it
  char host[256] = {};
};
static_assert(MPI_MAX_PROCESSOR_NAME <= sizeof(Introduction::host));

/// A process as the others know it. Its number means something to those that
/// see the same processes, which those of another container do not.
struct Process {
  int64_t number = 0;
  uint64_t space = 0, device = 0; // 0: not known

  static Process own() {
    Process own;
    own.number = getpid();
    struct stat seen;
    if (stat("/proc/self/ns/pid", &seen) == 0) {
      own.space = seen.st_ino;
      own.device = seen.st_dev;
    }
    return own;
  }
};

class MpiCommunicator final : public Communicator {
public:
  ~MpiCommunicator() override { leave(false); }

  Status open(const std::string &build);

  int rank() const override { return rank_; }
  int ranks() const override { return static_cast<int>(hosts_.size()); }
  const std::string &host(int rank) const override {
    return hosts_[static_cast<size_t>(rank)];
  }
  std::string build(int rank) const override {
    return builds_[static_cast<size_t>(rank)];
  }

  bool isGone(int rank) override {
    int64_t number = neighbours_[static_cast<size_t>(rank)];
    return number && kill(static_cast<pid_t>(number), 0) != 0 && errno == ESRCH;
  }

  StatusOr<Transfer> send(int to, std::span<const uint8_t> bytes) override {
    Transfer transfer = free();
    receives_[transfer] = false;
    GRADUS_MPI(MPI_Isend, bytes.data(), static_cast<int>(bytes.size()),
               MPI_BYTE, to, 0, bytes_, &requests_[transfer]);
    return transfer;
  }

  StatusOr<Transfer> receive(int from, std::span<uint8_t> bytes) override {
    Transfer transfer = free();
    receives_[transfer] = true;
    GRADUS_MPI(MPI_Irecv, bytes.data(), static_cast<int>(bytes.size()),
               MPI_BYTE, from, 0, bytes_, &requests_[transfer]);
    return transfer;
  }

  StatusOr<bool> isDone(Transfer transfer) override {
    int done = 0;
    GRADUS_MPI(MPI_Test, &requests_[transfer], &done, MPI_STATUS_IGNORE);
    if (done)
      free_.push_back(transfer);
    return done != 0;
  }

  Status tell(int to, std::span<const uint8_t> message, bool needed) override;
  StatusOr<int> hear(std::vector<uint8_t> &message) override;
  void forget() override;
  void pause(microseconds waited) override;
  void leave(bool orderly) override;

private:
  struct Letter {
    std::vector<uint8_t> bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  Transfer free() {
    if (free_.empty()) {
      free_.push_back(static_cast<Transfer>(requests_.size()));
      requests_.push_back(MPI_REQUEST_NULL);
      receives_.push_back(false);
    }
    Transfer transfer = free_.back();
    free_.pop_back();
    return transfer;
  }
  Status findRanks(const std::string &build);
  Status findNeighbours();
  Status removeSent(std::deque<Letter> &letters);
  bool hasSentAll();

  int rank_ = 0;
  bool isOpen_ = false;
  std::vector<std::string> hosts_, builds_;
  std::vector<int64_t> neighbours_; // process of each rank; 0: not seen here
  MPI_Comm bytes_ = MPI_COMM_NULL, control_ = MPI_COMM_NULL;
  std::deque<MPI_Request> requests_; // by Transfer
  std::vector<bool> receives_;       // rather than sends, by Transfer
  std::vector<Transfer> free_;
  std::vector<std::deque<Letter>> letters_; // to each rank
};

Status MpiCommunicator::open(const std::string &build) {
  int isInitialized = 0;
  MPI_Initialized(&isInitialized);
  if (isInitialized)
    return invalid("MPI was initialized in this process before");
  int provided = 0;
  GRADUS_MPI(MPI_Init_thread, nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  isOpen_ = true;
  if (provided < MPI_THREAD_FUNNELED)
    return failed("this MPI allows no threads in a process that uses it");
  for (MPI_Comm *made : {&bytes_, &control_}) {
    GRADUS_MPI(MPI_Comm_dup, MPI_COMM_WORLD, made);
    GRADUS_MPI(MPI_Comm_set_errhandler, *made, MPI_ERRORS_RETURN);
  }
  return findRanks(build);
}

Status MpiCommunicator::findRanks(const std::string &build) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  Introduction own;
  build.copy(own.build, sizeof(own.build) - 1);
  int size = 0, ranks = 0;
  GRADUS_MPI(MPI_Get_library_version, version, &size);
  GRADUS_MPI(MPI_Comm_size, bytes_, &ranks);
  GRADUS_MPI(MPI_Comm_rank, bytes_, &rank_);
  std::string_view library(version, static_cast<size_t>(size));
  GRADUS_TRY(
      checkLaunched(ranks, std::string(library.substr(0, library.find(',')))));
  GRADUS_MPI(MPI_Get_processor_name, own.host, &size);
  std::vector<Introduction> all(static_cast<size_t>(ranks));
  GRADUS_MPI(MPI_Allgather, &own, sizeof(own), MPI_BYTE, all.data(),
             sizeof(own), MPI_BYTE, bytes_);
  for (const Introduction &each : all) {
    hosts_.emplace_back(each.host);
    builds_.emplace_back(each.build);
  }
  neighbours_.resize(all.size());
  letters_.resize(all.size());
  bool isOneBuild = std::ranges::count(builds_, builds_.front()) == ranks;
  return isOneBuild ? findNeighbours() : Status(); // which is then refused
}

Status MpiCommunicator::findNeighbours() {
  Process own = Process::own();
  std::vector<Process> all(hosts_.size());
  GRADUS_MPI(MPI_Allgather, &own, sizeof(own), MPI_BYTE, all.data(),
             sizeof(own), MPI_BYTE, bytes_);
  for (size_t rank = 0; rank < all.size(); ++rank)
    if (own.space && all[rank].space == own.space &&
        all[rank].device == own.device && hosts_[rank] == host(rank_))
      neighbours_[rank] = all[rank].number;
  return {};
}

Status MpiCommunicator::removeSent(std::deque<Letter> &letters) {
  while (!letters.empty()) {
    int done = 0;
    GRADUS_MPI(MPI_Test, &letters.front().request, &done, MPI_STATUS_IGNORE);
    if (!done)
      break;
    letters.pop_front();
  }
  return {};
}

Status MpiCommunicator::tell(int to, std::span<const uint8_t> message,
                             bool needed) {
  std::deque<Letter> &letters = letters_[static_cast<size_t>(to)];
  GRADUS_TRY(removeSent(letters));
  if (!needed && !letters.empty())
    return {};
  Letter &letter =
      letters.emplace_back(Letter{{message.begin(), message.end()}});
  GRADUS_MPI(MPI_Isend, letter.bytes.data(),
             static_cast<int>(letter.bytes.size()), MPI_BYTE, to, 0, control_,
             &letter.request);
  return {};
}

StatusOr<int> MpiCommunicator::hear(std::vector<uint8_t> &message) {
  int isThere = 0, size = 0;
  MPI_Status found;
  GRADUS_MPI(MPI_Iprobe, MPI_ANY_SOURCE, 0, control_, &isThere, &found);
  if (!isThere)
    return -1;
  GRADUS_MPI(MPI_Get_count, &found, MPI_BYTE, &size);
  message.resize(static_cast<size_t>(size));
  GRADUS_MPI(MPI_Recv, message.data(), size, MPI_BYTE, found.MPI_SOURCE, 0,
             control_, MPI_STATUS_IGNORE);
  return found.MPI_SOURCE;
}

/// An end to sends is not asked for: MPI may refuse it, and they only read.
/// Receives are cancelled once; a second time may crash.
void MpiCommunicator::forget() {
  for (size_t transfer = 0; transfer < requests_.size(); ++transfer) {
    if (receives_[transfer] && requests_[transfer] != MPI_REQUEST_NULL)
      MPI_Cancel(&requests_[transfer]);
    receives_[transfer] = false;
  }
}

/// MPI moves bytes only when it is called, so sleep is short.
void MpiCommunicator::pause(microseconds waited) {
  if (waited < kSpin)
    return;
  if (waited < kYield)
    sched_yield();
  else
    std::this_thread::sleep_for(std::min(kLongestPause, kNap + waited / 100));
}

bool MpiCommunicator::hasSentAll() {
  for (std::deque<Letter> &letters : letters_)
    if (removeSent(letters).ok() && !letters.empty())
      return false;
  return true;
}

/// Finalizing waits for all ranks, so it is left out where they may be dead.
void MpiCommunicator::leave(bool orderly) {
  if (!isOpen_)
    return;
  isOpen_ = false;
  auto start = std::chrono::steady_clock::now();
  auto waited = [&] { return std::chrono::steady_clock::now() - start; };
  while (!hasSentAll() && (orderly || waited() < kFarewell))
    pause(std::chrono::duration_cast<microseconds>(waited()));
  if (orderly)
    MPI_Finalize();
}

} // namespace

StatusOr<std::unique_ptr<Communicator>>
openMpiCommunicator(const std::string &build) {
  auto communicator = std::make_unique<MpiCommunicator>();
  GRADUS_TRY(communicator->open(build));
  return std::unique_ptr<Communicator>(std::move(communicator));
}

} // namespace gradus::runtime
