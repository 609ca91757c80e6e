// Numbers are read as text: the option parser would take 010 for 8, and 1e3 for
// no number.

#include "tool/number_options.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace gradus::cli {

CLI::Validator wholeNumber(uint64_t least, uint64_t most) {
  auto words = [=](const std::string &text) -> std::string {
    bool digits = !text.empty() &&
                  text.find_first_not_of("0123456789") == std::string::npos;
    uint64_t value = 0;
    bool fits = absl::SimpleAtoi(text, &value) && value <= most;
    if (digits && !fits)
      return absl::StrCat("expected a whole number of at most ", most,
                          ", found ", text);
    // The option parser would read 010 as 8.
    if (digits && value >= least && (text[0] != '0' || text == "0"))
      return "";
    return absl::StrCat("expected a whole number of ", least,
                        " or more, found ", text);
  };
  return CLI::Validator(words, "NUMBER");
}

CLI::Validator positive() { return wholeNumber(1); }

CLI::Validator notNegative() {
  auto words = [](const std::string &text) -> std::string {
    double value;
    if (absl::SimpleAtod(text, &value) && value >= 0)
      return "";
    return absl::StrCat("expected a number of 0 or more, found ", text);
  };
  return CLI::Validator(words, "NUMBER");
}

CLI::Validator secondsBetween(double least, double most) {
  auto words = [=](const std::string &text) -> std::string {
    double value;
    if (absl::SimpleAtod(text, &value) && value >= least && value <= most)
      return "";
    return absl::StrCat("expected a number of seconds from ", least, " to ",
                        most, ", found ", text);
  };
  return CLI::Validator(words, "SECONDS");
}

CLI::Validator betweenZeroAndOne() {
  auto words = [](const std::string &text) -> std::string {
    double value;
    if (absl::SimpleAtod(text, &value) && value > 0 && value < 1)
      return "";
    return absl::StrCat("expected a number between 0 and 1, found ", text);
  };
  return CLI::Validator(words, "PART");
}

} // namespace gradus::cli
