// Words of other tools, for errors that suggest ours; recipe/synonyms.def has
// the table. It needs the standard library alone, so that the tool's run side,
// which has no LLVM, suggests the same.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gradus {

/// A word with its meaning here, which is a key of the recipe
/// ("optimizer.learning_rate"), a key with a value ("precision=bf16"), or an
/// option ("train --epochs").
struct Synonym {
  std::string_view word, meaning;

  bool isSettable() const; // while training
  bool isOption() const { return command().size() < meaning.size(); }
  /// The command of an option, and the option: "train", "--epochs".
  std::string_view command() const {
    return meaning.substr(0, meaning.find(" --"));
  }
  std::string_view option() const {
    return meaning.substr(command().size() + 1);
  }
  /// The key, and its value; empty where the key alone is meant.
  std::string_view key() const { return meaning.substr(0, meaning.find('=')); }
  std::string_view value() const {
    size_t equals = meaning.find('=');
    return equals == meaning.npos ? "" : meaning.substr(equals + 1);
  }
};

inline constexpr Synonym kSynonyms[] = {
#define SYNONYM(word, meaning) {word, meaning},
#include "recipe/synonyms.def"
};

/// A word for which there is nothing to say here, and why.
struct NeedlessWord {
  std::string_view word, why;
};

inline constexpr NeedlessWord kNeedlessWords[] = {
#define NOTHING(word, why) {word, why},
#include "recipe/synonyms.def"
};

/// A word of another tool whose number is another one here.
struct ConvertedWord {
  std::string_view word, value;
};

inline constexpr ConvertedWord kConvertedWords[] = {
#define CONVERTED(word, value) {word, value},
#include "recipe/synonyms.def"
};

/// A key that is no single value, and a setting of something in it.
struct ObjectKey {
  std::string_view key, setting;
};

inline constexpr ObjectKey kObjectKeys[] = {
#define OBJECT(key, setting) {key, setting},
#include "recipe/synonyms.def"
};

/// Keys of synonyms that may be set while training.
inline constexpr std::string_view kSettableKeys[] = {
#define SETTABLE(key) key,
#include "recipe/synonyms.def"
};

inline bool Synonym::isSettable() const {
  for (std::string_view each : kSettableKeys)
    if (each == meaning)
      return true;
  return false;
}

/// The letters and digits of a word, in lower case.
inline std::string bareWord(std::string_view word) {
  std::string bare;
  for (char c : word)
    if (c >= 'A' && c <= 'Z')
      bare += static_cast<char>(c + 32);
    else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
      bare += c;
  return bare;
}

/// The synonyms that a word is, in the order of the table.
inline std::vector<Synonym> synonymsOf(std::string_view word) {
  std::vector<Synonym> found;
  std::string bare = bareWord(word);
  for (const Synonym &each : kSynonyms)
    if (bareWord(each.word) == bare)
      found.push_back(each);
  return found;
}

/// Says what a word's number becomes here; nothing where it stays the same.
inline std::string_view convertedValue(std::string_view word) {
  std::string bare = bareWord(word);
  for (const ConvertedWord &each : kConvertedWords)
    if (bareWord(each.word) == bare)
      return each.value;
  return "";
}

/// Says why there is nothing to say for a word; nothing for other words.
inline std::string_view whyNeedless(std::string_view word) {
  std::string bare = bareWord(word);
  for (const NeedlessWord &each : kNeedlessWords)
    if (bareWord(each.word) == bare)
      return each.why;
  return "";
}

} // namespace gradus
