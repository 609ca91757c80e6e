// Settings structs, filled from the recipe of a program. Passes read these:
// every member has its value, that of the recipe or the default of its key, so
// that no pass has a default or an error of its own.
//
// A recipe is checked before it is read: that of a file when it is read, that
// of a program's text by the verifier in gradus-opt (ir/recipe_check.h), that
// of the builder by its finish().
#pragma once

#include "ir/gradus.h"
#include "recipe/field.h"

#include <array>
#include <map>
#include <optional>
#include <string>
#include <type_traits>

namespace gradus::recipe {

/// The address of this is the identity of a settings struct.
template <typename Settings> inline constexpr char settingsId = 0;

/// A JSON text as an attribute: numbers become f64 or i64, null a unit.
mlir::Attribute attributeOf(std::string_view json, mlir::MLIRContext *context);

/// A number with the path of its key, `optimizer.betas[0]`, and the range that
/// the key allows: minimum <= number < limit.
struct Number {
  double initial = 0;
  std::string path = {};
  double minimum = -NumberRange::kNone, limit = NumberRange::kNone;
};

/// Whether members of a type are numbers that may be set while training.
template <typename T> inline constexpr bool holdsNumbers = false;
template <> inline constexpr bool holdsNumbers<Number> = true;
template <typename T>
inline constexpr bool holdsNumbers<std::optional<T>> = holdsNumbers<T>;
template <typename T, size_t N>
inline constexpr bool holdsNumbers<std::array<T, N>> = holdsNumbers<T>;

/// A value of the recipe with its field; read into a member of that type.
class Value {
public:
  Value() = default; // nothing: null
  /// `framework` is the one whose rules apply where defaults differ, `path`
  /// where the recipe has the value.
  Value(const Field &field, mlir::Attribute given, std::string framework,
        std::string path, mlir::MLIRContext *context);

  void to(bool &flag) const;
  void to(int64_t &number) const;
  void to(double &number) const;
  void to(std::string &text) const;
  void to(Number &number) const;
  /// A value that is read later, such as that of a variant.
  void to(Value &itself) const { itself = *this; }
  template <typename T> void to(std::vector<T> &list) const;
  /// The first N elements of a list.
  template <typename T, size_t N> void to(std::array<T, N> &list) const;
  template <typename T> void to(std::optional<T> &value) const;
  /// Entries are in the order of their names.
  template <typename T> void to(std::map<std::string, T> &named) const;
  /// An enum, by the number of the choice; a struct, by the object's keys.
  template <typename T> void to(T &value) const;

  bool isNull() const;
  /// The number of the choice among the field's; 0 where it is none.
  size_t choice() const;
  std::string_view choiceName() const { return field_->choices[choice()].name; }
  const std::string &where() const { return path_; }
  /// The value of a key of an object; null where it has no such key.
  Value at(std::string_view key) const;
  /// The settings that an object's keys are bound to.
  template <typename Settings> Settings as() const {
    Settings settings;
    to(settings);
    return settings;
  }

private:
  /// Fills the members of settings of a type with the keys of the object.
  void fill(void *settings, const void *type) const;
  std::vector<Value> elements() const;
  std::vector<std::pair<std::string, Value>> members() const;
  const std::vector<Field> &fields() const; // of an object
  Value inside(const Field &field) const;
  Value at(const Field &field, mlir::Attribute given, std::string path) const {
    return {field, given, framework_, std::move(path), context_};
  }

  const Field *field_ = nullptr;
  mlir::Attribute value_; // given, or the default; null for nothing
  std::string framework_, path_;
  mlir::MLIRContext *context_ = nullptr;
};

template <typename T> void Value::to(std::vector<T> &list) const {
  list.clear();
  for (const Value &element : elements())
    element.to(list.emplace_back());
}

template <typename T, size_t N> void Value::to(std::array<T, N> &list) const {
  std::vector<T> all;
  to(all);
  for (size_t i = 0; i < N && i < all.size(); ++i)
    list[i] = all[i];
}

template <typename T> void Value::to(std::optional<T> &value) const {
  value.reset();
  if (!isNull())
    to(value.emplace());
}

template <typename T> void Value::to(std::map<std::string, T> &named) const {
  named.clear();
  for (const auto &[name, value] : members())
    value.to(named[name]);
}

template <typename T> void Value::to(T &value) const {
  if constexpr (std::is_enum_v<T>)
    value = static_cast<T>(choice());
  else
    fill(&value, &settingsId<T>);
}

template <typename Settings, typename Member>
Key<Settings> Field::into(Member Settings::*member) const {
  Field bound = *this;
  bound.binding.settings = &settingsId<Settings>;
  bound.isSettable = holdsNumbers<Member>;
  bound.binding.store = [member](const Value &value, void *settings) {
    value.to(static_cast<Settings *>(settings)->*member);
  };
  return Key<Settings>(std::move(bound));
}

template <typename Settings, typename Part, typename Member>
Key<Settings> Field::into(Part Settings::*part, Member Part::*member) const {
  Field bound = *this;
  bound.binding.settings = &settingsId<Settings>;
  bound.isSettable = holdsNumbers<Member>;
  bound.binding.store = [part, member](const Value &value, void *settings) {
    value.to(static_cast<Settings *>(settings)->*part.*member);
  };
  return Key<Settings>(std::move(bound));
}

template <typename Settings, typename Type>
Field Field::typeInto(Type Settings::*member) const {
  Field bound = *this;
  bound.typeBinding.settings = &settingsId<Settings>;
  bound.typeBinding.store = [member](const Value &value, void *settings) {
    value.to(static_cast<Settings *>(settings)->*member);
  };
  return bound;
}

/// The recipe's value of one of its own keys, or of a key in one of its
/// objects; the default if it does not say.
Value valueOf(ProgramOp program, const Field &field,
              llvm::StringRef object = "");

/// A key of the recipe whose object is read into `Settings`, such as that of a
/// training method.
template <typename Settings> struct Method {
  Field field;

  /// Returns the settings; nothing where the key is null or false.
  std::optional<Settings> of(ProgramOp program) const {
    std::optional<Settings> settings;
    valueOf(program, field).to(settings);
    return settings;
  }
};

/// An error or a warning at the program about what only the model can tell of a
/// key: it begins with `recipe: PATH `.
mlir::InFlightDiagnostic keyError(ProgramOp program, const llvm::Twine &path);
mlir::InFlightDiagnostic keyWarning(ProgramOp program, const llvm::Twine &path);

/// Some of the recipe's own keys, read into one struct: those bound to it.
template <typename Settings, typename Fields>
Settings read(ProgramOp program, const Fields &keys) {
  Settings settings;
  for (const Field &field : keys)
    if (field.binding.isIn(&settingsId<Settings>))
      field.binding.store(valueOf(program, field), &settings);
  return settings;
}

template <typename Settings>
Settings read(ProgramOp program, const Keys<Settings> &keys) {
  return read<Settings, Keys<Settings>>(program, keys);
}

} // namespace gradus::recipe
