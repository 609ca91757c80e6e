// mpirun answers SIGTERM by killing its processes within a second, which may be
// too little to save a state. It passes SIGUSR1 on as it is, so that is what
// our processes get.

#include "tool/session/started_ranks.h"

#include "runtime/collectives/open_mpi.h"
#include "runtime/cpu/cores.h"
#include "tool/command_line.h"
#include "tool/failure.h"
#include "tool/interrupt.h"
#include "tool/session/open_files.h"
#include "tool/text.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gradus::cli {

namespace {

std::vector<std::string> commandFor(int ranks) {
  std::error_code error;
  std::string self =
      std::filesystem::read_symlink("/proc/self/exe", error).string();
  std::vector<std::string> words = {
      "mpirun",    "-n",   std::to_string(ranks), "--quiet",
      "--bind-to", "none", "--oversubscribe"};
  std::vector<std::string> call = rememberedWords();
  if (!error && !call.empty())
    call.front() = self;
  words.insert(words.end(), call.begin(), call.end());
  return words;
}

std::atomic<pid_t> child{0};
std::atomic<int> asked{0};           // the first signal
std::atomic<int64_t> firstSignal{0}; // its time

void passOn(int signal) {
  int none = 0;
  bool isFirst = asked.compare_exchange_strong(none, signal);
  bool again = asksAgain(firstSignal);
  if (pid_t to = child; to && (isFirst || again))
    kill(to, isFirst ? SIGUSR1 : signal);
}

constexpr int kPassedOn[] = {SIGINT, SIGTERM, SIGHUP};

/// Holds these signals back, so that none comes between mpirun's start and the
/// moment from which it gets them; returns the mask before.
sigset_t holdSignals() {
  sigset_t held, before;
  sigemptyset(&held);
  for (int signal : kPassedOn)
    sigaddset(&held, signal);
  pthread_sigmask(SIG_BLOCK, &held, &before);
  return before;
}

void passSignalsOn() {
  struct sigaction action = {};
  action.sa_handler = passOn;
  action.sa_flags = SA_RESTART;
  for (int signal : kPassedOn) {
    struct sigaction before = {};
    sigaction(signal, nullptr, &before);
    bool keeps = signal == SIGHUP && before.sa_handler == SIG_IGN; // nohup
    if (!keeps)
      sigaction(signal, &action, nullptr);
  }
}

/// Becomes mpirun, in a group of its own that Ctrl-C does not reach, and ends
/// with its parent. Writes the error to `words`, a pipe that is closed if all
/// went well.
[[noreturn]] void becomeMpirun(std::vector<char *> arguments, int words,
                               pid_t parent) {
  setpgid(0, 0);
  std::signal(SIGUSR1, SIG_DFL); // which this process may ignore
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) // It has ended before that.
    _exit(1);
  if (int none = open("/dev/null", O_RDONLY); none >= 0)
    dup2(none, STDIN_FILENO);
  if (geteuid() == 0) { // as in a container, where nobody else is harmed
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
  }
  execvp(arguments.front(), arguments.data());
  int error = errno;
  (void)!write(words, &error, sizeof(error));
  _exit(1);
}

/// Waits for mpirun and returns how it ended.
int statusOf(pid_t mpirun) {
  int status = 0;
  while (waitpid(mpirun, &status, 0) < 0 && errno == EINTR)
    ;
  child = 0;
  return status;
}

/// mpirun has 27 files open and 4 for each process while it starts them (Open
/// MPI 4.1), and waits for ever where it may not.
uint64_t filesOfMpirun(int ranks) {
  return 32 + 4 * static_cast<uint64_t>(ranks);
}

} // namespace

std::string crowdedText(int ranks, int cores) {
  if (ranks <= cores)
    return "";
  return absl::StrCat(
      "--ranks ", ranks, ": this process may use ", cores,
      cores == 1 ? " core" : " cores",
      " (by its affinity and CPU quota), which the ranks share: expect a step "
      "to take at least ",
      number("%.3g", static_cast<double>(ranks) / cores),
      " times as long as with a core for each");
}

int codeOfRanks(int status, int asked) {
  int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (asked && code == 128 + SIGUSR1)
    return 128 + asked;
  if (asked && code < 128)
    return code;
  for (int ours : {kDone, kBadInput, kInterrupted})
    if (code == ours)
      return ours;
  return kFailedWhileRunning;
}

void startRanks(int ranks) {
  take(runtime::openMpi()); // An error of it is better than mpirun's words.
  checkOpenFiles(absl::StrCat("--ranks ", ranks), filesOfMpirun(ranks));
  if (std::string words = crowdedText(ranks, runtime::availableCores());
      !words.empty())
    warn(words);
  std::vector<std::string> words = commandFor(ranks);
  std::vector<char *> arguments;
  for (std::string &word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw failed("--ranks ", ranks, ": ", std::strerror(errno));
  sigset_t before = holdSignals();
  pid_t parent = getpid(), mpirun = fork();
  if (mpirun == 0) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    becomeMpirun(std::move(arguments), ends[1], parent);
  }
  close(ends[1]);
  int error = mpirun < 0 ? errno : 0;
  if (mpirun > 0) {
    child = mpirun;
    passSignalsOn();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (mpirun > 0) {
    if (read(ends[0], &error, sizeof(error)) != sizeof(error))
      error = 0;
  }
  close(ends[0]);
  int status = mpirun > 0 ? statusOf(mpirun) : 0;
  if (error)
    throw badInput("--ranks ", ranks, ": mpirun cannot be started (",
                   std::strerror(error),
                   "): install Open MPI, or run ranks as threads with "
                   "--simulate-ranks ",
                   ranks);
  if (WIFSIGNALED(status) && !asked)
    throw failed("--ranks ", ranks, ": mpirun is gone: signal ",
                 WTERMSIG(status), " has ended it");
  if (int code = codeOfRanks(status, asked))
    throw Failure(static_cast<ExitCode>(code), "");
}

} // namespace gradus::cli
