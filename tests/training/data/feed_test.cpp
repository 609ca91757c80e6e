// What a graph takes from a data set, and what is said where it cannot.

#include "tests/training/data/files.h"
#include "training/data/feed.h"

using namespace gradus::data;
using namespace gradus::runtime;
using testing::ElementsAre;
using testing::Eq;
using testing::HasSubstr;
using testing::Not;

namespace {

TensorInfo input(const std::string &name, DType dtype,
                 std::vector<int64_t> shape) {
  TensorType type{dtype, shape};
  return {name, type, *gradus::runtime::bytesOf(type)};
}

/// Five samples: x f32 [5, 2], label i32 [5].
struct Data {
  Folder folder;
  std::string x = folder.write(
      "x.npy",
      npyFile("<f4", "5, 2", bytesOf<float>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9})));
  std::string labels = folder.write(
      "y.npy", npyFile("<i4", "5,", bytesOf<int32_t>({0, 1, 2, 1, 0})));
  Dataset dataset = *Dataset::open({"x=" + x, "label=" + labels});
};

const std::vector<TensorInfo> kInputs = {input("x", DType::f32, {2, 2}),
                                         input("label", DType::i64, {2}),
                                         input("count", DType::i64, {})};

std::string mistake(const Dataset &dataset,
                    const std::vector<TensorInfo> &inputs,
                    const LabelRules &rules = {}) {
  return wordsOf(Feed::match(dataset, inputs, rules).status());
}

} // namespace

TEST(Feed, CopiesSamplesWidensLabelsAndCountsRealOnes) {
  Data data;
  auto feed = Feed::match(data.dataset, kInputs, {{"label", {3, {}, {}}}});
  ASSERT_TRUE(feed.ok()) << feed.status();
  EXPECT_EQ(feed->samples(), 5);
  EXPECT_EQ(feed->batch(), 2);
  EXPECT_FALSE(feed->isOfPixels(0));
  std::vector<float> x(4, -1);
  std::vector<int64_t> label(2, -1);
  int64_t count = 0;
  void *places[] = {x.data(), label.data(), &count};
  EXPECT_TRUE(feed->copySample(2, 0, places).ok());
  feed->finish(1, places);
  EXPECT_THAT(x, ElementsAre(4, 5, 0, 0));
  EXPECT_THAT(label, ElementsAre(2, 0));
  EXPECT_EQ(count, 1);
}

TEST(Feed, MakesPixelsFloatsAndIgnoresAxesOfSizeOne) {
  Folder folder;
  std::string path = folder.write(
      "x", std::string("\0\0\x08\x03\0\0\0\x01\0\0\0\x01\0\0\0\x02", 16) +
               std::string("\0\xff", 2));
  Dataset dataset = *Dataset::open({"x=" + path});
  auto feed = Feed::match(dataset, {input("x", DType::f32, {1, 1, 1, 2})});
  ASSERT_TRUE(feed.ok()) << feed.status();
  EXPECT_TRUE(feed->isOfPixels(0));
  std::vector<float> x(2);
  void *places[] = {x.data()};
  EXPECT_TRUE(feed->copySample(0, 0, places).ok());
  EXPECT_THAT(x, ElementsAre(0.0f, 1.0f));
}

TEST(Feed, ListsWhatThereIsWhereATensorIsMissing) {
  Data data;
  EXPECT_THAT(mistake(data.dataset, {input("image", DType::f32, {2, 2})}),
              HasSubstr("has no tensor 'image' (f32 [samples, 2]); it has x "
                        "5x2xf32, label 5xi32"));
}

TEST(Feed, SaysWhichShapeAndTypeItFoundAndExpected) {
  Data data;
  EXPECT_THAT(
      mistake(data.dataset, {input("x", DType::f32, {2, 3})}),
      HasSubstr("tensor 'x' is f32 [samples, 2]; expected f32 [samples, 3]"));
  EXPECT_THAT(
      mistake(data.dataset, {input("x", DType::f64, {2, 2})}),
      HasSubstr("tensor 'x' is f32 [samples, 2]; expected f64 [samples, 2]"));
}

TEST(Feed, NamesTheSampleWhoseLabelIsNoClass) {
  Data data;
  EXPECT_THAT(
      mistake(data.dataset, kInputs, {{"label", {2, {}, {}}}}),
      HasSubstr(
          "sample 2 has the label 2, but the model has 2 classes (0 to 1)"));
}

TEST(Feed, AllowsTheLabelThatIsToBeIgnored) {
  Data data;
  EXPECT_THAT(mistake(data.dataset, kInputs, {{"label", {2, 2, {}}}}), Eq(""));
}

TEST(Feed, RefusesAnEmptyDataSet) {
  Folder folder;
  Dataset dataset = *Dataset::open(
      {"x=" + folder.write("x.npy", npyFile("<f4", "0, 2", ""))});
  EXPECT_THAT(mistake(dataset, {input("x", DType::f32, {2, 2})}),
              HasSubstr("'x' has no samples"));
}

TEST(Feed, RefusesTensorsOfUnequalSampleCounts) {
  Data data;
  std::string path = data.folder.write(
      "z.npy", npyFile("<f4", "4,", bytesOf<float>({0, 0, 0, 0})));
  Dataset dataset = *Dataset::open({"x=" + data.x, "z=" + path});
  EXPECT_THAT(mistake(dataset, {input("x", DType::f32, {2, 2}),
                                input("z", DType::f32, {2})}),
              HasSubstr("'z' has 4 samples, others have 5"));
}

TEST(Feed, CountsTheLabelsThatAreNotIgnored) {
  Data data; // labels 0, 1, 2, 1, 0
  auto feed = Feed::match(data.dataset, kInputs, {{"label", {3, 1, {}}}});
  ASSERT_TRUE(feed.ok()) << feed.status();
  EXPECT_EQ(*feed->countedLabels(0, 5), 3);
  EXPECT_EQ(*feed->countedLabels(1, 1), 0);
  EXPECT_EQ(*feed->countedLabels(2, 2), 1);
  auto all = Feed::match(data.dataset, kInputs, {{"label", {3, {}, {}}}});
  EXPECT_EQ(*all->countedLabels(0, 5), 5);
}

TEST(Feed, WeighsLabelsByTheirClasses) {
  Data data; // labels 0, 1, 2, 1, 0
  auto feed =
      Feed::match(data.dataset, kInputs, {{"label", {3, 1, {0.5, 4, 2}}}});
  ASSERT_TRUE(feed.ok()) << feed.status();
  EXPECT_EQ(*feed->labelWeight(0, 5), 3);
  EXPECT_EQ(*feed->countedLabels(0, 5), 3);
  EXPECT_TRUE(feed->tellsCount());
}

TEST(Feed, WeighsTheLabelsOfABatch) {
  Data data; // labels 0, 1, 2, 1, 0
  auto feed =
      Feed::match(data.dataset, kInputs, {{"label", {3, 1, {0.5, 4, 2}}}});
  ASSERT_TRUE(feed.ok()) << feed.status();
  int64_t labels[2] = {1, 1};
  const void *inputs[] = {nullptr, labels, nullptr};
  EXPECT_EQ(feed->batchWeight(inputs), 0) << "both are ignored";
  labels[1] = 2;
  EXPECT_EQ(feed->batchWeight(inputs), 2);
  int64_t others[2] = {2, 2};
  const void *turns[] = {nullptr, labels, nullptr, nullptr, others, nullptr};
  EXPECT_EQ(feed->batchWeight(turns), 6) << "of two batches";
  feed = Feed::match(data.dataset, kInputs, {{"label", {3, {}, {}}}});
  EXPECT_EQ(feed->batchWeight(inputs), 2) << "samples, where none is ignored";
}

TEST(Feed, CountsSamplesWhereThereAreLabelsOfTwoKinds) {
  Data data;
  auto feed =
      Feed::match(data.dataset, kInputs, {{"label", {3, 1, {}}}, {"x", {}}});
  ASSERT_TRUE(feed.ok()) << feed.status();
  EXPECT_EQ(*feed->countedLabels(0, 5), 5);
}

TEST(Feed, RefusesLabelsThatAreAllIgnored) {
  Data data;
  std::string labels = data.folder.write(
      "none.npy", npyFile("<i4", "5,", bytesOf<int32_t>({7, 7, 7, 7, 7})));
  Dataset dataset = *Dataset::open({"x=" + data.x, "label=" + labels});
  EXPECT_THAT(mistake(dataset, kInputs, {{"label", {3, 7, {}}}}),
              HasSubstr("tensor 'label' has none that counts: all are 7, the "
                        "loss's ignore_index"));
}

TEST(Feed, CutsAStreamOfTokensIntoSamplesAndTheirLabels) {
  Folder folder;
  std::string path =
      folder.write("t.bin", bytesOf<uint16_t>({0, 1, 2, 3, 4, 5, 6, 7}));
  Dataset dataset = *Dataset::open({"ids=" + path});
  auto feed = Feed::match(dataset, {input("ids", DType::i64, {2, 3}),
                                    input("label", DType::i64, {2, 3})});
  ASSERT_TRUE(feed.ok()) << feed.status();
  EXPECT_EQ(feed->samples(), 2);
  std::vector<int64_t> ids(6), label(6);
  void *places[] = {ids.data(), label.data()};
  EXPECT_TRUE(feed->copySample(0, 0, places).ok());
  EXPECT_TRUE(feed->copySample(1, 1, places).ok());
  EXPECT_THAT(ids, ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(label, ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(Feed, RefusesTokensThatAreTooFewOrOutsideTheTable) {
  Folder folder;
  std::string path = folder.write("t.u16", bytesOf<uint16_t>({0, 1, 9, 3}));
  Dataset dataset = *Dataset::open({"ids=" + path});
  EXPECT_THAT(mistake(dataset, {input("ids", DType::i64, {2, 4})}),
              HasSubstr("tensor 'ids' has 4 tokens; a sample of input 'ids' "
                        "takes 4 and one more"));
  TensorInfo looksUp = input("ids", DType::i64, {2, 3});
  looksUp.indices = 5;
  EXPECT_THAT(mistake(dataset, {looksUp}),
              HasSubstr("sample 0 has the index 9, but the model looks it up "
                        "among 5"));
}

TEST(Feed, GivesTextInTheTypeAndShapeOfTheInput) {
  Folder folder;
  std::string path = folder.write("t.csv", "a,b,y\n1,0.5,2\n3,4,0\n");
  Dataset dataset =
      *Dataset::open({"x=" + path + ":a,b", "label=" + path + ":y"});
  auto feed = Feed::match(dataset, {input("x", DType::f32, {2, 1, 2, 1}),
                                    input("label", DType::i64, {2})});
  ASSERT_TRUE(feed.ok()) << feed.status();
  std::vector<float> x(4);
  std::vector<int64_t> label(2);
  void *places[] = {x.data(), label.data()};
  EXPECT_TRUE(feed->copySample(0, 0, places).ok());
  EXPECT_TRUE(feed->copySample(1, 1, places).ok());
  EXPECT_THAT(x, ElementsAre(1, 0.5, 3, 4));
  EXPECT_THAT(label, ElementsAre(2, 0));
}

TEST(Feed, NamesTheCellThatAnInputCannotTake) {
  Folder folder;
  std::string path = folder.write("t.csv", "a,kind\n1.5,red\n");
  Dataset dataset = *Dataset::open({path});
  EXPECT_THAT(mistake(dataset, {input("a", DType::i64, {1})}),
              HasSubstr("line 2, column 'a': expected an integer, found '1.5', "
                        "which is what input 'a' takes"));
  EXPECT_THAT(mistake(dataset, {input("kind", DType::i64, {1})}),
              HasSubstr("line 2, column 'kind': expected a number, found "
                        "'red'; categories are written as 0, 1, ..."));
  EXPECT_THAT(mistake(dataset, {input("a", DType::f32, {1, 2})}),
              HasSubstr("tensor 'a' is f32 [samples]; expected f32 [samples, "
                        "2]"));
}

TEST(Feed, RefusesTextBeyondTheRangeOfItsInput) {
  Folder folder;
  Dataset dataset = *Dataset::open({folder.write("t.csv", "a\n4294967296\n")});
  EXPECT_THAT(mistake(dataset, {input("a", DType::i32, {1})}),
              HasSubstr("tensor 'a' has an integer beyond 32 bits"));
  EXPECT_THAT(mistake(dataset, {input("a", DType::i64, {1})}), Eq(""));
}

TEST(Feed, NamesTheCellBeyondF32AndItsFile) {
  Folder folder;
  std::string few = folder.write("few.csv", "a\n3.4028235e38\n-1e-300\n");
  std::string far = folder.write("far.csv", "a\n1\n-1e39\n");
  std::string words = "line 3, column 'a': expected a number in the range of "
                      "f32, found '-1e39', which is what input 'a' takes";
  std::vector<TensorInfo> f32 = {input("a", DType::f32, {1})},
                          f64 = {input("a", DType::f64, {1})};
  EXPECT_THAT(mistake(*Dataset::open({few}), f32), Eq(""));
  EXPECT_THAT(mistake(*Dataset::open({far}), f32), Eq(far + ": " + words));
  EXPECT_THAT(mistake(*Dataset::open({few, far}), f32),
              HasSubstr(": " + far + ": " + words));
  EXPECT_THAT(mistake(*Dataset::open({few, far}), f64), Eq(""));
}

TEST(Feed, PreparesSamples) {
  Data data;
  auto feed = Feed::match(data.dataset, kInputs, {},
                          {{"x", {.mean = {1}, .std = {2}}}});
  ASSERT_TRUE(feed.ok()) << feed.status();
  std::vector<float> x(4);
  std::vector<int64_t> label(2);
  int64_t count = 0;
  void *places[] = {x.data(), label.data(), &count};
  EXPECT_TRUE(feed->copySample(2, 0, places).ok());
  EXPECT_EQ(x[0], 1.5);
  EXPECT_EQ(x[1], 2);
  EXPECT_THAT(
      wordsOf(Feed::match(data.dataset, kInputs, {}, {{"label", {.mean = {1}}}})
                  .status()),
      HasSubstr("only f32 can be normalized"));
}

TEST(Feed, FallsIntoPartsThatHaveNoSampleInCommon) {
  Data data; // labels 0, 1, 2, 1, 0
  auto whole = Feed::match(data.dataset, kInputs, {{"label", {3, 1, {}}}});
  ASSERT_TRUE(whole.ok()) << whole.status();
  Feed test = whole->part(7, 0, 2), train = whole->part(7, 2, 3);
  EXPECT_EQ(test.samples(), 2);
  EXPECT_EQ(*test.countedLabels(0, 2) + *train.countedLabels(0, 3), 3);
  std::vector<float> seen;
  for (auto [part, count] : {std::pair(&test, 2), {&train, 3}})
    for (int i = 0; i < count; ++i) {
      std::vector<float> x(4);
      std::vector<int64_t> label(2);
      int64_t counted = 0;
      void *places[] = {x.data(), label.data(), &counted};
      EXPECT_TRUE(part->copySample(i, 0, places).ok());
      seen.push_back(x[0]);
    }
  EXPECT_THAT(seen, testing::UnorderedElementsAre(0, 2, 4, 6, 8));
}

TEST(Feed, MasksOnlyLabelsThatCanBeIgnored) {
  Data data;
  auto feed = Feed::match(data.dataset, kInputs, {{"label", {3, {}, {}}}});
  ASSERT_TRUE(feed.ok()) << feed.status();
  EXPECT_THAT(wordsOf(feed->maskLastBatch()),
              HasSubstr("\"mask\" needs labels that the loss can ignore"));
}

TEST(Feed, NamesTheFirstNumberThatIsNone) {
  Folder folder;
  std::string path = folder.write(
      "x.npy", npyFile("<f4", "3, 1", bytesOf<float>({1, INFINITY, NAN})));
  Dataset dataset = *Dataset::open({"x=" + path});
  auto feed = Feed::match(dataset, {input("x", DType::f32, {1, 1})});
  ASSERT_TRUE(feed.ok()) << feed.status();
  EXPECT_EQ(feed->firstNonfinite(), "tensor 'x': sample 2 has nan");
}

TEST(Feed, ConvertsDoublesAndSaysSo) {
  Folder folder;
  std::string path = folder.write(
      "x.npy", npyFile("<f8", "3, 1", bytesOf<double>({0.1, -2, INFINITY})));
  Dataset dataset = *Dataset::open({"x=" + path});
  auto feed = Feed::match(dataset, {input("x", DType::f32, {3, 1})});
  ASSERT_TRUE(feed.ok()) << feed.status();
  EXPECT_THAT(feed->notes(),
              ElementsAre("tensor 'x' is converted from f64 to f32"));
  std::vector<float> x(3);
  void *places[] = {x.data()};
  for (int64_t sample = 0; sample < 3; ++sample)
    EXPECT_TRUE(feed->copySample(sample, sample, places).ok());
  EXPECT_THAT(x, ElementsAre(0.1f, -2, INFINITY));
  EXPECT_EQ(feed->firstNonfinite(), "tensor 'x': sample 2 has an infinity");
}

TEST(Feed, RefusesDoublesThatWouldBecomeInfinite) {
  Folder folder;
  std::string path = folder.write(
      "x.npy", npyFile("<f8", "3, 1", bytesOf<double>({0.1, -2, 1e300})));
  EXPECT_EQ(
      mistake(*Dataset::open({"x=" + path}), {input("x", DType::f32, {3, 1})}),
      path + ": tensor 'x': sample 2 has 1e+300, which lies beyond the "
             "range of f32, to which f64 is converted");
}

TEST(Feed, CountsTheClassesOfTheOnlyLabel) {
  Data data;
  Dataset dataset =
      *Dataset::open({"label=" + data.labels, "z=" + data.labels});
  std::vector<TensorInfo> inputs = {input("label", DType::i64, {2}),
                                    input("z", DType::i64, {2})};
  LabelRule rule{4, {}, {}};
  Feed one = *Feed::match(dataset, inputs, {{"label", rule}});
  EXPECT_EQ(one.classes().found, 3);
  EXPECT_EQ(one.classes().known, 4);
  Feed both = *Feed::match(dataset, inputs, {{"label", rule}, {"z", rule}});
  EXPECT_EQ(both.classes().known, 0) << "which of them?";
}

TEST(Feed, RefusesAGraphThatTakesNoSamples) {
  Data data;
  EXPECT_THAT(mistake(data.dataset, {input("x", DType::f32, {0, 2})}),
              HasSubstr("input 'x' takes 0 samples a step, expected 1 or "
                        "more"));
}

TEST(Feed, TakesDoublesAsTheyAreWhereTheyAreAskedFor) {
  Folder folder;
  Dataset dataset = *Dataset::open(
      {"x=" + folder.write("x.npy",
                           npyFile("<f8", "1, 1", bytesOf<double>({1e300})))});
  auto feed = Feed::match(dataset, {input("x", DType::f64, {1, 1})});
  ASSERT_TRUE(feed.ok()) << feed.status();
  EXPECT_TRUE(feed->notes().empty());
}

TEST(Feed, SaysInWhichOrderTheAxesWouldFit) {
  Folder folder;
  auto saidOf = [&](const std::string &type, const std::string &shape,
                    size_t bytes, std::vector<int64_t> expected) {
    Dataset dataset = *Dataset::open(
        {"x=" + folder.write("x.npy",
                             npyFile(type, shape, std::string(bytes, '\0')))});
    return mistake(dataset, {input("x", DType::f32, expected)});
  };
  std::string numpy = "; its axes are in another order, which NumPy changes by "
                      "numpy.transpose(x, (";
  EXPECT_THAT(saidOf("<f4", "2, 4, 5, 3", 480, {1, 3, 4, 5}),
              HasSubstr("'x' is f32 [samples, 4, 5, 3]; expected f32 "
                        "[samples, 3, 4, 5]" +
                        numpy + "0, 3, 1, 2))"));
  EXPECT_THAT(saidOf("|u1", "2, 4, 4, 3", 96, {1, 3, 4, 4}),
              HasSubstr(numpy + "0, 3, 1, 2))"));
  EXPECT_THAT(saidOf("<f4", "2, 3, 4, 5", 480, {1, 4, 5, 3}),
              HasSubstr(numpy + "0, 2, 3, 1))"));
  EXPECT_THAT(saidOf("<f4", "1, 5, 3", 60, {1, 3, 5}),
              HasSubstr(numpy + "0, 2, 1))"));
  EXPECT_THAT(saidOf("<f4", "2, 4, 5, 3", 480, {1, 3, 4, 6}),
              Not(HasSubstr("transpose")));
  EXPECT_THAT(saidOf("<i4", "1, 3, 3, 3", 108, {1, 3, 3, 3}),
              HasSubstr("astype"));
}

TEST(Feed, SaysHowNumPyConverts) {
  Folder folder;
  std::string path =
      folder.write("x.npy", npyFile("<f2", "1, 1", bytesOf<int16_t>({1})));
  EXPECT_THAT(
      mistake(*Dataset::open({"x=" + path}), {input("x", DType::f32, {1, 1})}),
      HasSubstr("; NumPy converts it by astype(numpy.float32)"));
}
