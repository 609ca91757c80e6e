// The first bytes of what people give by mistake, and what they are told.

#include "tool/failure.h"
#include "tool/foreign_file.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace gradus::cli;
using namespace std::string_literals;
using testing::EndsWith;
using testing::HasSubstr;

namespace {

/// What is said of a file of this name and these bytes.
std::string said(const std::string &name, const std::string &bytes,
                 Wanted wanted, const std::string &option = "") {
  auto folder = std::filesystem::temp_directory_path() /
                ("gradus_foreign." + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::string path = (folder / name).string();
  std::ofstream(path, std::ios::binary) << bytes;
  std::string words;
  try {
    refuseForeign(path, wanted, option);
  } catch (const Failure &failure) {
    EXPECT_EQ(failure.code, kBadInput);
    words = failure.what();
  }
  std::filesystem::remove_all(folder);
  return words;
}

/// The beginning of a zip file with this entry.
std::string zip(const std::string &entry) {
  return "PK\x03\x04"s + std::string(22, '\0') +
         static_cast<char>(entry.size()) + std::string(3, '\0') + entry +
         "FB\x11";
}

const std::string kOldTorch = "\x80\x02\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19."s,
                  kArtifact = std::string(8, '\1') + "GRDS" + "rest",
                  kTensors = "\x40\0\0\0\0\0\0\0{\"w\":{}}    "s;

} // namespace

TEST(ForeignFile, KnowsPyTorchFiles) {
  for (const std::string &bytes :
       {zip("m/data.pkl"), zip("m/data/0"),
        zip("m/data/weights/model_weights_config.json"), kOldTorch}) {
    EXPECT_THAT(said("m.pt", bytes, Wanted::weights),
                EndsWith("m.pt: is a PyTorch file; save its state_dict as a "
                         ".safetensors file with safetensors.torch.save_file"));
    EXPECT_THAT(said("m.pth", bytes, Wanted::model),
                EndsWith("m.pth: is a PyTorch file; export the model from "
                         "PyTorch as ONNX and compile that: "
                         "docs/export_from_pytorch.md"));
    EXPECT_THAT(said("m.bin", bytes, Wanted::data),
                HasSubstr("safetensors.torch.save_file"));
    EXPECT_THAT(said("m.pt", bytes, Wanted::artifact),
                HasSubstr("export the model"));
  }
}

TEST(ForeignFile, ProposesTheOptionThatTakesWeights) {
  EXPECT_THAT(said("my net.pt", kOldTorch, Wanted::weights, "--weights"),
              EndsWith("safetensors.torch.save_file, then take --weights 'my "
                       "net.safetensors'"));
}

TEST(ForeignFile, KnowsModelsThatAreNotCompiled) {
  EXPECT_THAT(said("net.onnx", "\x08\x08\x12", Wanted::artifact),
              HasSubstr("net.onnx: is an ONNX model; compile it first: gradus "
                        "compile "));
  EXPECT_THAT(said("net.onnx", "\x08\x08\x12", Wanted::artifact),
              EndsWith("net.onnx -o net.gradus"));
  EXPECT_THAT(said("my net.onnx", "\x08\x08\x12", Wanted::artifact),
              EndsWith("my net.onnx' -o 'my net.gradus'"));
  EXPECT_EQ(said("net.onnx", "\x08\x08\x12", Wanted::model), "");
}

TEST(ForeignFile, KnowsWhatGradusWrites) {
  EXPECT_EQ(said("a.gradus", kArtifact, Wanted::model), "")
      << "its program stands for a model";
  EXPECT_THAT(said("a.gradus", kArtifact, Wanted::weights),
              HasSubstr("expected a .safetensors file"));
  EXPECT_THAT(said("w.safetensors", kTensors, Wanted::artifact),
              HasSubstr("is a file of tensors; expected an artifact"));
  EXPECT_THAT(said("w.safetensors", kTensors, Wanted::model),
              HasSubstr("by --weights"));
}

TEST(ForeignFile, KnowsArraysOfNumPy) {
  for (const std::string &bytes : {zip("x.npy"), "\x93NUMPY\1"s}) {
    EXPECT_THAT(said("x", bytes, Wanted::weights),
                EndsWith("x: is a file of NumPy arrays; save them as a "
                         ".safetensors file with safetensors.numpy.save_file"));
    EXPECT_THAT(said("x", bytes, Wanted::artifact), EndsWith("by --data"));
    EXPECT_THAT(said("x", bytes, Wanted::model), HasSubstr("expected a model"));
  }
}

TEST(ForeignFile, LetsThroughWhatIsWantedOrUnknown) {
  EXPECT_EQ(said("a.gradus", kArtifact, Wanted::artifact), "");
  EXPECT_EQ(said("w.safetensors", kTensors, Wanted::weights), "");
  EXPECT_EQ(said("w.safetensors", kTensors, Wanted::data), "");
  // NumPy's archives are zip files, too.
  EXPECT_EQ(said("d.npz", zip("x.npy"), Wanted::data), "");
  EXPECT_EQ(said("d.npz", zip("x/data/y.npy"), Wanted::data), "");
  EXPECT_EQ(said("x.npy", "\x93NUMPY\1"s, Wanted::data), "");
  for (Wanted wanted : {Wanted::artifact, Wanted::model, Wanted::weights})
    for (const std::string &bytes : {""s, "PK"s, "\x80"s, "text"s})
      EXPECT_EQ(said("x", bytes, wanted), "");
  refuseForeign("/dev/zero", Wanted::data);
  refuseForeign("there is no such file", Wanted::data);
}
