// Runs ptxas for all architectures in parallel, each with one thread: with
// several (--split-compile) the order of symbols changes between runs, and so
// would the bytes.

#include "codegen/gpu/object.h"

#include "codegen/gpu/ptx.h"
#include "runtime/cuda_folder.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

using namespace mlir;
using namespace gradus;

//===-- programs ----------------------------------------------------------===//

namespace {

/// A file in the temporary folder that is removed with this object.
struct TemporaryFile {
  SmallString<128> path;
  std::error_code wrong; // why it could not be made or written
  explicit TemporaryFile(StringRef ending) {
    wrong = llvm::sys::fs::createTemporaryFile("gradus", ending, path);
  }
  TemporaryFile(const TemporaryFile &) = delete;
  ~TemporaryFile() { llvm::sys::fs::remove(path); }

  void write(StringRef text) {
    if (wrong)
      return;
    llvm::raw_fd_ostream stream(path, wrong);
    if (wrong)
      return;
    stream << text;
    stream.close();
    wrong = stream.error();
    stream.clear_error(); // otherwise its destructor aborts
  }

  /// The error of the file; empty: none.
  std::string problem() const {
    if (!wrong)
      return "";
    SmallString<128> folder;
    llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, folder);
    return "ptxas needs files in the temporary folder " + folder.str().str() +
           " (TMPDIR may name another): " + wrong.message();
  }

  std::string read() const {
    auto buffer = llvm::MemoryBuffer::getFile(path);
    return buffer ? (*buffer)->getBuffer().str() : "";
  }
};

/// Joins the lines that a program printed; all but the first are indented by
/// two spaces.
std::string inLines(StringRef printed) {
  SmallVector<StringRef> lines;
  printed.trim().split(lines, '\n');
  return llvm::join(lines, "\n  ");
}

/// A child process.
class Process {
public:
  explicit Process(ArrayRef<StringRef> command) : program_(command[0]) {
    std::optional<StringRef> to[] = {StringRef(), printed_.path.str(),
                                     printed_.path.str()};
    if (!printed_.wrong)
      process_ = llvm::sys::ExecuteNoWait(program_, command, std::nullopt, to,
                                          0, &why_, &failed_);
  }

  /// Waits for its end and returns what it printed to stdout and stderr; an
  /// error if it failed.
  llvm::Expected<std::string> wait() {
    if (printed_.wrong)
      return llvm::createStringError(printed_.problem());
    if (!failed_)
      failed_ =
          llvm::sys::Wait(process_, /*SecondsToWait=*/600, &why_).ReturnCode !=
          0;
    std::string text = printed_.read();
    if (!failed_)
      return text;
    return llvm::createStringError(
        program_ + " failed: " + (why_.empty() ? inLines(text) : why_));
  }

private:
  std::string program_, why_;
  TemporaryFile printed_{"txt"};
  bool failed_ = false;
  llvm::sys::ProcessInfo process_;
};

} // namespace

bool gradus::hasCudaToolkit() { return !cudaFolder().path.empty(); }

llvm::Expected<CudaToolkit> gradus::cudaToolkit() {
  CudaFolder folder = cudaFolder();
  if (std::string problem = folder.problem(); !problem.empty())
    return llvm::createStringError("CUDA targets need a toolkit: " + problem);
  std::string ptxas = folder.path + "/bin/ptxas";
  auto printed = Process({ptxas, "--version"}).wait();
  if (!printed)
    return printed.takeError();
  StringRef version = StringRef(*printed).split("release").second;
  return CudaToolkit{folder.path, "release" + version.split('\n').first.str()};
}

//===-- ptxas -------------------------------------------------------------===//

/// The number in front of a word, or 0.
static int64_t numberBefore(StringRef line, StringRef word) {
  size_t end = line.find(word);
  if (end == StringRef::npos)
    return 0;
  StringRef before = line.take_front(end).rtrim();
  int64_t number = 0;
  before.substr(before.find_last_not_of("0123456789") + 1)
      .getAsInteger(10, number);
  return number;
}

std::vector<KernelUse> gradus::parseUse(StringRef printed) {
  std::vector<KernelUse> kernels;
  SmallVector<StringRef> lines;
  printed.split(lines, '\n');
  for (StringRef line : lines) {
    if (line.contains("Compiling entry function"))
      kernels.push_back({line.split('\'').second.split('\'').first.str()});
    if (kernels.empty())
      continue;
    KernelUse &use = kernels.back();
    use.stack += numberBefore(line, "bytes stack frame");
    use.spilled += numberBefore(line, "bytes spill stores") +
                   numberBefore(line, "bytes spill loads");
    use.registers += numberBefore(line, "registers");
    use.shared += numberBefore(line, "bytes smem");
  }
  return kernels;
}

namespace {

/// A run of ptxas on the kernels of an architecture.
class Assembly {
public:
  Assembly(std::string ptx, StringRef architecture, const CudaToolkit &toolkit)
      : architecture_(architecture), ptx_(std::move(ptx)) {
    from_.write(this->ptx_);
    if (!problem().empty())
      return;
    std::string ptxas = toolkit.folder + "/bin/ptxas",
                name = "--gpu-name=" + this->architecture_;
    SmallVector<StringRef> command = {ptxas, name};
    llvm::append_range(command, kOptions);
    command.append({from_.path, "-o", to_.path});
    process_.emplace(command);
  }

  llvm::Expected<Cubin> finish() {
    if (std::string why = problem(); !why.empty())
      return llvm::createStringError(why);
    auto printed = process_->wait();
    if (!printed)
      return printed.takeError();
    std::string code = to_.read();
    return Cubin{architecture_, std::move(ptx_),
                 std::vector<char>(code.begin(), code.end()),
                 std::move(*printed)};
  }

  static constexpr StringRef kOptions[] = {"-O3", "--verbose"};

private:
  std::string problem() const {
    return from_.wrong ? from_.problem() : to_.problem();
  }

  std::string architecture_, ptx_;
  TemporaryFile from_{"ptx"}, to_{"cubin"};
  std::optional<Process> process_;
};

} // namespace

std::vector<KernelUse> Cubin::kernels() const { return parseUse(said); }

llvm::Expected<std::vector<Cubin>>
gradus::assemble(std::vector<std::string> ptx,
                 ArrayRef<std::string> architectures,
                 const CudaToolkit &toolkit) {
  std::vector<std::unique_ptr<Assembly>> running;
  for (auto [text, architecture] : llvm::zip_equal(ptx, architectures))
    running.push_back(
        std::make_unique<Assembly>(std::move(text), architecture, toolkit));
  std::vector<Cubin> cubins;
  llvm::Error problems = llvm::Error::success();
  for (auto &assembly : running) // waits for all, so that no process remains
    if (auto cubin = assembly->finish())
      cubins.push_back(std::move(*cubin));
    else
      problems = llvm::joinErrors(std::move(problems), cubin.takeError());
  if (problems)
    return std::move(problems);
  return cubins;
}

//===-- cached ------------------------------------------------------------===//

/// The key of all inputs that PTX and cubins depend on.
static llvm::Expected<CacheKey> keyOf(const GpuBitcode &bitcode,
                                      const CudaToolkit &toolkit) {
  auto library = libdevice(toolkit);
  if (!library)
    return library.takeError();
  CacheKey key;
  key.add(toolkit.version).add(ptxWriter()).add((*library)->getBuffer());
  for (StringRef option : Assembly::kOptions)
    key.add(option);
  for (const std::string &part : bitcode.parts)
    key.add(part);
  return key;
}

/// The sizes of the PTX and the table, then PTX, table and code.
static std::string pack(const Cubin &cubin) {
  char sizes[16];
  llvm::support::endian::write64le(sizes, cubin.ptx.size());
  llvm::support::endian::write64le(sizes + 8, cubin.said.size());
  std::string bytes(sizes, sizeof(sizes));
  bytes += cubin.ptx + cubin.said;
  bytes.append(cubin.code.begin(), cubin.code.end());
  return bytes;
}

static std::optional<Cubin> unpack(StringRef bytes, StringRef architecture) {
  if (bytes.size() < 16)
    return std::nullopt;
  uint64_t ptx = llvm::support::endian::read64le(bytes.data()),
           said = llvm::support::endian::read64le(bytes.data() + 8);
  bytes = bytes.drop_front(16);
  if (ptx > bytes.size() || said > bytes.size() - ptx)
    return std::nullopt;
  StringRef code = bytes.drop_front(ptx + said);
  return Cubin{architecture.str(), bytes.take_front(ptx).str(),
               std::vector<char>(code.begin(), code.end()),
               bytes.substr(ptx, said).str()};
}

static std::optional<Cubin> known(const KernelCache &cache, const CacheKey &key,
                                  StringRef architecture) {
  std::optional<std::string> bytes =
      cache.find(CacheKey(key).add(architecture));
  return bytes ? unpack(*bytes, architecture) : std::nullopt;
}

/// Stores cubins until one fails: the others would fail as well.
static llvm::Error keep(const KernelCache &cache, const CacheKey &key,
                        ArrayRef<Cubin> cubins) {
  for (const Cubin &cubin : cubins)
    if (llvm::Error error =
            cache.store(CacheKey(key).add(cubin.architecture), pack(cubin)))
      return error;
  return llvm::Error::success();
}

llvm::Expected<std::vector<Cubin>>
gradus::emitCubins(const GpuCode &code, ArrayRef<std::string> architectures,
                   const CudaToolkit &toolkit, const KernelCache &cache) {
  auto bitcode = lowerGpu(code);
  if (!bitcode)
    return bitcode.takeError();
  auto key = keyOf(*bitcode, toolkit);
  if (!key)
    return key.takeError();
  llvm::StringMap<Cubin> cubins;
  std::vector<std::string> missing;
  for (const std::string &architecture : architectures)
    if (std::optional<Cubin> cubin = known(cache, *key, architecture))
      cubins[architecture] = std::move(*cubin);
    else
      missing.push_back(architecture);
  auto ptx = emitPtx(*bitcode, missing, toolkit);
  if (!ptx)
    return ptx.takeError();
  auto made = assemble(std::move(*ptx), missing, toolkit);
  if (!made)
    return made.takeError();
  if (llvm::Error error = keep(cache, *key, *made))
    mlir::emitWarning(ModuleOp(code.module.get()).getLoc(),
                      llvm::toString(std::move(error)));
  for (Cubin &cubin : *made)
    cubins[cubin.architecture] = std::move(cubin);
  std::vector<Cubin> ordered;
  for (const std::string &architecture : architectures)
    ordered.push_back(std::move(cubins[architecture]));
  return ordered;
}
