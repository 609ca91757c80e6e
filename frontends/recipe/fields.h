// The table of recipe keys: their types, ranges, defaults and what is built.
// Validation, defaults and the JSON schema all come from it.

#pragma once

#include <cstddef>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

namespace gradus::recipe {

enum class Kind {
  boolean,
  integer,
  number,
  text,
  bytes,   // a number of bytes, or text such as "1.5GiB"; read as a number
  choice,  // one of `choices`
  object,  // with `fields`
  variant, // an object whose `type` picks one of `choices`, each with its
           // fields
  list,    // of `fields[0]`
  named,   // an object of `fields[0]` under names of the user's
};

struct Field;

/// One value that a key may have, or one type of a variant.
struct Choice {
  Choice(std::string_view name);
  Choice(std::string_view name, std::vector<Field> fields, bool built = true);

  std::string_view name;
  std::vector<Field> fields;
  bool built = true;
};

struct Field {
  static constexpr double kNone = std::numeric_limits<double>::infinity();

  std::string_view key;
  Kind kind;
  std::string_view fallback; // JSON; "null" means that the key may be null
  std::string_view help;
  std::vector<Choice> choices = {};
  std::vector<Field> fields = {};
  double minimum = -kNone, limit = kNone; // minimum <= number < limit
  size_t length = 0;                      // of a list; 0: any
  std::string_view definition = ""; // what the schema calls its values, to
                                    // describe them once
  std::string_view shortKey = "";   // text instead of an object is its value
  bool single = false;              // of a list: one element may stand alone
  bool isSwitch = false;            // true is short for {}; false: off,
                                    // whatever else would switch it on

  bool nullable() const { return fallback == "null"; }

  Field among(std::vector<Choice> all) const {
    return with(&Field::choices, std::move(all));
  }
  Field of(std::vector<Field> all) const {
    return with(&Field::fields, std::move(all));
  }
  Field from(double least) const { return with(&Field::minimum, least); }
  Field below(double end) const { return with(&Field::limit, end); }
  Field times(size_t count) const { return with(&Field::length, count); }
  Field definedAs(std::string_view name) const {
    return with(&Field::definition, name);
  }
  Field shortFor(std::string_view key) const {
    return with(&Field::shortKey, key);
  }
  Field orOne() const { return with(&Field::single, true); }
  Field switched() const { return with(&Field::isSwitch, true); }

private:
  template <typename Member>
  Field with(Member Field::*member, Member value) const {
    Field changed = *this;
    changed.*member = std::move(value);
    return changed;
  }
};

using Fields = std::vector<Field>;

inline Fields operator+(Fields one, const Fields &other) {
  one.insert(one.end(), other.begin(), other.end());
  return one;
}

/// The whole recipe, as one object.
const Field &recipeField();

} // namespace gradus::recipe
