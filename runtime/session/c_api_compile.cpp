// The C API (runtime/gradus.h) on compiling: opens the compiler, reads for it
// what only the runtime reads (artifacts, files of weights), and keeps what it
// makes.

#include "runtime/compiler_abi.h"
#include "runtime/compiler_library.h"
#include "runtime/file.h"
#include "runtime/flat.h"
#include "runtime/float_mode.h"
#include "runtime/safetensors.h"
#include "runtime/session/basis_file.h"
#include "runtime/session/c_api_handle.h"
#include "runtime/session/c_options.h"
#include "runtime/session/checkpoint.h"
#include "runtime/session/compiler_identity.h"
#include "runtime/session/initial_values.h"

#include <atomic>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <unistd.h>

using namespace gradus::runtime;

namespace {

/// A diagnostic with its own texts.
struct Diagnostic {
  gradus_severity severity;
  std::string pass, place, text;
};

} // namespace

struct gradus_compiled {
  std::vector<uint8_t> artifact;
  std::optional<AtomicFile> file; // instead of `artifact`, while it is written
  Status written;                 // the failure to write that file
  bool isInFile = false;          // which has the whole artifact
  std::string ir;
  std::deque<Diagnostic> diagnostics;
  std::string error; // the words of the failure
};

namespace {

gradus_compiled &compiledOf(void *context) {
  return *static_cast<gradus_compiled *>(context);
}

void tell(void *context, const gradus_diagnostic *told) {
  compiledOf(context).diagnostics.push_back(
      {told->severity, told->pass, told->place, told->text});
}

int write(void *context, uint64_t offset, const void *bytes, size_t size) {
  gradus_compiled &result = compiledOf(context);
  if (result.file) {
    result.written = result.file->writeAt(offset, bytes, size);
    return result.written.ok();
  }
  std::vector<uint8_t> &artifact = result.artifact;
  if (artifact.size() < offset + size)
    artifact.resize(offset + size);
  if (size)
    std::memcpy(artifact.data() + offset, bytes, size);
  return 1;
}

gradus_abi_receiver receiverOf(gradus_compiled &result) {
  gradus_abi_receiver to = {};
  to.context = &result;
  to.write = write;
  to.ir = [](void *context, const char *text) {
    compiledOf(context).ir = text;
  };
  to.tell = tell;
  to.fail = [](void *context, const char *words) {
    compiledOf(context).error = words;
  };
  return to;
}

//===-- what is read for the compiler -------------------------------------===//

StatusCode codeOf(gradus_status status) {
  return status == GRADUS_INVALID ? StatusCode::invalid : StatusCode::failed;
}

gradus_status statusOf(StatusCode code) {
  return code == StatusCode::ok        ? GRADUS_OK
         : code == StatusCode::invalid ? GRADUS_INVALID
                                       : GRADUS_FAILED;
}

std::span<const uint8_t> bytesOf(const gradus_source &source) {
  return {static_cast<const uint8_t *>(source.bytes), source.size};
}

bool isGiven(const gradus_source &source) {
  return source.path || source.bytes;
}

/// Whether bytes are those of an artifact: its identifier is behind two sizes.
bool isArtifact(std::span<const uint8_t> bytes) {
  constexpr size_t kBegin = 3 * sizeof(uint32_t);
  return bytes.size() >= kBegin &&
         gradus::artifact::SizePrefixedHeaderBufferHasIdentifier(bytes.data());
}

/// Whether bytes begin as text does. ONNX begins with numbers below 32.
bool isText(std::span<const uint8_t> bytes) {
  constexpr size_t kLooked = 64;
  auto begin = bytes.first(std::min(bytes.size(), kLooked));
  return std::none_of(begin.begin(), begin.end(), [](uint8_t byte) {
    return byte < ' ' && byte != '\n' && byte != '\r' && byte != '\t';
  });
}

/// Tensors as the compiler gets them; they refer to what they are made of.
class Tensors {
public:
  void add(const NamedTensor &tensor) {
    names_.push_back(nameOf(tensor.type.dtype));
    all_.push_back({tensor.name.c_str(), names_.back().c_str(),
                    tensor.type.shape.data(), tensor.type.shape.size(),
                    tensor.data.data(), tensor.data.size()});
  }
  gradus_abi_tensors all() const { return {all_.data(), all_.size()}; }

private:
  std::deque<std::string> names_;
  std::vector<gradus_abi_tensor> all_;
};

/// The inputs of a compilation that the compiler does not read itself.
struct ReadInputs {
  std::shared_ptr<const Artifact> artifact;
  InitialValues initial;
  std::string compiler, recipe; // of the artifact's program
  Tensors values;
  gradus_abi_program program = {};

  std::optional<Safetensors> weightsFile;
  Tensors weights;

  gradus_source givenBasis = {}; // stands in place of the recipe's
  std::string basisName;         // of that one, for errors
  std::optional<Safetensors> basisFile;
  Tensors basisParts;
  std::string basisError;
};

Status readArtifact(const gradus_source &model, ReadInputs &read) {
  GRADUS_ASSIGN(read.artifact,
                model.bytes ? Artifact::fromBytes(bytesOf(model), model.path)
                            : Artifact::open(model.path));
  const gradus::artifact::Header &header = read.artifact->header();
  GRADUS_ASSIGN(read.initial, initialValuesOf(*read.artifact));
  for (const NamedTensor &tensor : read.initial.tensors)
    read.values.add(tensor);
  std::span<const uint8_t> bytecode;
  if (const gradus::artifact::Program *section = header.program()) {
    read.compiler = textOf(section->compiler());
    bytecode = read.artifact->bytes(section->bytecode());
  }
  read.recipe = textOf(header.recipe());
  read.program = {read.compiler.c_str(), bytecode.data(), bytecode.size(),
                  read.recipe.c_str(), read.values.all()};
  return Status();
}

/// The counts that PyTorch keeps beside running statistics are no weights.
Status readWeights(const gradus_source &source, ReadInputs &read) {
  GRADUS_ASSIGN(read.weightsFile,
                source.bytes
                    ? Safetensors::fromBytes(bytesOf(source), source.path)
                    : Safetensors::open(source.path));
  for (const NamedTensor &tensor : read.weightsFile->tensors())
    if (!isBatchCount(tensor))
      read.weights.add(tensor);
  if (!read.weights.all().count)
    return invalid(source.path, ": has no weights");
  return Status();
}

Status openBasis(const char *path, ReadInputs &read) {
  const gradus_source &given = read.givenBasis;
  read.basisParts = {};
  if (given.bytes) {
    GRADUS_ASSIGN(read.basisFile,
                  Safetensors::fromBytes(
                      bytesOf(given), given.path ? given.path : "its bytes"));
  } else {
    GRADUS_ASSIGN(read.basisFile,
                  Safetensors::open(given.path ? given.path : path));
  }
  GRADUS_TRY(verifyBasisHeader(*read.basisFile));
  for (const NamedTensor &tensor : read.basisFile->tensors())
    read.basisParts.add(tensor);
  return Status();
}

/// Answers the compiler: the code, and the words, which stay.
gradus_status answer(ReadInputs &read, const Status &status,
                     const char **words) {
  read.basisError = status.message();
  *words = read.basisError.c_str();
  return statusOf(status.code());
}

/// The compiler calls these for the basis that a recipe names.
gradus_abi_basis basisFor(ReadInputs &read) {
  gradus_abi_basis basis = {};
  basis.context = &read;
  basis.given = read.basisName.empty() ? nullptr : read.basisName.c_str();
  basis.open = [](void *context, const char *path, gradus_abi_tensors *parts,
                  const char **words) {
    auto &read = *static_cast<ReadInputs *>(context);
    Status status = openBasis(path, read);
    *parts = read.basisParts.all();
    return answer(read, status, words);
  };
  basis.verify = [](void *context, const char **words) {
    auto &read = *static_cast<ReadInputs *>(context);
    return answer(read, verifyBasisValues(*read.basisFile), words);
  };
  return basis;
}

Status verifySource(const char *what, const gradus_source &source) {
  if (!source.bytes && source.size)
    return invalid("gradus_compile_options: ", what, ": its bytes are NULL, ",
                   "and their number is ", source.size);
  if (source.bytes && !source.size)
    return invalid("gradus_compile_options: ", what, ": it has no bytes");
  return Status();
}

/// The arguments of gradus_compile_with that are no options.
struct Beside {
  std::span<const gradus_source> files;
  const char *artifact; // or NULL
};

Status verifyBeside(const gradus_compile_options &options,
                    const Beside &beside) {
  if (beside.artifact && options.stop_after)
    return invalid("gradus_compile_with: there is no artifact to write to \"",
                   beside.artifact, "\": the options' stop_after is \"",
                   options.stop_after, "\"");
  if (beside.artifact && !*beside.artifact)
    return invalid("gradus_compile_with: the artifact's path is empty");
  std::span<const gradus_source> files = beside.files;
  if (!files.empty() && !options.model.bytes)
    return invalid("gradus_compile_with: data files are given, and the "
                   "model's bytes are not: files beside its path are opened");
  if (!files.empty() &&
      (isArtifact(bytesOf(options.model)) || isText(bytesOf(options.model))))
    return invalid("gradus_compile_with: data files are given, and the model "
                   "is ",
                   isText(bytesOf(options.model)) ? "a program's text"
                                                  : "an artifact",
                   ": only ONNX has data files");
  std::set<std::string_view> names;
  for (size_t i = 0; i < files.size(); ++i) {
    if (!files[i].path || (!files[i].bytes && files[i].size))
      return invalid("gradus_compile_with: data file ", i, " has no ",
                     files[i].path ? "bytes" : "path, the model's name for it");
    if (!names.insert(files[i].path).second)
      return invalid("gradus_compile_with: data file ", i, ", \"",
                     files[i].path, "\", is given twice");
  }
  return Status();
}

Status verifyOptions(const gradus_compile_options &options) {
  constexpr uint32_t kKnown = GRADUS_NO_PROGRAM | GRADUS_NODE_OUTPUTS |
                              GRADUS_GRADIENT_OUTPUTS | GRADUS_PRINT_WEIGHTS |
                              GRADUS_REMARKS;
  GRADUS_TRY(verifySource("model", options.model));
  GRADUS_TRY(verifySource("recipe", options.recipe));
  GRADUS_TRY(verifySource("weights", options.weights));
  GRADUS_TRY(verifySource("basis", options.basis));
  if (!isGiven(options.model))
    return invalid("gradus_compile_options: model: neither a path nor bytes "
                   "are given");
  if (options.flags & ~kKnown)
    return invalid("gradus_compile_options: flags: ", options.flags,
                   " has bits that are unknown; known: ", kKnown);
  if (options.threads < 0 || options.threads > kMostThreads)
    return invalid("gradus_compile_options: threads: ", options.threads,
                   " are asked for; 0 to ", kMostThreads, " are possible");
  return Status();
}

//===-- the compilation ---------------------------------------------------===//

/// Names what has none, for errors.
void nameSources(gradus_compile_options &options) {
  if (!options.model.path)
    options.model.path = "the model";
  if (isGiven(options.weights) && !options.weights.path)
    options.weights.path = "the weights";
}

bool isArtifact(const gradus_source &model) {
  return model.bytes ? isArtifact(bytesOf(model))
                     : std::string_view(model.path).ends_with(".gradus");
}

StatusOr<gradus_abi_compile *> openEntry() {
  GRADUS_ASSIGN(SharedLibrary library, openCompiler(GRADUS_ABI_COMPILE));
  return library.function<gradus_abi_compile>(GRADUS_ABI_COMPILE);
}

Status readInputs(const gradus_compile_options &options, ReadInputs &read) {
  if (isArtifact(options.model))
    GRADUS_TRY(readArtifact(options.model, read));
  if (isGiven(options.weights))
    GRADUS_TRY(readWeights(options.weights, read));
  return Status();
}

/// Makes the file that takes the artifact's name once it is whole.
Status openArtifact(const char *path, gradus_compiled &result) {
  if (path) {
    GRADUS_ASSIGN(AtomicFile file, AtomicFile::create(path));
    result.file.emplace(std::move(file));
  }
  return Status();
}

/// Keeps a failure that the compiler does not tell itself.
Status fail(gradus_compiled &result, const Status &status) {
  result.error = status.message();
  result.diagnostics.push_back({GRADUS_ERROR, "", "", result.error});
  return status;
}

/// Tells that the file cannot be written, which is no mistake in what is
/// compiled, whatever is at its path.
Status failToWrite(gradus_compiled &result, const Status &status) {
  return fail(result, failed(status.message()));
}

Status compileWith(gradus_abi_compile *entry, gradus_compile_options options,
                   const Beside &beside, gradus_compiled &result) {
  gradus_abi_request request = {};
  request.model_has_folder = options.model.path != nullptr;
  request.model_is_text = options.model.bytes && isText(bytesOf(options.model));
  nameSources(options);
  ReadInputs read;
  if (Status status = readInputs(options, read); !status.ok())
    return fail(result, status);
  if (Status status = openArtifact(beside.artifact, result); !status.ok())
    return failToWrite(result, status);
  request.options = &options;
  request.data_files = beside.files.data();
  request.data_file_count = beside.files.size();
  request.weights = read.weights.all();
  request.program = read.artifact ? &read.program : nullptr;
  read.givenBasis = options.basis;
  if (isGiven(options.basis))
    read.basisName =
        options.basis.path ? inWords("basis ", options.basis.path) : "basis";
  request.basis = basisFor(read);
  request.to = receiverOf(result);
  const gradus_abi_layout layout = {GRADUS_VERSION, GRADUS_ABI_SIZES,
                                    request.to.context, request.to.fail};
  gradus_status status = entry(&layout, &request);
  if (!result.written.ok())
    return failToWrite(result, result.written);
  if (status != GRADUS_OK)
    return {codeOf(status), result.error};
  if (isGiven(options.basis) && !read.basisFile)
    return fail(result,
                invalid("gradus_compile_options: basis: it is given, but the "
                        "recipe's dim_reduce.basis names no file in whose "
                        "place it stands"));
  if (!result.file)
    return Status();
  if (Status written = result.file->commitUnsynced(); !written.ok())
    return failToWrite(result, written);
  result.isInFile = true;
  return Status();
}

} // namespace

void gradus_set_default_compile_options(gradus_compile_options *options,
                                        size_t size) {
  setDefaults(options, size, gradus_compile_options{});
}

/// The size of the options of 0.1, whose last field was `extra`.
static constexpr size_t kFirstSize = offsetof(gradus_compile_options, extra) +
                                     sizeof(gradus_compile_options::extra);

namespace {

/// Lets one compilation run at a time: the compiler has state of its own, as
/// plug-ins. In a child that was forked meanwhile the lock stays taken, by a
/// thread that the child does not have: `ready` says so.
class OneAtATime {
public:
  Status ready() const {
    pid_t owner = owner_.load();
    if (owner && owner != getpid())
      return invalid("compiling: another thread compiled while process ", owner,
                     " forked this one, which can therefore not compile; fork "
                     "before or after, or start a new process");
    return Status();
  }
  void lock() {
    mutex_.lock();
    owner_ = getpid();
  }
  void unlock() {
    owner_ = 0;
    mutex_.unlock();
  }

private:
  std::mutex mutex_;
  std::atomic<pid_t> owner_ = 0;
};

} // namespace

gradus_status gradus_compile(const gradus_compile_options *options,
                             gradus_compiled **result) {
  return gradus_compile_with(options, nullptr, 0, nullptr, result);
}

gradus_status gradus_compile_with(const gradus_compile_options *given,
                                  const gradus_source *data_files, size_t count,
                                  const char *artifact,
                                  gradus_compiled **result) {
  if (!result)
    return reject(nullptr, "the place for the result is NULL");
  *result = nullptr;
  if (!given)
    return reject(nullptr, "the options are NULL");
  if (count && !data_files)
    return reject(nullptr, "the data files are NULL");
  Beside beside = {{data_files, count}, artifact};
  auto options = complete(given, gradus_default_compile_options(), kFirstSize,
                          "gradus_compile_options");
  if (!options.ok())
    return report(nullptr, options.status());
  if (Status status = verifyOptions(*options); !status.ok())
    return report(nullptr, status);
  if (Status status = verifyBeside(*options, beside); !status.ok())
    return report(nullptr, status);
  static OneAtATime one;
  if (Status status = one.ready(); !status.ok())
    return report(nullptr, status);
  std::lock_guard lock(one);
  QuietFloats quiet;
  auto entry = openEntry();
  if (!entry.ok())
    return report(nullptr, at(entry.status(), "compiling"));
  *result = new gradus_compiled;
  Status status = compileWith(*entry, *options, beside, **result);
  (*result)->file.reset(); // Without a commit nothing is left of it.
  if (!status.ok())
    (*result)->artifact.clear(); // It may be a part of one.
  return report(nullptr, status);
}

const char *gradus_compiler_identity() {
  static thread_local std::string text;
  auto identity = compilerIdentity();
  if (!identity.ok()) {
    report(nullptr, identity.status());
    return nullptr;
  }
  text = *std::move(identity);
  return text.c_str();
}

//===-- the result --------------------------------------------------------===//

static const char *const kNoResult = "the result of a compilation is NULL";

gradus_status gradus_compiled_artifact(const gradus_compiled *result,
                                       const void **bytes, size_t *size) {
  if (bytes)
    *bytes = nullptr;
  if (size)
    *size = 0;
  if (!result || !bytes || !size)
    return reject(nullptr, result ? "the place for the bytes or for their "
                                    "number is NULL"
                                  : kNoResult);
  if (result->artifact.empty())
    return reject(
        nullptr, result->isInFile ? "the artifact was written to the file that "
                                    "gradus_compile_with was given"
                 : result->error.empty()
                     ? "there is no artifact: the compilation stopped at the "
                       "stage that was asked for"
                     : "there is no artifact: the compilation failed");
  *bytes = result->artifact.data();
  *size = result->artifact.size();
  return GRADUS_OK;
}

const char *gradus_compiled_ir(const gradus_compiled *result) {
  return result ? result->ir.c_str() : nullptr;
}

int gradus_compiled_diagnostic_count(const gradus_compiled *result) {
  return result ? static_cast<int>(result->diagnostics.size()) : 0;
}

gradus_status gradus_compiled_diagnostic(const gradus_compiled *result,
                                         int number,
                                         gradus_diagnostic *diagnostic) {
  if (!result || !diagnostic)
    return reject(nullptr,
                  result ? "the place for the diagnostic is NULL" : kNoResult);
  size_t count = result->diagnostics.size();
  if (number < 0 || static_cast<size_t>(number) >= count)
    return reject(nullptr, "diagnostic " + std::to_string(number) +
                               " does not exist; there are " +
                               std::to_string(count));
  const Diagnostic &told = result->diagnostics[number];
  *diagnostic = {told.severity, told.pass.c_str(), told.place.c_str(),
                 told.text.c_str()};
  return GRADUS_OK;
}

void gradus_compiled_free(gradus_compiled *result) { delete result; }
