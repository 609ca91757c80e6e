// Every entry of a file is checked: a wrong choice would be ignored silently
// when the artifact runs.

#include "tool/tune/tuning_file.h"

#include "messages/json_text.h"
#include "tool/failure.h"
#include "tool/text_file.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

using namespace gradus::runtime;
using nlohmann::ordered_json;

namespace gradus::cli {
namespace {

constexpr int kFormat = 1;

/// The text at a key; `where` is a place in errors: "card.json: choices[2]".
std::string textAt(const ordered_json &object, const char *key,
                   const std::string &where) {
  if (!object.contains(key))
    throw badInput(where, ": has no ", key, ", expected a text");
  if (!object[key].is_string() || object[key].get<std::string>().empty())
    throw badInput(where, ": ", key, " is ", jsonText(object[key]),
                   ", expected a text");
  return object[key].get<std::string>();
}

/// A library and its version as a running plan writes it: "cudnn 91900".
std::string libraryAt(const ordered_json &object, const std::string &where) {
  std::string library = textAt(object, "library", where);
  size_t space = library.find(' ');
  bool isGood =
      space != std::string::npos && space > 0 && space + 1 < library.size() &&
      library.find_first_not_of("0123456789", space + 1) == std::string::npos;
  if (!isGood)
    throw badInput(where, ": library is \"", library,
                   "\", expected a name and the number of its version, such "
                   "as \"cudnn 91900\"");
  return library;
}

/// The time at a key; times are for people, and may be left out.
double timeAt(const ordered_json &object, const char *key,
              const std::string &where) {
  if (!object.contains(key))
    return 0;
  if (!object[key].is_number() || object[key].get<double>() < 0)
    throw badInput(where, ": ", key, " is ", jsonText(object[key]),
                   ", expected microseconds");
  return object[key].get<double>();
}

ordered_json parsed(const std::string &path) {
  std::optional<std::string> text = textOfFile(path);
  if (!text)
    throw badInput(path, ": cannot be read, expected a file that `gradus tune` "
                         "has written");
  if (isTooDeep(*text))
    throw badInput(path, ": is nested deeper than any file that `gradus tune` "
                         "writes");
  ordered_json json;
  try {
    json = ordered_json::parse(*text);
  } catch (const ordered_json::exception &error) {
    throw badInput(
        path, ": expected JSON, as `gradus tune` writes it: ", wordsOf(error));
  }
  if (!json.is_object())
    throw badInput(path, ": found ", json.type_name(),
                   ", expected an object, as `gradus tune` writes it");
  if (!json.contains("format"))
    throw badInput(path, ": has no format, expected ", kFormat,
                   ", as `gradus tune` writes it");
  if (json["format"] != kFormat)
    throw badInput(path, ": format is ", jsonText(json["format"]),
                   ", expected ", kFormat);
  return json;
}

TunedCall choiceOf(const ordered_json &json, const std::string &where) {
  if (!json.is_object())
    throw badInput(where, ": found ", jsonText(json), ", expected an object");
  TunedCall choice;
  choice.call = textAt(json, "call", where);
  choice.library = libraryAt(json, where);
  choice.algorithm = textAt(json, "algorithm", where);
  choice.microseconds = timeAt(json, "microseconds", where);
  choice.defaultMicroseconds = timeAt(json, "default_microseconds", where);
  return choice;
}

auto isOf(const std::string &call) {
  return [&call](const TunedCall &choice) { return choice.call == call; };
}

} // namespace

TuningFile readTuningFile(const std::string &path) {
  ordered_json json = parsed(path);
  TuningFile file;
  file.card = textAt(json, "card", path);
  if (!json.contains("choices"))
    throw badInput(path, ": has no choices, expected a list");
  if (!json["choices"].is_array())
    throw badInput(path, ": choices is ", json["choices"].type_name(),
                   ", expected a list");
  for (const ordered_json &each : json["choices"]) {
    std::string where = inWords(path, ": choices[", file.choices.size(), "]");
    TunedCall choice = choiceOf(each, where);
    if (std::any_of(file.choices.begin(), file.choices.end(),
                    isOf(choice.call)))
      throw badInput(where, ": '", choice.call,
                     "' stands twice; a call has one choice");
    file.choices.push_back(std::move(choice));
  }
  return file;
}

void TuningFile::update(const std::vector<TunedCall> &measured) {
  for (const TunedCall &call : measured) {
    std::erase_if(choices, isOf(call.call));
    if (!call.algorithm.empty())
      choices.push_back(call);
  }
}

std::string TuningFile::text() const {
  ordered_json all = ordered_json::array();
  for (const TunedCall &choice : choices)
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

std::vector<compiler::TunedChoice>
readTuningFiles(const std::vector<std::string> &paths) {
  std::map<std::pair<std::string, std::string>, compiler::TunedChoice> all;
  for (const std::string &path : paths) {
    TuningFile file = readTuningFile(path);
    for (const TunedCall &choice : file.choices)
      all[{choice.call, file.card}] = {choice.call, file.card, choice.library,
                                       choice.algorithm};
  }
  std::vector<compiler::TunedChoice> choices;
  for (auto &[key, choice] : all)
    choices.push_back(std::move(choice));
  return choices;
}

} // namespace gradus::cli
