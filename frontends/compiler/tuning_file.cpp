// Every entry of a file is checked: a wrong choice would be ignored silently
// when the artifact runs.

#include "frontends/compiler/tuning_file.h"

#include "frontends/compiler/text_file.h"
#include "messages/json_text.h"
#include "messages/message.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

using nlohmann::ordered_json;

namespace gradus::compiler {
namespace {

constexpr int kFormat = 1;

/// The text at a key; `where` is a place in errors: "card.json: choices[2]".
absl::StatusOr<std::string> textAt(const ordered_json &object, const char *key,
                                   const std::string &where) {
  if (!object.contains(key))
    return invalid(where, ": has no ", key, ", expected a text");
  if (!object[key].is_string() || object[key].get<std::string>().empty())
    return invalid(where, ": ", key, " is ", jsonText(object[key]),
                   ", expected a text");
  return object[key].get<std::string>();
}

/// A library and its version as a running plan writes it: "cudnn 91900".
absl::StatusOr<std::string> libraryAt(const ordered_json &object,
                                      const std::string &where) {
  GRADUS_ASSIGN_OR_RETURN(std::string library,
                          textAt(object, "library", where));
  size_t space = library.find(' ');
  bool isGood =
      space != std::string::npos && space > 0 && space + 1 < library.size() &&
      library.find_first_not_of("0123456789", space + 1) == std::string::npos;
  if (!isGood)
    return invalid(where, ": library is \"", library,
                   "\", expected a name and the number of its version, such "
                   "as \"cudnn 91900\"");
  return library;
}

/// The time at a key; times are for people, and may be left out.
absl::StatusOr<double> timeAt(const ordered_json &object, const char *key,
                              const std::string &where) {
  if (!object.contains(key))
    return 0.0;
  if (!object[key].is_number() || object[key].get<double>() < 0)
    return invalid(where, ": ", key, " is ", jsonText(object[key]),
                   ", expected microseconds");
  return object[key].get<double>();
}

absl::StatusOr<ordered_json> parsed(const std::string &path) {
  std::optional<std::string> text = textOfFile(path);
  if (!text)
    return invalid(path, ": cannot be read, expected a file that `gradus tune` "
                         "has written");
  if (isTooDeep(*text))
    return invalid(path, ": is nested deeper than any file that `gradus tune` "
                         "writes");
  ordered_json json;
  try {
    json = ordered_json::parse(*text);
  } catch (const ordered_json::exception &error) {
    return invalid(
        path, ": expected JSON, as `gradus tune` writes it: ", wordsOf(error));
  }
  if (!json.is_object())
    return invalid(path, ": found ", json.type_name(),
                   ", expected an object, as `gradus tune` writes it");
  if (!json.contains("format"))
    return invalid(path, ": has no format, expected ", kFormat,
                   ", as `gradus tune` writes it");
  if (json["format"] != kFormat)
    return invalid(path, ": format is ", jsonText(json["format"]),
                   ", expected ", kFormat);
  return json;
}

absl::StatusOr<MeasuredChoice> choiceOf(const ordered_json &json,
                                        const std::string &where) {
  if (!json.is_object())
    return invalid(where, ": found ", jsonText(json), ", expected an object");
  MeasuredChoice choice;
  GRADUS_ASSIGN_OR_RETURN(choice.call, textAt(json, "call", where));
  GRADUS_ASSIGN_OR_RETURN(choice.library, libraryAt(json, where));
  GRADUS_ASSIGN_OR_RETURN(choice.algorithm, textAt(json, "algorithm", where));
  GRADUS_ASSIGN_OR_RETURN(choice.microseconds,
                          timeAt(json, "microseconds", where));
  GRADUS_ASSIGN_OR_RETURN(choice.defaultMicroseconds,
                          timeAt(json, "default_microseconds", where));
  return choice;
}

auto isOf(const std::string &call) {
  return [&call](const MeasuredChoice &choice) { return choice.call == call; };
}

} // namespace

absl::StatusOr<TuningFile> readTuningFile(const std::string &path) {
  GRADUS_ASSIGN_OR_RETURN(ordered_json json, parsed(path));
  TuningFile file;
  GRADUS_ASSIGN_OR_RETURN(file.card, textAt(json, "card", path));
  if (!json.contains("choices"))
    return invalid(path, ": has no choices, expected a list");
  if (!json["choices"].is_array())
    return invalid(path, ": choices is ", json["choices"].type_name(),
                   ", expected a list");
  for (const ordered_json &each : json["choices"]) {
    std::string where = message(path, ": choices[", file.choices.size(), "]");
    GRADUS_ASSIGN_OR_RETURN(MeasuredChoice choice, choiceOf(each, where));
    if (std::any_of(file.choices.begin(), file.choices.end(),
                    isOf(choice.call)))
      return invalid(where, ": '", choice.call,
                     "' stands twice; a call has one choice");
    file.choices.push_back(std::move(choice));
  }
  return file;
}

void TuningFile::update(const std::vector<MeasuredChoice> &measured) {
  for (const MeasuredChoice &call : measured) {
    std::erase_if(choices, isOf(call.call));
    if (!call.algorithm.empty())
      choices.push_back(call);
  }
}

std::string TuningFile::text() const {
  ordered_json all = ordered_json::array();
  for (const MeasuredChoice &choice : choices)
    all.push_back({{"call", choice.call},
                   {"library", choice.library},
                   {"algorithm", choice.algorithm},
                   {"microseconds", choice.microseconds},
                   {"default_microseconds", choice.defaultMicroseconds}});
  return jsonText(ordered_json(
                      {{"format", kFormat}, {"card", card}, {"choices", all}}),
                  2) +
         "\n";
}

absl::StatusOr<std::vector<TunedChoice>>
readTuningFiles(const std::vector<std::string> &paths) {
  std::map<std::pair<std::string, std::string>, TunedChoice> all;
  for (const std::string &path : paths) {
    GRADUS_ASSIGN_OR_RETURN(TuningFile file, readTuningFile(path));
    for (const MeasuredChoice &choice : file.choices)
      all[{choice.call, file.card}] = {choice.call, file.card, choice.library,
                                       choice.algorithm};
  }
  std::vector<TunedChoice> choices;
  for (auto &[key, choice] : all)
    choices.push_back(std::move(choice));
  return choices;
}

} // namespace gradus::compiler
