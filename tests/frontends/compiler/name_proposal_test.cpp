// Which rules are proposed for names that differ by what stands in front.

#include "frontends/compiler/name_proposal.h"

#include <gmock/gmock.h>

using namespace gradus::compiler;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

/// These names of a small model, each of a shape of its own, behind `prefix`.
std::vector<NamedShape> tensors(const std::string &prefix,
                                std::vector<std::string> names = {
                                    "stem.weight", "stem.bias",
                                    "blocks.0.conv.weight", "fc.weight"}) {
  std::vector<NamedShape> all;
  int64_t size = 1;
  for (const std::string &name : names)
    all.push_back({prefix + name, {size++}});
  return all;
}

std::vector<std::string> rulesFor(const std::vector<NamedShape> &file,
                                  const std::vector<NamedShape> &model) {
  return proposeNames(file, model).rules;
}

} // namespace

TEST(NameProposal, TakesAwayWhatAWrapperPutInFront) {
  for (const char *prefix : {"module.", "_orig_mod.", "resnet.", "a.b."}) {
    NameProposal proposal = proposeNames(tensors(prefix), tensors(""));
    EXPECT_THAT(proposal.rules, ElementsAre(std::string(prefix) + "*=*"));
    EXPECT_EQ(proposal.fits, 4u);
  }
}

TEST(NameProposal, PutsInFrontWhatTheModelHas) {
  EXPECT_THAT(rulesFor(tensors(""), tensors("backbone.")),
              ElementsAre("*=backbone.*"));
  EXPECT_THAT(rulesFor(tensors("encoder."), tensors("backbone.")),
              ElementsAre("encoder.*=backbone.*"));
}

TEST(NameProposal, LeavesNamesAloneThatFit) {
  EXPECT_THAT(rulesFor(tensors(""), tensors("")), IsEmpty());
  std::vector<NamedShape> file = tensors("");
  file[0].name = "module.stem.weight";
  EXPECT_THAT(rulesFor(file, tensors("")), ElementsAre("module.*=*"));
}

TEST(NameProposal, TakesNoNameFromItsPlace) {
  NameProposal proposal =
      proposeNames({{"b.weight", {2}}}, {{"m.b.weight", {2}}}, {"a.weight"});
  EXPECT_THAT(proposal.rules, ElementsAre("b.*=m.b.*"))
      << "*=m.* would rename a.weight, too";
  EXPECT_THAT(proposeNames({{"b.weight", {2}}}, {{"m.b.weight", {2}}},
                           {"a.weight", "b.bias"})
                  .rules,
              IsEmpty());
  EXPECT_THAT(rulesFor({{"a.weight", {1}}, {"b.weight", {2}}},
                       {{"a.weight", {1}}, {"m.b.weight", {2}}}),
              ElementsAre("b.*=m.b.*"));
}

TEST(NameProposal, AddsRulesForParts) {
  std::vector<NamedShape> file = {{"resnet.a.weight", {1}},
                                  {"resnet.b.weight", {2}},
                                  {"classifier.1.weight", {3}}};
  std::vector<NamedShape> model = {
      {"a.weight", {1}}, {"b.weight", {2}}, {"head.weight", {3}}};
  NameProposal proposal = proposeNames(file, model);
  EXPECT_THAT(proposal.rules,
              ElementsAre("classifier.1.*=head.*", "resnet.*=*"));
  EXPECT_EQ(proposal.fits, 3u);
}

TEST(NameProposal, TakesOnlyTensorsOfOneShape) {
  EXPECT_THAT(rulesFor({{"m.fc.weight", {6, 64}}}, {{"fc.weight", {4, 64}}}),
              IsEmpty());
  EXPECT_THAT(rulesFor({{"alpha", {1}}}, {{"beta", {1}}}), IsEmpty());
}

TEST(NameProposal, IsWrittenAsOptions) {
  EXPECT_EQ(mapOptions("--init-map", {"resnet.*=*", "fc.*="}),
            "--init-map 'resnet.*=*' --init-map 'fc.*='");
  EXPECT_EQ(mapOptions("--init-map", {"w'; touch x; '.*="}),
            R"(--init-map 'w'\''; touch x; '\''.*=')")
      << "a file's names may come from anybody";
}
