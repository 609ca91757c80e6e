// Keys of the recipe: for each its type, range, default and help, once. The
// reader of JSON checks a recipe by them, the schema and the reference are
// written from them, and settings structs are filled by them.
//
// A method declares its keys beside the pass that reads them and binds each to
// a member of its settings:
//
//   struct EmaSettings { double decay; bool warmup; };
//   Keys<EmaSettings> keys = {
//       Field{"decay", number, "0.999", "of the average"}.from(0).below(1)
//           .into(&EmaSettings::decay), ...
#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
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
class Value;
template <typename Settings> class Key;
template <typename Settings> using Keys = std::vector<Key<Settings>>;

/// Puts a value where it belongs in a settings struct.
using Store = std::function<void(const Value &value, void *settings)>;

/// One value that a key may have, or one type of a variant.
struct Choice {
  Choice(std::string_view name);
  Choice(std::string_view name, std::vector<Field> fields);
  template <typename Settings>
  Choice(std::string_view name, const Keys<Settings> &keys);

  std::string_view name;
  std::vector<Field> fields;
};

/// A default that holds where the rules of some framework apply.
struct FallbackUnder {
  std::string_view framework; // a value of the key `compat`
  std::string_view fallback;  // JSON
};

/// The numbers that a key may have: minimum <= number < limit.
struct NumberRange {
  static constexpr double kNone = std::numeric_limits<double>::infinity();
  /// The smallest number above 0 that a recipe may have.
  static constexpr double kSmallest = std::numeric_limits<float>::min();

  double minimum = -kNone, limit = kNone;

  bool isPositive() const { return minimum == kSmallest; }
};

/// The forms that may stand in place of a whole value.
struct ShortForms {
  std::string_view key = "";  // text instead of an object is its value
  bool element = false;       // of a list: one may stand alone
  bool isSwitch = false;      // true is short for {}; false: off, whatever else
                              // would switch it on
  std::string_view word = ""; // is 0
};

/// The member of a settings struct that a value goes into.
struct Binding {
  Store store = {};               // null: no struct has it
  const void *settings = nullptr; // the struct

  bool isIn(const void *type) const { return store && settings == type; }
};

struct Field {
  std::string_view key;
  Kind kind;
  std::string_view fallback; // JSON; "null" means that the key may be null
  std::string_view help;
  std::vector<Choice> choices = {};
  std::vector<Field> fields = {};
  NumberRange range = {};
  size_t length = 0;                // of a list; 0: any
  std::string_view definition = ""; // what the schema calls its values, to
                                    // describe them once
  ShortForms shortForms = {};
  bool hasFlag = false;    // command lines have it as --KEY
  bool isSettable = false; // a number, or a list of numbers, that may
                           // be set while training
  std::vector<FallbackUnder> elsewhere = {}; // in place of `fallback`
  Binding binding = {};
  Binding typeBinding = {}; // of a variant: for its type

  bool nullable() const { return fallback == "null"; }
  /// The default, as JSON, where the rules of `framework` apply.
  std::string_view fallbackUnder(std::string_view framework) const;

  Field among(std::vector<Choice> all) const {
    return with(&Field::choices, std::move(all));
  }
  Field of(std::vector<Field> all) const {
    return with(&Field::fields, std::move(all));
  }
  template <typename Settings> Field of(const Keys<Settings> &keys) const {
    return of(std::vector<Field>(keys.begin(), keys.end()));
  }
  Field from(double bound) const { return within({bound, range.limit}); }
  Field positive() const { return from(NumberRange::kSmallest); }
  Field below(double end) const { return within({range.minimum, end}); }
  Field times(size_t count) const { return with(&Field::length, count); }
  Field definedAs(std::string_view name) const {
    return with(&Field::definition, name);
  }
  Field shortFor(std::string_view key) const {
    ShortForms forms = shortForms;
    forms.key = key;
    return inShort(forms);
  }
  Field orOne() const {
    ShortForms forms = shortForms;
    forms.element = true;
    return inShort(forms);
  }
  Field switched() const {
    ShortForms forms = shortForms;
    forms.isSwitch = true;
    return inShort(forms);
  }
  /// A word that may stand in place of 0, of an integer.
  Field orWord(std::string_view word) const {
    ShortForms forms = shortForms;
    forms.word = word;
    return inShort(forms);
  }
  Field flagged() const { return with(&Field::hasFlag, true); }
  /// Another default where the rules of one of these frameworks apply.
  Field under(std::initializer_list<std::string_view> frameworks,
              std::string_view fallback) const;
  /// Its value goes into a member: of a number, a text, a list, an enum (by the
  /// number of the choice), std::optional (null), or a struct (the object's
  /// own keys). Defined in recipe/settings.h.
  template <typename Settings, typename Member>
  Key<Settings> into(Member Settings::*member) const;
  /// The same for a member of a part of the settings.
  template <typename Settings, typename Part, typename Member>
  Key<Settings> into(Part Settings::*part, Member Part::*member) const;
  /// The type of a variant goes into an enum of `Settings`, into which the
  /// keys of all its choices go, too.
  template <typename Settings, typename Type>
  Field typeInto(Type Settings::*member) const;

private:
  Field within(NumberRange bounds) const { return with(&Field::range, bounds); }
  Field inShort(ShortForms forms) const {
    return with(&Field::shortForms, forms);
  }
  template <typename Member>
  Field with(Member Field::*member, Member value) const {
    Field changed = *this;
    changed.*member = std::move(value);
    return changed;
  }
};

/// A field whose value has its place in `Settings`.
template <typename Settings> class Key : public Field {
  friend struct Field;
  explicit Key(Field field) : Field(std::move(field)) {}
};

template <typename Settings>
Choice::Choice(std::string_view name, const Keys<Settings> &keys)
    : Choice(name, std::vector<Field>(keys.begin(), keys.end())) {}

using Fields = std::vector<Field>;

inline Fields operator+(Fields one, const Fields &other) {
  one.insert(one.end(), other.begin(), other.end());
  return one;
}

/// A list of patterns of names.
Field patterns(std::string_view key, std::string_view fallback,
               std::string_view help);
/// The key that names the framework whose rules hold, for a part of the recipe.
Field compat(std::string_view help);
/// The same for the whole recipe.
const Field &compatKey();

} // namespace gradus::recipe
