// Each kind has one test of the first bytes, each use one sentence.

#include "tool/foreign_file.h"

#include "messages/shell_word.h"
#include "tool/failure.h"

#include "absl/strings/match.h"

#include <fcntl.h>
#include <filesystem>
#include <string_view>
#include <unistd.h>

namespace gradus::cli {
namespace {

enum class Kind { unknown, pytorch, onnx, artifact, safetensors, numpy };

constexpr size_t kEnough = 256;

/// Reads only regular files: a pipe would block, or lose what is read.
std::string firstBytes(const std::string &path) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none))
    return "";
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return "";
  std::string bytes(kEnough, '\0');
  ssize_t count = ::read(file, bytes.data(), bytes.size());
  ::close(file);
  bytes.resize(count < 0 ? 0 : static_cast<size_t>(count));
  return bytes;
}

/// The name of a zip file's first entry; empty for other files.
std::string_view firstEntry(std::string_view bytes) {
  constexpr size_t kSizeAt = 26, kNameAt = 30;
  if (!bytes.starts_with("PK\x03\x04") || bytes.size() < kNameAt)
    return "";
  size_t size = static_cast<uint8_t>(bytes[kSizeAt]) +
                256 * static_cast<uint8_t>(bytes[kSizeAt + 1]);
  return bytes.substr(kNameAt, size);
}

/// Recognizes PyTorch's files: torch.save writes a zip file that begins with
/// NAME/data.pkl; TorchScript and torch.export begin with a file of the folder
/// NAME/data. The old format of torch.save is a pickle of a magic number.
bool isPyTorch(std::string_view bytes) {
  constexpr std::string_view kPickle = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46";
  std::string_view entry = firstEntry(bytes);
  bool isNumPy = entry.ends_with(".npy");
  return bytes.starts_with(kPickle) || entry.ends_with("/data.pkl") ||
         (entry.find("/data/") != std::string_view::npos && !isNumPy);
}

/// The format is a JSON object after its size of 8 bytes.
bool isSafetensors(std::string_view bytes) {
  return bytes.size() > 10 && bytes.substr(8, 2) == "{\"" && bytes[7] == 0 &&
         bytes[6] == 0;
}

Kind kindOf(const std::string &path) {
  std::string bytes = firstBytes(path);
  if (isPyTorch(bytes))
    return Kind::pytorch;
  if (bytes.size() > 12 && std::string_view(bytes).substr(8, 4) == "GRDS")
    return Kind::artifact;
  if (isSafetensors(bytes))
    return Kind::safetensors;
  if (bytes.starts_with("\x93NUMPY") || firstEntry(bytes).ends_with(".npy"))
    return Kind::numpy;
  return absl::EndsWith(path, ".onnx") && !bytes.empty() ? Kind::onnx
                                                         : Kind::unknown;
}

/// The file's name with another ending, in the current folder, quoted for a
/// shell.
std::string withEnding(const std::string &path, const char *ending) {
  return shellWord(std::filesystem::path(path)
                       .filename()
                       .replace_extension(ending)
                       .string());
}

std::string adviceOnPyTorch(const std::string &path, Wanted wanted,
                            const std::string &option) {
  switch (wanted) {
  case Wanted::weights:
    return "save its state_dict as a .safetensors file with "
           "safetensors.torch.save_file" +
           (option.empty() ? ""
                           : ", then take " + option + " " +
                                 withEnding(path, ".safetensors"));
  case Wanted::data:
    return "save its tensors as a .safetensors file with "
           "safetensors.torch.save_file";
  case Wanted::artifact:
  case Wanted::model:
    return "export the model from PyTorch as ONNX and compile that: "
           "docs/export_from_pytorch.md";
  }
  return "";
}

/// Says what the file is and what to do; empty if it is of the expected kind,
/// or unknown.
std::string adviceOn(const std::string &path, Wanted wanted,
                     const std::string &option) {
  switch (kindOf(path)) {
  case Kind::pytorch:
    return "is a PyTorch file; " + adviceOnPyTorch(path, wanted, option);
  case Kind::onnx:
    return wanted == Wanted::artifact
               ? "is an ONNX model; compile it first: gradus compile " +
                     shellWord(path) + " -o " + withEnding(path, ".gradus")
               : "";
  case Kind::artifact:
    return wanted == Wanted::weights || wanted == Wanted::data
               ? "is a Gradus artifact, which holds no data; expected a "
                 ".safetensors file"
               : "";
  case Kind::safetensors:
    return wanted == Wanted::artifact
               ? "is a file of tensors; expected an artifact, which takes such "
                 "a file by --init, --resume or --data"
           : wanted == Wanted::model
               ? "is a file of tensors; expected a model, which takes such a "
                 "file by --weights"
               : "";
  case Kind::numpy:
    return wanted == Wanted::weights
               ? "is a file of NumPy arrays; save them as a .safetensors file "
                 "with safetensors.numpy.save_file"
           : wanted == Wanted::artifact
               ? "is a file of NumPy arrays; expected an artifact, which takes "
                 "such a file by --data"
           : wanted == Wanted::model ? "is a file of NumPy arrays; expected "
                                       "a model (.onnx, .mlir)"
                                     : "";
  case Kind::unknown:
    return "";
  }
  return "";
}

} // namespace

bool isArtifact(const std::string &path) {
  return kindOf(path) == Kind::artifact;
}

void refuseForeign(const std::string &path, Wanted wanted,
                   const std::string &option) {
  std::string advice = adviceOn(path, wanted, option);
  if (!advice.empty())
    throw badInput(path, ": ", advice);
}

} // namespace gradus::cli
