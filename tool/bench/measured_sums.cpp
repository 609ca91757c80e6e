// Asks the thread that communicates for its times.

#include "tool/bench/measured_sums.h"

#include "runtime/collectives/rounds.h"
#include "tool/text.h"

#include "absl/strings/str_cat.h"

#include <algorithm>

using namespace gradus::runtime;

namespace gradus::cli {

SumCosts costsOf(const std::vector<MeasuredSum> &sums) {
  SumCosts costs;
  int64_t before = 0; // what was begun meanwhile waited for its turn
  for (const MeasuredSum &sum : sums) {
    costs.bytesSent += sum.bytesSent;
    costs.transferred +=
        static_cast<double>(sum.ended - std::max(before, sum.begun)) * 1e-9;
    before = sum.ended;
    costs.exposed += static_cast<double>(sum.waited) * 1e-9;
  }
  costs.hidden = std::max(0.0, costs.transferred - costs.exposed);
  return costs;
}

nlohmann::ordered_json SumCosts::toJson() const {
  return {{"bytes_sent", bytesSent},
          {"ms_transferred", transferred * 1e3},
          {"ms_hidden", hidden * 1e3},
          {"ms_exposed", exposed * 1e3}};
}

std::string textOfSums(const nlohmann::ordered_json &sums) {
  auto time = [&](const char *key) {
    return durationText(sums[key].get<double>() * 1e-3);
  };
  return absl::StrCat(
      "rank 0 sends ", bytesText(sums["bytes_sent"].get<double>()), "; ",
      time("ms_transferred"), " under way, of them ", time("ms_hidden"),
      " hidden, ", time("ms_exposed"), " exposed");
}

uint64_t MeasuredSums::begin(const Collective &collective) {
  uint64_t number = thread_->begin(collective);
  open_.push_back({number,
                   {.name = inWords(collective),
                    .bytesSent = bytesSent(collective, ranks(), rank())}});
  return number;
}

Status MeasuredSums::finish(uint64_t number) {
  auto began = Clock::now();
  Status status = thread_->finish(number);
  auto open = std::find_if(open_.begin(), open_.end(), [&](const Open &each) {
    return each.number == number;
  });
  if (!status.ok() || open == open_.end())
    return status;
  auto at = [&](Clock::time_point time) {
    return std::chrono::nanoseconds(time - first_).count();
  };
  auto times = thread_->timesOf(number);
  open->sum.begun = at(times.begun);
  open->sum.started = at(times.started);
  open->sum.ended = at(times.ended);
  open->sum.waited = std::max<int64_t>(0, open->sum.ended - at(began));
  ended_.push_back(std::move(open->sum));
  open_.erase(open);
  return status;
}

} // namespace gradus::cli
