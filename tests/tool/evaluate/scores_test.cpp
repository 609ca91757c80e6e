// Figures of predictions, against ones counted by hand.

#include "tool/evaluate/scores.h"

#include <gmock/gmock.h>

#include <cmath>

using namespace gradus::cli;
using testing::HasSubstr;

TEST(Confusion, CountsWhatWasTakenForWhat) {
  Confusion confusion(3);
  for (auto [label, predicted] :
       {std::pair(0, 0), {0, 0}, {0, 1}, {1, 1}, {1, 1}})
    confusion.add(label, predicted);
  confusion.add(-100, 1);
  confusion.add(1, 7);
  EXPECT_DOUBLE_EQ(confusion.precision(1), 2.0 / 3);
  EXPECT_DOUBLE_EQ(confusion.recall(0), 2.0 / 3);
  EXPECT_TRUE(std::isnan(confusion.precision(2)));
  EXPECT_EQ(confusion.json()["confusion"].dump(), "[[2,1,0],[0,2,0],[0,0,0]]");
  EXPECT_EQ(confusion.json()["precision"][2].dump(), "null");
}

TEST(Confusion, IsShownByClassesWhereThereAreMany) {
  Confusion few(20), many(21);
  few.add(3, 3);
  many.add(3, 3);
  EXPECT_THAT(few.text(), HasSubstr("a row for each label"));
  EXPECT_THAT(many.text(), HasSubstr("class"));
  EXPECT_THAT(many.text(), HasSubstr("3      1.000   1.000       1\n"));
}

TEST(Confusion, ReportsThePairsThatAreConfusedMostOften) {
  Confusion confusion(3, {"a", "b", "c"});
  for (auto [label, predicted] :
       {std::pair(0, 2), {0, 2}, {1, 0}, {2, 0}, {0, 2}, {1, 1}})
    confusion.add(label, predicted);
  auto report = confusion.reportJson();
  EXPECT_EQ(report["kind"], "classes");
  EXPECT_EQ(report["classes"].dump(), R"(["a","b","c"])");
  EXPECT_EQ(report["counts"].dump(), "[3,2,1]");
  EXPECT_EQ(report["confusions"].dump(),
            R"([{"label":0,"predicted":2,"count":3},)"
            R"({"label":1,"predicted":0,"count":1},)"
            R"({"label":2,"predicted":0,"count":1}])");
}

TEST(Confusion, ReportsNoMatrixOfManyClasses) {
  Confusion drawn(100), listed(101);
  for (int64_t i = 0; i < 101; ++i)
    listed.add(i, (i + 1) % 101);
  EXPECT_EQ(drawn.reportJson()["confusion"].size(), 100u);
  EXPECT_EQ(listed.reportJson()["confusion"].size(), 0u);
  EXPECT_EQ(listed.reportJson()["recall"].size(), 101u);
  EXPECT_EQ(listed.reportJson()["confusions"].size(), 20u);
}

TEST(Errors, AreThoseOfTheFormulas) {
  Errors errors;
  for (auto [target, predicted] : {std::pair(1.0, 2.0), {3, 3}, {5, 3}})
    errors.add(target, predicted);
  EXPECT_DOUBLE_EQ(errors.meanAbsolute(), 1);
  EXPECT_DOUBLE_EQ(errors.rootMeanSquare(), std::sqrt(5.0 / 3));
  EXPECT_DOUBLE_EQ(errors.r2(), 1 - 5.0 / 8);
  EXPECT_THAT(errors.text(), HasSubstr("R2: 0.3750"));
}

TEST(Errors, HaveNoR2WhereTargetsAreEqual) {
  Errors errors;
  errors.add(1, 2);
  EXPECT_THAT(errors.text(), HasSubstr("R2: -"));
  EXPECT_EQ(errors.json()["r2"].dump(), "null");
}

TEST(Errors, OfPartsAreThoseOfAll) {
  Errors all;
  std::vector<Errors> parts(5); // of which one is empty
  for (int i = 0; i < 40; ++i) {
    double target = 1000 + i * i % 17, predicted = target + (i % 5 - 2) * 0.3;
    all.add(target, predicted);
    parts[i % 4 + (i % 4 > 1)].add(target, predicted);
  }
  Errors together = Errors::of(parts);
  EXPECT_DOUBLE_EQ(together.meanAbsolute(), all.meanAbsolute());
  EXPECT_DOUBLE_EQ(together.rootMeanSquare(), all.rootMeanSquare());
  EXPECT_NEAR(together.r2(), all.r2(), 1e-12);
}

TEST(Errors, OfOnePartAreItsOwn) {
  Errors one;
  one.add(1, 2.5);
  one.add(3, 3.25);
  EXPECT_EQ(Errors::of({one}).json(), one.json());
  EXPECT_EQ(Errors::of({}).json()["mae"].dump(), "null");
}
