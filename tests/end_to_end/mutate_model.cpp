// mutate_model FOLDER RECIPE COUNT FIRST SEED MODEL...: damages the models and
// the recipe in COUNT ways (models in turn) and compiles what comes of it; what
// compiles to a small step also runs once. COUNT may be a time, 20s: as many as
// begin in it, but each model once. FOLDER holds the current mutation
// (model.onnx, recipe.json), to repeat a failure: COUNT 1 and FIRST its number.
//
// A crash is a crash; exit code 1 where a mutation is refused without words,
// takes over a minute or gigabytes.

#include "model_mutations.h"

#include "frontends/compiler/compiler.h"
#include "runtime/session/session.h"

#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

using namespace gradus;

extern "C" compiler::Compiler *gradus_compiler();

namespace {

constexpr time_t kMostSeconds = 60;
constexpr long kMostKilobytes = 6 << 20;    // of memory, in the sanitizer's too
constexpr size_t kMostBytesToRun = 1 << 24; // of an artifact

int64_t current = 0;

void giveUp(int) {
  // Only what a signal handler may call.
  static char text[] = "a mutation took over a minute; its files are left\n";
  [[maybe_unused]] auto written = write(2, text, sizeof(text) - 1);
  _exit(1);
}

std::string contentOf(const std::string &path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Runs every graph once on zeros, if that is little work.
void runOnce(const std::vector<char> &bytes) {
  if (bytes.size() > kMostBytesToRun)
    return;
  auto artifact = runtime::Artifact::fromBytes(
      {reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()},
      "mutated");
  if (!artifact.ok())
    return;
  auto session = runtime::Session::create(*artifact, {.threads = 1});
  if (!session.ok() || (*session)->memory().arena > kMostBytesToRun)
    return;
  for (size_t graph = 0; graph < (*session)->graphs().size(); ++graph)
    (void)(*session)->step(static_cast<int>(graph));
}

struct Counts {
  int64_t refused = 0, compiled = 0;
};

/// Empty, or what is wrong.
std::string compileOne(compiler::Compiler &compiler, const std::string &folder,
                       const test::ModelAndRecipe &files, Counts &counts) {
  compiler::Request request;
  request.model = folder + "/model.onnx";
  request.recipe.file = folder + "/recipe.json";
  request.plan.threads = 1;
  std::ofstream(request.model, std::ios::binary) << files.model;
  std::ofstream(request.recipe.file, std::ios::binary) << files.recipe;
  (void)compiler.inspect(request);
  auto result = compiler.compile(request);
  ++(result.ok() ? counts.compiled : counts.refused);
  if (!result.ok() && result.status().message().empty())
    return "was refused without words";
  if (std::getenv("GRADUS_WORDS"))
    std::fprintf(stderr, "%lld: %s\n", static_cast<long long>(current),
                 result.ok() ? "compiles"
                             : std::string(result.status().message()).c_str());
  if (result.ok())
    runOnce(result->artifact);
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss > kMostKilobytes ? "took gigabytes" : "";
}

/// Data files beside a model, which it names.
void copyData(const std::string &model, const std::string &folder) {
  std::filesystem::path data = model + ".data";
  if (std::filesystem::exists(data))
    std::filesystem::copy_file(
        data, folder / data.filename(),
        std::filesystem::copy_options::overwrite_existing);
}

/// COUNT of the arguments.
struct Share {
  explicit Share(const std::string &text)
      : isTime(text.ends_with('s')), amount(std::atoll(text.c_str())) {}

  bool isDone(int64_t done, int64_t models) const {
    auto spent = std::chrono::steady_clock::now() - start;
    return isTime ? done >= models && spent >= std::chrono::seconds(amount)
                  : done >= amount;
  }

  bool isTime;
  int64_t amount;
  std::chrono::steady_clock::time_point start =
      std::chrono::steady_clock::now();
};

/// Of this process alone: the machine may have other things to do.
void startClock() {
  itimerval most = {{}, {kMostSeconds, 0}};
  setitimer(ITIMER_PROF, &most, nullptr);
}

} // namespace

int main(int count, char **arguments) {
  if (count < 7) {
    std::fprintf(stderr, "usage: mutate_model FOLDER RECIPE COUNT FIRST SEED "
                         "MODEL...\n");
    return 2;
  }
  std::string folder = arguments[1], recipe = contentOf(arguments[2]);
  Share share(arguments[3]);
  int64_t first = std::atoll(arguments[4]), models = count - 6;
  auto seed = static_cast<uint64_t>(std::atoll(arguments[5]));
  std::signal(SIGPROF, giveUp);
  Counts counts;
  compiler::Compiler &compiler = *gradus_compiler();
  for (current = first; !share.isDone(current - first, models); ++current) {
    const char *path = arguments[6 + current % models];
    if (current % 100 == 0)
      std::fprintf(stderr, "mutations from %lld on\n",
                   static_cast<long long>(current));
    startClock();
    copyData(path, folder);
    std::string model = contentOf(path);
    std::string wrong = compileOne(
        compiler, folder,
        test::mutated({model, test::recipeFor(model, recipe)}, seed, current),
        counts);
    if (!wrong.empty()) {
      std::printf("mutation %lld of %s %s\n", static_cast<long long>(current),
                  path, wrong.c_str());
      return 1;
    }
  }
  std::printf("%lld refused, %lld compiled\n",
              static_cast<long long>(counts.refused),
              static_cast<long long>(counts.compiled));
}
