// Gradient freezing as MindSpore plans it: the same groups, the same step for
// step, from the same draws.

#include "vector_file.h"

#include "passes/local/freeze_plan.h"

namespace gradus::vectors {

void checkFreezeGroups(const VectorFile &file) {
  for (const Json &each : file.expected()["cases"]) {
    std::vector<FrozenParameter> parameters;
    for (std::string name : file.inputs()["networks"][each["network"]])
      parameters.push_back({name, true});
    std::vector<int64_t> sizes;
    std::vector<std::string> first;
    for (int64_t cut :
         freezeCutsOfMindSpore(parameters, each["param_groups"])) {
      sizes.push_back(parameters.size() - cut);
      first.push_back(parameters[cut].name);
    }
    EXPECT_EQ(sizes, each["group_sizes"].get<std::vector<int64_t>>()) << each;
    EXPECT_EQ(first, each["first_parameter"].get<std::vector<std::string>>());
  }
}

void checkFreezeSequence(const VectorFile &file) {
  for (const Json &each : file.expected()["cases"]) {
    FreezeSchedule schedule;
    schedule.groups = each["param_groups"];
    schedule.type = each["freeze_type"];
    schedule.p = each["freeze_p"];
    schedule.totalSteps = each["total_steps"];
    schedule.asMindSpore = true;
    std::vector<double> draws =
        each.value("uniform_draws", std::vector<double>());
    size_t next = 0;
    std::vector<int64_t> steps = freezeSequence(schedule, [&] {
      EXPECT_LT(next, draws.size());
      return next < draws.size() ? draws[next++] : 0;
    });
    EXPECT_EQ(next, draws.size());
    EXPECT_EQ(steps.size(), each["length"].get<size_t>()) << each;
    auto expected = each["sequence"].get<std::vector<int64_t>>();
    steps.resize(std::min(steps.size(), expected.size()));
    EXPECT_EQ(steps, expected) << each;
  }
}

} // namespace gradus::vectors
