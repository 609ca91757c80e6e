// Settings of a recipe that do not go together.

#include "frontends/recipe/mistakes.h"
#include "frontends/recipe/recipe.h"

#include <gmock/gmock.h>

using namespace gradus::recipe;
using testing::HasSubstr;

/// Empty where it is accepted.
static std::string refusal(const Overrides &overrides) {
  return std::string(read("{}", "r.json", overrides).status().message());
}

TEST(Mistakes, FindNesterovWithoutMomentum) {
  EXPECT_THAT(refusal({"optimizer.type=sgd", "optimizer.nesterov=true"}),
              HasSubstr("optimizer.nesterov: is true, but momentum is 0"));
  EXPECT_EQ(refusal({"optimizer.type=sgd", "optimizer.nesterov=true",
                     "optimizer.momentum=0.9"}),
            "");
  EXPECT_EQ(refusal({"optimizer.type=adam", "optimizer.nesterov=true"}), "");
}

TEST(Mistakes, FindSchedulesOfWhatTheOptimizerLacks) {
  EXPECT_THAT(refusal({R"(schedule.momentum=[{"type": "constant"}])"}),
              HasSubstr("schedule.momentum: the optimizer \"adamw\" has no "
                        "momentum"));
  EXPECT_EQ(refusal({R"(schedule.beta1=[{"type": "constant"}])"}), "");
  EXPECT_EQ(refusal({"optimizer.type=muon",
                     R"(schedule.beta2=[{"type": "constant"}])"}),
            "")
      << "of the others";
}

TEST(Mistakes, FindPiecesThatLackSomething) {
  EXPECT_THAT(refusal({R"(schedule.learning_rate=[{"type": "cosine"}])"}),
              HasSubstr("schedule.learning_rate.0: does not say how long it "
                        "is, expected steps, epochs, fraction or rest"));
  EXPECT_EQ(refusal({R"(schedule.learning_rate=[{"type": "cosine",
                                                 "period": 10}])"}),
            "");
  EXPECT_THAT(refusal({R"(schedule.learning_rate=[{"type": "constant"},
                                                  {"type": "constant"}])"}),
              HasSubstr("learning_rate.0: does not say how long it is, "
                        "expected steps, epochs, fraction or rest: only the "
                        "last piece may go on"));
  EXPECT_THAT(refusal({R"(schedule.learning_rate=[{"type": "list",
                                                   "values": []}])"}),
              HasSubstr("learning_rate.0.values: is empty"));
}

TEST(Mistakes, FindTwoWaysOfFreezing) {
  EXPECT_THAT(refusal({"gradient_freeze.strategy=[0]",
                       "gradient_freeze.last_layers=2"}),
              HasSubstr("gradient_freeze.strategy: excludes last_layers, which "
                        "says by itself what rests in which step"));
  EXPECT_EQ(refusal({R"(gradient_freeze.from={"conv1*": 10})",
                     R"(gradient_freeze.until={"conv2*": 10})"}),
            "");
  EXPECT_THAT(refusal({R"(gradient_freeze.from={"conv1*": -1})"}),
              HasSubstr("gradient_freeze.from.conv1*: expected at least 0"));
  EXPECT_THAT(refusal({"gradient_freeze.last_layers=0"}),
              HasSubstr("gradient_freeze.last_layers: expected at least 1"));
}

/// What is said without effect.
static std::vector<std::string> remarks(const Overrides &overrides) {
  auto recipe = read("{}", "r.json", overrides);
  EXPECT_TRUE(recipe.ok()) << recipe.status();
  return recipe.ok() ? recipe->remarks : std::vector<std::string>();
}

TEST(Mistakes, TellWhatFreezingByHandPassesOver) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(remarks({"gradient_freeze.last_layers=2",
                     "gradient_freeze.groups=4", "gradient_freeze.p=0.7"}),
            Lines{"gradient_freeze.groups is 4 without effect: last_layers "
                  "says what rests in which step"});
  EXPECT_EQ(remarks({R"(gradient_freeze.until={"conv*": 10})",
                     "gradient_freeze.type=0"}),
            Lines{"gradient_freeze.type is 0 without effect: until says what "
                  "rests in which step"});
  EXPECT_EQ(remarks({"gradient_freeze.strategy=[0, 1]",
                     "gradient_freeze.groups=4", "gradient_freeze.p=0.5"}),
            Lines{"gradient_freeze.p is 0.5 without effect: strategy says what "
                  "rests in which step"})
      << "groups count";
  EXPECT_EQ(remarks({"gradient_freeze.groups=4"}), Lines());
}

TEST(Mistakes, FindNumbersThatTrainNothing) {
  for (const char *type : {"global_norm", "adaptive"})
    EXPECT_THAT(refusal({{std::string("clip.type=") + type}, "clip.value=0"}),
                HasSubstr("clip.value: expected more than 0, found 0"));
  EXPECT_THAT(refusal({"optimizer.learning_rate=1e39"}),
              HasSubstr("optimizer.learning_rate: expected a number in the "
                        "range of f32, found 1e+39"));
}

TEST(Mistakes, FindLabelsThatNoLossIgnores) {
  EXPECT_THAT(refusal({"inputs.last_batch=mask", "loss=mse"}),
              HasSubstr("inputs.last_batch: \"mask\" needs labels that the "
                        "loss can ignore"));
  EXPECT_EQ(refusal({"inputs.last_batch=mask"}), "");
}

TEST(Mistakes, FindMetricsThatAreNone) {
  EXPECT_THAT(refusal({"loss=mse", R"(metrics=["accuracy"])"}),
              HasSubstr("metrics: \"accuracy\" needs labels that are classes, "
                        "but loss.type is \"mse\""));
  EXPECT_THAT(refusal({R"(metrics=["top5", "top5"])"}),
              HasSubstr("metrics: \"top5\" stands twice"));
}

// What is written out by `gradus recipe` is no mistake of the user's.
TEST(Remarks, NameAnEpsilonThatNothingIsAddedTo) {
  auto remarks = [](const Overrides &overrides) {
    return read("{}", "r.json", overrides)->remarks;
  };
  EXPECT_EQ(remarks({"clip=global_norm", "clip.divide=true",
                     "clip.norm_epsilon=0.5"}),
            (std::vector<std::string>{
                "clip.norm_epsilon is 0.5 without effect: clip.divide divides "
                "by max(1, norm / value)"}));
  EXPECT_EQ(remarks({"clip=global_norm", "clip.norm_epsilon=0.5"}),
            std::vector<std::string>());
  EXPECT_EQ(remarks({"clip=global_norm", "compat=timm"}),
            std::vector<std::string>());
  EXPECT_EQ(remarks({"clip=norm", "clip.norm_epsilon=0.5"}),
            std::vector<std::string>());
  EXPECT_EQ(
      remarks({"clip=global_norm", "clip_update=global_norm",
               "clip_update.divide=true", "clip_update.norm_epsilon=0.5"}),
      (std::vector<std::string>{
          "clip_update.norm_epsilon is 0.5 without effect: "
          "clip_update.divide divides by max(1, norm / value)"}));
}

TEST(Mistakes, FindKeysOfProcessesThatExcludeEachOther) {
  EXPECT_THAT(
      refusal({"distribution.mode=data_parallel", "distribution.half_scale=8"}),
      HasSubstr("distribution.half_scale: is 8.0, but distribution.reduce is "
                "\"plain\", which scales nothing"));
  EXPECT_EQ(refusal({"distribution.mode=data_parallel",
                     "distribution.reduce=bf16", "distribution.half_scale=8"}),
            "");
  const char *excludes = "distribution.gradient_splits: excludes "
                         "bucket_elements, which is 2097152";
  EXPECT_THAT(refusal({"distribution.mode=data_parallel",
                       "distribution.gradient_splits=[2]",
                       "distribution.compat=singa"}),
              HasSubstr(excludes));
  EXPECT_THAT(refusal({"compat=singa", "distribution.gradient_splits=[2]"}),
              HasSubstr(excludes));
  EXPECT_EQ(refusal({"compat=singa", "distribution.gradient_splits=[2]",
                     "distribution.bucket_elements=null"}),
            "");
  EXPECT_THAT(refusal({"distribution.in_flight=0"}),
              HasSubstr("distribution.in_flight: expected at least 1"));
}

TEST(Mistakes, FindMeetingsOfRanksThatShareEachUpdate) {
  Overrides meets = {"distribution.mode=data_parallel",
                     "distribution.every=20"};
  EXPECT_EQ(refusal({meets[0], meets[1], "distribution.reduce=local"}), "");
  EXPECT_THAT(refusal({meets[0], meets[1], "distribution.reduce=partial"}),
              HasSubstr("distribution.every: is 20, but distribution.reduce is "
                        "\"partial\", with which a part of the weights meets "
                        "in each update; take \"local\""));
  EXPECT_THAT(refusal(std::move(meets)),
              HasSubstr("distribution.every: is 20, but distribution.reduce is "
                        "\"plain\", with which all processes make each update "
                        "together; take \"local\""));
  EXPECT_THAT(refusal({"distribution.every=0"}),
              HasSubstr("distribution.every: expected at least 1"));
}

TEST(Mistakes, FindPartsOfWhatIsSharedAtOnce) {
  Overrides parts = {"distribution.mode=data_parallel", "distribution.parts=3"};
  EXPECT_EQ(refusal({parts[0], parts[1], "distribution.reduce=partial"}), "");
  EXPECT_THAT(refusal(parts),
              HasSubstr("distribution.parts: is 3, but distribution.reduce is "
                        "\"plain\", which shares all parameters at once; take "
                        "\"partial\""));
  EXPECT_THAT(refusal({parts[0], parts[1], "distribution.reduce=partial",
                       "distribution.mean=false"}),
              HasSubstr("distribution.mean: is false, but distribution.reduce "
                        "is \"partial\", and ranks meet at their mean"));
  EXPECT_THAT(refusal({"distribution.parts=0"}),
              HasSubstr("distribution.parts: expected at least 1"));
  EXPECT_THAT(refusal({"distribution.parts=257"}),
              HasSubstr("distribution.parts: expected less than 257"));
}

TEST(Mistakes, FindWhatLogicalRanksExclude) {
  auto said = [](Overrides more, bool isDeterministic = true) {
    more.insert(more.end(), {"distribution.mode=data_parallel",
                             isDeterministic ? "deterministic=true"
                                             : "deterministic=false"});
    return refusal(std::move(more));
  };
  const std::string eight = "distribution.logical_ranks=8";
  EXPECT_EQ(said({eight}), "");
  EXPECT_THAT(said({eight}, false),
              HasSubstr("distribution.logical_ranks: is 8, which needs "
                        "deterministic true, but it is false"));
  EXPECT_THAT(
      said({"distribution.logical_ranks=12"}),
      HasSubstr("distribution.logical_ranks: is 12, expected a power of "
                "two up to 65536"));
  EXPECT_THAT(said({"distribution.logical_ranks=0"}),
              HasSubstr("distribution.logical_ranks: expected at least 1"));
  EXPECT_THAT(said({eight, "distribution.reduce=bf16"}),
              HasSubstr("which needs distribution.reduce \"plain\", but it is "
                        "\"bf16\""));
  EXPECT_THAT(said({eight, "distribution.batch_norm=synchronized"}),
              HasSubstr("which needs distribution.batch_norm \"average\" or "
                        "\"local\", but it is \"synchronized\""));
  EXPECT_THAT(said({eight, "accumulation=2"}),
              HasSubstr("needs accumulation 1"));
  EXPECT_THAT(said({eight, "gradient_freeze={}"}),
              HasSubstr("is 8, which excludes gradient_freeze"));
}

TEST(Mistakes, RefuseWhatAdasumCannotDo) {
  auto said = [](Overrides settings) {
    settings.insert(settings.begin(), {"distribution.mode=data_parallel",
                                       "distribution.reduce=adasum"});
    return refusal(settings);
  };
  EXPECT_EQ(said({}), "");
  EXPECT_THAT(said({"distribution.mean=false"}),
              HasSubstr("distribution.mean: is false, which makes a sum of the "
                        "ranks of adasum.within, but that is 1"));
  EXPECT_EQ(said({"distribution.mean=false", "distribution.adasum.within=2"}),
            "");
  EXPECT_THAT(said({"distribution.half_scale=8"}),
              HasSubstr("but distribution.reduce is \"adasum\""));
  EXPECT_EQ(said({"distribution.adasum.of=weights", "precondition=thor"}), "");
  EXPECT_THAT(said({"distribution.logical_ranks=2", "deterministic=true"}),
              HasSubstr("needs distribution.reduce \"plain\", but it is "
                        "\"adasum\""));
  EXPECT_THAT(refusal({"distribution.mode=data_parallel", "deterministic=true",
                       "distribution.logical_ranks=2", "distribution.ranks=2"}),
              HasSubstr("distribution.ranks: is 2, but "
                        "distribution.logical_ranks is 2"));
}

TEST(Mistakes, RefuseWhatASubspaceCannotBeTriedBy) {
  auto said = [](Overrides settings) {
    settings.insert(settings.begin(), {"distribution.mode=data_parallel",
                                       "dim_reduce=basis.safetensors"});
    return refusal(settings);
  };
  EXPECT_EQ(said({}), "");
  EXPECT_EQ(said({"distribution.reduce=half"}), "");
  EXPECT_EQ(said({"distribution.reduce=bf16"}), "");
  EXPECT_THAT(said({"distribution.reduce=adasum"}),
              HasSubstr("distribution.reduce: is \"adasum\", and dim_reduce "
                        "needs the gradient of all ranks' loss"));
  EXPECT_THAT(said({"distribution.reduce=local"}),
              HasSubstr("distribution.reduce: is \"local\", and dim_reduce"));
  EXPECT_THAT(said({"distribution.mean=false"}),
              HasSubstr("distribution.mean: is false, and dim_reduce tries"));
  EXPECT_THAT(said({"distribution.logical_ranks=2", "deterministic=true"}),
              HasSubstr("distribution.logical_ranks: is 2, which excludes "
                        "dim_reduce"));
  EXPECT_EQ(
      refusal({"distribution.reduce=adasum", "dim_reduce=basis.safetensors"}),
      "");
}

/// Who has asked for a level alone finds no key of AdaSum in the recipe.
TEST(Mistakes, NameTheBoostThatWantsAdasum) {
  const std::string why = " (from boost's adasum, which boost.boost.mode "
                          "\"manual\" and boost.boost.adasum false leave out)";
  EXPECT_THAT(refusal({"boost=O2", "distribution.mode=data_parallel",
                       "deterministic=true", "distribution.logical_ranks=2"}),
              HasSubstr("needs distribution.reduce \"plain\", but it is "
                        "\"adasum\"" +
                        why));
  EXPECT_THAT(
      refusal({"distribution.mode=data_parallel", "distribution.reduce=adasum",
               "deterministic=true", "distribution.logical_ranks=2"}),
      testing::AllOf(HasSubstr("but it is \"adasum\""),
                     testing::Not(HasSubstr("boost"))));
}

TEST(Mistakes, BoundTheRanksThatTrain) {
  EXPECT_EQ(
      refusal({"distribution.mode=data_parallel", "distribution.ranks=8192"}),
      "");
  EXPECT_THAT(
      refusal({"distribution.mode=data_parallel", "distribution.ranks=8193"}),
      HasSubstr("distribution.ranks"));
}

TEST(Mistakes, TellThatOneVectorHasNoBuckets) {
  using Lines = std::vector<std::string>;
  const Overrides model = {"distribution.mode=data_parallel",
                           "distribution.reduce=adasum",
                           "distribution.adasum.per=model"};
  auto with = [&](Overrides more) {
    more.insert(more.begin(), model.begin(), model.end());
    return remarks(more);
  };
  const std::string why = " without effect on what AdaSum combines: "
                          "distribution.adasum.per is \"model\", one vector";
  EXPECT_EQ(with({}), Lines{});
  EXPECT_EQ(with({"distribution.gradient_splits=[1]"}),
            Lines{"distribution.gradient_splits is [1]" + why});
  EXPECT_EQ(with({"distribution.bucket_elements=64"}),
            Lines{"distribution.bucket_elements is 64" + why});
  EXPECT_EQ(
      with({"distribution.bucket_elements=64", "distribution.adasum.of=weights",
            "distribution.adasum.within=2"}),
      Lines{});
}

TEST(Mistakes, TellThatWeightsAreNotCutLikeGradients) {
  using Lines = std::vector<std::string>;
  auto with = [](const std::string &reduce, Overrides more) {
    more.insert(more.begin(), {"distribution.mode=data_parallel",
                               "distribution.reduce=" + reduce});
    return remarks(more);
  };
  auto why = [](const std::string &reduce) {
    return " without effect: distribution.reduce is \"" + reduce +
           "\", which sends weights; bucket_bytes says what travels together";
  };
  const std::string splits = "distribution.gradient_splits=[1]",
                    elements = "distribution.bucket_elements=64",
                    parts = "distribution.parts=";
  for (const std::string reduce : {"local", "partial"})
    EXPECT_EQ(with(reduce, {splits}),
              Lines{"distribution.gradient_splits is [1]" + why(reduce)});
  EXPECT_EQ(with("local", {elements}),
            Lines{"distribution.bucket_elements is 64" + why("local")});
  EXPECT_EQ(with("partial", {elements, parts + "2"}),
            Lines{"distribution.bucket_elements is 64" + why("partial")});
  EXPECT_EQ(with("partial", {elements}), Lines{}) << "it cuts parts";
  EXPECT_EQ(with("partial", {elements, parts + "1"}), Lines{}) << "plain";
}

TEST(Mistakes, RefuseWhatSparseSumsCannotDo) {
  auto said = [](const std::string &reduce, Overrides settings) {
    settings.insert(settings.begin(),
                    {"distribution.mode=data_parallel",
                     "distribution.reduce=" + reduce, "distribution.ranks=2"});
    return refusal(settings);
  };
  auto ofLargest = [&](Overrides settings) {
    settings.insert(settings.begin(), "distribution.ratio=0.01");
    return said("sparse_topk", settings);
  };
  EXPECT_EQ(ofLargest({}), "");
  EXPECT_EQ(said("sparse_threshold", {"distribution.threshold=0.1"}), "");
  EXPECT_THAT(said("sparse_topk", {}),
              HasSubstr("distribution.ratio: is null, but distribution.reduce "
                        "is \"sparse_topk\", which sends that part"));
  EXPECT_THAT(said("sparse_threshold", {}),
              HasSubstr("distribution.threshold: is null, but"));
  EXPECT_THAT(ofLargest({"distribution.threshold=0.1"}),
              HasSubstr("distribution.threshold: is 0.1, but "
                        "distribution.reduce is \"sparse_topk\", for which "
                        "distribution.ratio says what is sent"));
  EXPECT_THAT(ofLargest({"distribution.ratio=1.5"}),
              HasSubstr("distribution.ratio: is 1.5, expected a part of the "
                        "elements, at most 1"));
  EXPECT_NE(ofLargest({"distribution.ratio=0"}), "");
  EXPECT_THAT(said("sparse_threshold",
                   {"distribution.threshold=0.1", "distribution.capacity=1.5"}),
              HasSubstr("distribution.capacity: is 1.5, expected a part of the "
                        "elements, at most 1"));
  EXPECT_THAT(ofLargest({"distribution.capacity=0.5"}),
              HasSubstr("distribution.capacity: is 0.5, but "
                        "distribution.reduce is \"sparse_topk\""));
  EXPECT_THAT(ofLargest({"distribution.ranks=null"}),
              HasSubstr("distribution.ranks: is null, but distribution.reduce "
                        "is \"sparse_topk\", whose messages"));
  EXPECT_THAT(ofLargest({"precondition=thor"}),
              HasSubstr("which excludes precondition"));
  EXPECT_THAT(ofLargest({"distribution.half_scale=8"}),
              HasSubstr("but distribution.reduce is \"sparse_topk\""));
  EXPECT_THAT(ofLargest({"distribution.logical_ranks=2", "deterministic=true"}),
              HasSubstr("needs distribution.reduce \"plain\", but it is "
                        "\"sparse_topk\""));
  EXPECT_THAT(
      refusal({"distribution.mode=data_parallel", "distribution.ratio=0.01"}),
      HasSubstr("distribution.ratio: is 0.01, but distribution.reduce "
                "is \"plain\", which sends all elements"));
}

TEST(Mistakes, TellWhatCutsNoSparseSums) {
  using Lines = std::vector<std::string>;
  auto with = [](const std::string &key) {
    return remarks({"distribution.mode=data_parallel", "distribution.ranks=2",
                    "distribution.reduce=sparse_topk",
                    "distribution.ratio=0.01", key});
  };
  EXPECT_EQ(with("distribution.bucket_bytes=64"), Lines{});
  EXPECT_EQ(with("distribution.compat=singa"), Lines{});
  EXPECT_EQ(with("distribution.bucket_elements=64"),
            Lines{"distribution.bucket_elements is 64 without effect: "
                  "distribution.reduce is \"sparse_topk\"; bucket_bytes says "
                  "what travels together"});
  EXPECT_EQ(with("distribution.gradient_splits=[1]").size(), 1u);
}

TEST(Mistakes, RefuseMomentumThatRanksCannotAddUp) {
  auto said = [](Overrides settings) {
    settings.insert(settings.begin(),
                    {"distribution.mode=data_parallel",
                     "distribution.reduce=sparse_topk",
                     "distribution.ratio=0.01", "distribution.ranks=2",
                     "distribution.momentum_correction=true"});
    return refusal(settings);
  };
  EXPECT_EQ(said({"optimizer=sgd", "optimizer.momentum=0.9"}), "");
  EXPECT_THAT(said({"optimizer=adam"}),
              HasSubstr("distribution.momentum_correction: is true, which adds "
                        "up the momentum of sgd, but optimizer.type is "
                        "\"adam\""));
  EXPECT_THAT(said({"optimizer=sgd"}),
              HasSubstr("which needs a momentum without dampening, but "
                        "optimizer.momentum is 0"));
  EXPECT_THAT(said({"optimizer=sgd", "optimizer.momentum=0.9",
                    "distribution.error_feedback=false"}),
              HasSubstr("but error_feedback is false"));
  EXPECT_THAT(said({"optimizer=sgd", "optimizer.momentum=0.9",
                    "optimizer.dampening=0.5"}),
              HasSubstr("optimizer.momentum is 0.9 and optimizer.dampening is "
                        "0.5"));
  EXPECT_THAT(said({"optimizer=sgd", "optimizer.momentum=0.9",
                    "schedule.momentum=[{\"type\": \"constant\", \"rest\": "
                    "true}]"}),
              HasSubstr("which excludes schedule.momentum"));
}

TEST(Mistakes, TellWhereNoInversesAreDealt) {
  using Lines = std::vector<std::string>;
  const std::string type = "precondition.type=thor",
                    dealt = "precondition.refresh.dealt=true",
                    shared = "distribution.mode=data_parallel",
                    found = "precondition.refresh.dealt is true without effect";
  EXPECT_EQ(remarks({type, dealt}),
            Lines{found + ": distribution.mode is \"none\""});
  EXPECT_EQ(remarks({type, dealt, shared, "distribution.ranks=1"}),
            Lines{found + ": distribution.ranks is 1"});
  EXPECT_EQ(remarks({type, dealt, shared, "distribution.ranks=2"}), Lines());
  EXPECT_EQ(remarks({type}), Lines());
}

TEST(Mistakes, TellWhereNoDirectionsAreDealt) {
  using Lines = std::vector<std::string>;
  const std::string basis = "dim_reduce.basis=b.safetensors",
                    dealt = "dim_reduce.dealt=true",
                    shared = "distribution.mode=data_parallel",
                    found = "dim_reduce.dealt is true without effect";
  EXPECT_EQ(remarks({basis, dealt}),
            Lines{found + ": distribution.mode is \"none\""});
  EXPECT_EQ(remarks({basis, dealt, shared, "distribution.ranks=1"}),
            Lines{found + ": distribution.ranks is 1"});
  EXPECT_EQ(remarks({basis, dealt, shared, "distribution.ranks=2"}), Lines());
  EXPECT_EQ(remarks({basis, shared, "distribution.ranks=1"}), Lines());
}

TEST(Mistakes, TellWhatOneProcessPassesOver) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(remarks({"distribution.reduce=half"}),
            Lines{"distribution.reduce is \"half\" without effect: "
                  "distribution.mode is \"none\""});
  const std::string alone = " without effect: distribution.mode is \"none\"";
  EXPECT_EQ(remarks({"distribution.reduce=partial", "distribution.parts=2"}),
            (Lines{"distribution.reduce is \"partial\"" + alone,
                   "distribution.parts is 2" + alone}));
  EXPECT_EQ(remarks({"distribution.compat=singa"}), Lines{});
  EXPECT_EQ(remarks({"distribution.gradient_splits=[1]"}), Lines{});
  EXPECT_EQ(
      remarks({"distribution.mode=data_parallel", "distribution.reduce=half"}),
      Lines{});
  EXPECT_EQ(remarks({"distribution.mode=data_parallel",
                     "distribution.adasum.per=model"}),
            Lines{"distribution.adasum.per is \"model\" without effect: "
                  "distribution.reduce is \"plain\""});
}
