// Tensors are found wherever an ONNX file may keep them.

#include "frontends/onnx/file/model_file.h"

#include "tests/frontends/onnx/small_model.h"

#include "llvm/Support/Path.h"

#include <fstream>

using namespace gradus;
using namespace gradus::testing;
using ::onnx::TensorProto;

/// The elements of a model's only initializer.
static std::vector<double>
elementsOf(const std::function<void(TensorProto &)> &fill, int type,
           const Shape &shape) {
  SmallModel model;
  TensorProto &tensor = *model.graph().add_initializer();
  tensor.set_data_type(type);
  for (int64_t extent : shape)
    tensor.add_dims(extent);
  fill(tensor);
  mlir::MLIRContext context;
  auto file = gradus::onnx::ModelFile::open(model.write());
  EXPECT_TRUE(file.ok());
  auto elements = (*file)->elements((*file)->graph().initializer(0), context);
  EXPECT_TRUE(elements.ok()) << elements.status();
  HostTensor host = *toHost(*elements);
  return host.isFloat
             ? host.floats
             : std::vector<double>(host.integers.begin(), host.integers.end());
}

TEST(ModelFile, ReadsRawData) {
  auto fill = [](TensorProto &tensor) {
    tensor.set_raw_data(std::string("\0\0\x80\x3f\0\0\0\x40", 8));
  };
  EXPECT_EQ(elementsOf(fill, TensorProto::FLOAT, {2}),
            (std::vector<double>{1, 2}));
}

TEST(ModelFile, ReadsTypedFields) {
  EXPECT_EQ(elementsOf([](TensorProto &t) { t.add_double_data(1.5); },
                       TensorProto::DOUBLE, {}),
            std::vector<double>{1.5});
  EXPECT_EQ(elementsOf([](TensorProto &t) { t.add_int32_data(-7); },
                       TensorProto::INT32, {1}),
            std::vector<double>{-7});
  EXPECT_EQ(elementsOf([](TensorProto &t) { t.add_int64_data(-8); },
                       TensorProto::INT64, {1}),
            std::vector<double>{-8});
}

TEST(ModelFile, ReadsHalvesAsTheirBits) {
  EXPECT_EQ(elementsOf([](TensorProto &t) { t.add_int32_data(0x3c00); },
                       TensorProto::FLOAT16, {1}),
            std::vector<double>{1});
  EXPECT_EQ(elementsOf([](TensorProto &t) { t.add_int32_data(0x4000); },
                       TensorProto::BFLOAT16, {1}),
            std::vector<double>{2});
}

TEST(ModelFile, ReadsBooleansByteByByte) {
  auto fill = [](TensorProto &tensor) {
    tensor.set_raw_data(std::string("\1\0\1", 3));
  };
  EXPECT_EQ(elementsOf(fill, TensorProto::BOOL, {3}),
            (std::vector<double>{1, 0, 1}));
}

TEST(ModelFile, KnowsItsOperatorSet) {
  EXPECT_EQ((*gradus::onnx::ModelFile::open(
                 SmallModel().output("y").setOpset(17).write()))
                ->opset(),
            17);
}

TEST(ModelFile, RefusesImpossibleShapes) {
  SmallModel model;
  model.floats("w", {1 << 30, 1 << 30, 1 << 30}, {});
  mlir::MLIRContext context;
  auto file = gradus::onnx::ModelFile::open(model.write());
  EXPECT_EQ((*file)
                ->elements((*file)->graph().initializer(0), context)
                .status()
                .message(),
            "tensor \"w\" has the impossible shape [1073741824, 1073741824, "
            "1073741824]");
}

TEST(ModelFile, KnowsWhichElementsItHasTypesFor) {
  mlir::MLIRContext context;
  for (int type = 0; type < 32; ++type)
    EXPECT_EQ(gradus::onnx::hasElementType(type),
              bool(gradus::onnx::elementType(type, context)))
        << type;
}

/// A model of one weight of 2 MiB: 0, 1, 2...
static std::string largeModel() {
  SmallModel model;
  TensorProto &tensor = *model.graph().add_initializer();
  tensor.set_name("w");
  tensor.set_data_type(TensorProto::FLOAT);
  tensor.add_dims(512);
  tensor.add_dims(1024);
  std::vector<float> floats(512 * 1024);
  std::iota(floats.begin(), floats.end(), 0.0f);
  tensor.set_raw_data(floats.data(), floats.size() * sizeof(float));
  return model.write();
}

TEST(ModelFile, LeavesLargeValuesWhereTheyLie) {
  mlir::MLIRContext context;
  mlir::ElementsAttr values;
  {
    auto file = gradus::onnx::ModelFile::open(largeModel());
    ASSERT_TRUE(file.ok()) << file.status();
    const TensorProto &tensor = (*file)->graph().initializer(0);
    EXPECT_FALSE(tensor.has_raw_data());
    auto found = (*file)->elementsInPlace(tensor, context);
    ASSERT_TRUE(found.ok()) << found.status();
    values = *found;
    EXPECT_EQ(toHost(*(*file)->elements(tensor, context))->floats.back(),
              512 * 1024 - 1);
  }
  ASSERT_TRUE(mlir::isa<mlir::DenseResourceElementsAttr>(values));
  EXPECT_EQ(toHost(values)->floats.back(), 512 * 1024 - 1);
}

TEST(ModelFile, HoldsAllValuesWhereItIsWrittenAgain) {
  auto file = gradus::onnx::ModelFile::open(largeModel(),
                                            gradus::onnx::Contents::whole);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ((*file)->graph().initializer(0).raw_data().size(), 2u << 20);
}

/// A model in memory whose only initializer is in a data file.
static absl::StatusOr<std::unique_ptr<gradus::onnx::ModelFile>>
fileOf(SmallModel &model, bool hasFolder,
       const std::map<std::string, llvm::StringRef> &dataFiles = {}) {
  TensorProto &tensor = *model.graph().add_initializer();
  tensor.set_name("w");
  tensor.set_data_type(TensorProto::FLOAT);
  tensor.add_dims(2);
  tensor.set_data_location(TensorProto::EXTERNAL);
  auto &location = *tensor.add_external_data();
  location.set_key("location");
  location.set_value("of_memory.data");
  std::string path = model.write();
  std::ofstream(llvm::sys::path::parent_path(path).str() + "/of_memory.data",
                std::ios::binary)
      << std::string("\0\0\x80\x3f\0\0\0\x40", 8);
  static std::string bytes;
  std::ifstream file(path, std::ios::binary);
  bytes.assign(std::istreambuf_iterator<char>(file), {});
  return gradus::onnx::ModelFile::fromBytes(bytes, path, hasFolder, dataFiles);
}

TEST(ModelFile, LooksForDataFilesOfMemoryInAFolderThatIsGiven) {
  SmallModel model;
  auto file = fileOf(model, true);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE((*file)->missing().empty());
  mlir::MLIRContext context;
  auto elements = (*file)->elements((*file)->graph().initializer(0), context);
  ASSERT_TRUE(elements.ok()) << elements.status();
  EXPECT_EQ(toHost(*elements)->floats, (std::vector<double>{1, 2}));
}

TEST(ModelFile, ReadsDataFilesInMemoryWhereTheyAreBeforeThoseOfAFolder) {
  const float values[] = {5, 7};
  llvm::StringRef bytes(reinterpret_cast<const char *>(values), sizeof(values));
  for (bool hasFolder : {false, true}) {
    SmallModel model;
    auto file = fileOf(model, hasFolder, {{"of_memory.data", bytes}});
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_TRUE((*file)->missing().empty());
    std::string storage;
    auto data = (*file)->floatBytes((*file)->graph().initializer(0), storage);
    ASSERT_TRUE(data.ok()) << data.status();
    EXPECT_EQ(data->data(), bytes.data());
  }
}

TEST(ModelFile, RefusesADataFileInMemoryThatIsTooShort) {
  SmallModel model;
  auto file = fileOf(model, false, {{"of_memory.data", "1234567"}});
  ASSERT_TRUE(file.ok()) << file.status();
  mlir::MLIRContext context;
  auto elements = (*file)->elements((*file)->graph().initializer(0), context);
  EXPECT_EQ(elements.status().message(),
            "tensor \"w\": ends at byte 8 of \"of_memory.data\", which has 7");
}

TEST(ModelFile, RefusesADataFileInMemoryThatItDoesNotName) {
  SmallModel model;
  auto file = fileOf(model, false, {{"of_memory.data", ""}, {"other", ""}});
  EXPECT_EQ(file.status().message(),
            "names no data file \"other\", which is given");
}

TEST(ModelFile, LacksDataFilesOfMemoryWithoutAFolder) {
  SmallModel model;
  auto file = fileOf(model, false);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_EQ((*file)->missing().size(), 1u);
  EXPECT_EQ((*file)->missing().begin()->first, "of_memory.data");
}
