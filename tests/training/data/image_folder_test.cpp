// Which images a folder has, and their classes; images as samples of a feed.

#include "tests/training/data/files.h"
#include "tests/training/data/images.h"
#include "training/data/batches.h"

using namespace gradus::data;
using namespace gradus::runtime;
using testing::Each;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

namespace {

/// Classes ant (one image) and bee (two, one deeper), of 3 x 2 pixels.
struct Insects {
  Insects() {
    for (const char *name : {"bee/more", "ant", ".hidden"})
      std::filesystem::create_directories(folder.path(name));
    folder.write("bee/1.png", pngFile(plainImage(3, 2, {51})));
    folder.write("bee/more/2.jpg", jpegFile(plainImage(3, 2, {102})));
    folder.write("bee/notes.txt", "not an image");
    folder.write("ant/3.PNG", pngFile(plainImage(3, 2, {255})));
  }
  Folder folder;
};

TensorInfo input(const std::string &name, DType dtype,
                 std::vector<int64_t> shape) {
  TensorType type{dtype, shape};
  return {name, type, *gradus::runtime::bytesOf(type)};
}

const std::vector<TensorInfo> kInputs = {
    input("image", DType::f32, {1, 1, 2, 2}), input("label", DType::i64, {1})};

} // namespace

TEST(ImageFolder, IsToldTheNameOfAnInputThatItMayBe) {
  Insects insects;
  Dataset dataset = *Dataset::open({insects.folder.path("")});
  auto words = [&](std::vector<int64_t> shape) {
    auto feed = Feed::match(dataset, {input("pixels", DType::f32, shape)});
    return std::string(feed.status().message());
  };
  EXPECT_THAT(words({1, 1, 2, 2}),
              EndsWith("; write pixels=FOLDER to call its images pixels"));
  EXPECT_THAT(words({1, 4}), Not(HasSubstr("FOLDER")));
}

TEST(ImageFolder, CountsSortedClassesAsLabels) {
  Insects insects;
  auto dataset = Dataset::open({insects.folder.path("")});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_THAT(*dataset->find("image")->files,
              ElementsAre(EndsWith("ant/3.PNG"), EndsWith("bee/1.png"),
                          EndsWith("bee/more/2.jpg")));
  EXPECT_THAT(valuesOf<int64_t>(dataset->find("label")->bytes),
              ElementsAre(0, 1, 1));
}

TEST(ImageFolder, HasClassesAsTextWhateverTheBytesOfTheirNames) {
  Insects insects;
  std::filesystem::rename(insects.folder.path("bee"),
                          insects.folder.path("b\xE9"));
  auto dataset = Dataset::open({insects.folder.path("")});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_THAT(*dataset->classes(), ElementsAre("ant", "b\\xE9"));
  EXPECT_TRUE(dataset->countClassesAs({"b\\xE9", "ant"}, "others").ok());
  EXPECT_THAT(valuesOf<int64_t>(dataset->find("label")->bytes),
              ElementsAre(1, 0, 0));
  EXPECT_THAT(dataset->find("image")->files->back(),
              EndsWith("b\xE9/more/2.jpg"));
}

TEST(ImageFolder, NeedsNoClassesWhereNobodyAsksForLabels) {
  Insects insects;
  auto dataset = Dataset::open({"x=" + insects.folder.path("ant")});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->contents(), "x 1xu8");
}

TEST(ImageFolder, PassesOverWhatIsHidden) {
  Insects insects;
  std::filesystem::create_directories(insects.folder.path("bee/.thumbs"));
  for (const char *name : {"bee/._1.png", "bee/.thumbs/1.png", "ant/.x.png"})
    insects.folder.write(name, "not an image");
  EXPECT_EQ(Dataset::open({insects.folder.path("")})->contents(),
            "image 3xu8, label 3xi64");
  EXPECT_EQ(Dataset::open({insects.folder.path("ant")})->contents(),
            "image 1xu8");
}

TEST(ImageFolder, SaysThatTheNameOfTheLabelsIsTaken) {
  Insects insects;
  std::string folder = insects.folder.path("");
  EXPECT_THAT(wordsOf(Dataset::open({"label=" + folder}).status()),
              HasSubstr(folder + ": its images cannot be named 'label', which "
                                 "is the name of its labels"));
}

TEST(ImageFolder, FillsInputsSampleBySample) {
  Insects insects;
  Dataset dataset = *Dataset::open({insects.folder.path("")});
  auto feed = Feed::match(dataset, kInputs);
  ASSERT_TRUE(feed.ok()) << feed.status();
  Batches batches(*feed, {.end = 3});
  std::vector<float> first;
  while (const Chunk *chunk = batches.next())
    for (int64_t i = 0; i < chunk->count; ++i)
      first.push_back(*static_cast<const float *>(chunk->inputs[2 * i]));
  EXPECT_TRUE(batches.status().ok()) << batches.status();
  EXPECT_THAT(first, ElementsAre(testing::FloatEq(1), testing::FloatEq(0.2f),
                                 testing::FloatNear(0.4f, 0.01f)));
}

TEST(ImageFolder, NamesTheImageThatCannotBeRead) {
  Insects insects;
  std::string path = insects.folder.write("bee/1.png", "\x89PNG damaged");
  Dataset dataset = *Dataset::open({insects.folder.path("")});
  auto feed = Feed::match(dataset, kInputs);
  ASSERT_TRUE(feed.ok()) << feed.status();
  Batches batches(*feed, {.end = 3, .chunkBytes = 1});
  while (batches.next()) {
  }
  EXPECT_THAT(wordsOf(batches.status()), HasSubstr("bee/1.png: cannot be"));
}

TEST(ImageFolder, SaysWhatItCannotTake) {
  Insects insects;
  Dataset dataset = *Dataset::open({insects.folder.path("")});
  EXPECT_THAT(
      wordsOf(Feed::match(dataset, {input("image", DType::f32, {1, 2, 4, 4})})
                  .status()),
      HasSubstr("files of images fill f32 [batch, 1 or 3 channels"));
  std::filesystem::create_directories(insects.folder.path("cow"));
  EXPECT_THAT(wordsOf(Dataset::open({insects.folder.path("")}).status()),
              HasSubstr("its folder 'cow', a class, has no images"));
  EXPECT_THAT(wordsOf(Dataset::open({insects.folder.path("cow")}).status()),
              HasSubstr("has no images (.png, .jpg, .jpeg) and no folders"));
}

TEST(ImageFolder, CountsClassesByName) {
  Insects insects;
  std::filesystem::remove_all(insects.folder.path("ant"));
  Dataset dataset = *Dataset::open({insects.folder.path("")});
  EXPECT_THAT(*dataset.classes(), ElementsAre("bee"));
  ASSERT_TRUE(dataset.countClassesAs({"ant", "bee"}, "train").ok());
  EXPECT_THAT(valuesOf<int64_t>(dataset.find("label")->bytes),
              ElementsAre(1, 1));
  EXPECT_THAT(*dataset.classes(), ElementsAre("ant", "bee"));
  EXPECT_THAT(wordsOf(dataset.countClassesAs({"ant", "cow"}, "train")),
              HasSubstr("its folder 'bee' is none of the classes of train "
                        "(ant, cow)"));
}

TEST(ImageFolder, SaysWhatLiesBesideItsClasses) {
  Insects insects;
  std::filesystem::remove(insects.folder.path("bee/notes.txt"));
  EXPECT_TRUE(Dataset::open({insects.folder.path("")})->remarks().empty());
  insects.folder.write("lost.png", "an image");
  Dataset dataset = *Dataset::open({insects.folder.path("")});
  ASSERT_EQ(dataset.remarks().size(), 1u);
  EXPECT_THAT(dataset.remarks()[0],
              HasSubstr("1 images beside the folders of classes are not taken, "
                        "such as lost.png"));
}

TEST(ImageFolder, SaysWhichFilesAreOfOtherKinds) {
  Insects insects;
  insects.folder.write("ant/a.webp", "x");
  insects.folder.write("ant/b.webp", "x");
  insects.folder.write("bee/.hidden", "x");
  insects.folder.write("README.md", "beside the classes");
  auto dataset = Dataset::open({insects.folder.path("")});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_THAT(
      dataset->remarks(),
      ElementsAre(EndsWith(": 3 files of other kinds (.txt, .webp) left out")));
}

TEST(ImageFolder, SaysWhatAClassWithoutImagesHas) {
  Insects insects;
  std::filesystem::create_directories(insects.folder.path("cow"));
  insects.folder.write("cow/a.bmp", "x");
  EXPECT_THAT(Dataset::open({insects.folder.path("")}).status().message(),
              HasSubstr("its folder 'cow', a class, has no images (.png, .jpg, "
                        ".jpeg); it has 1 file of another kind (.bmp)"));
}
