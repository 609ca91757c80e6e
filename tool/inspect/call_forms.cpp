// The device is asked as it is when a plan is loaded.

#include "tool/inspect/call_forms.h"

#include "messages/json_text.h"
#include "messages/printable.h"
#include "runtime/flat.h"
#include "runtime/session/choose_plan.h"
#include "tool/failure.h"
#include "tool/text.h"

using namespace gradus::runtime;
using nlohmann::ordered_json;

namespace gradus::cli {

ordered_json callFormsOf(const Artifact &artifact, const std::string &device) {
  auto opened = openDeviceFor(artifact.header(), device);
  check(at(opened.status(), artifact.path()));
  auto plan = choosePlan(artifact.header(), **opened);
  check(at(plan.status(), artifact.path()));
  auto forms = (*opened)->forms(artifact, **plan);
  check(at(forms.status(), artifact.path()));
  ordered_json calls = ordered_json::array();
  for (const CallForm &form : *forms) {
    calls.push_back(
        {{"call", form.call}, {"count", form.count}, {"form", form.form}});
    if (!form.why.empty())
      calls.back()["why"] = form.why;
  }
  return {{"device", device},
          {"target", textOf((*plan)->target())},
          {"calls", std::move(calls)}};
}

std::string callFormsText(const ordered_json &forms) {
  std::string of = "plan " + forms["target"].get<std::string>() + " on " +
                   forms["device"].get<std::string>();
  if (forms["calls"].empty())
    return printable(of) +
           ": no call of a library has more than one form there\n";
  Table table(
      {"call on " + forms["device"].get<std::string>(), "commands", "form"});
  for (const ordered_json &call : forms["calls"])
    table.row(
        {call["call"].get<std::string>(), jsonText(call["count"]),
         call["form"].get<std::string>() +
             (call.contains("why") ? " (" + call["why"].get<std::string>() + ")"
                                   : "")});
  return table.text();
}

} // namespace gradus::cli
