// Comma-separated text with a header row (RFC 4180): cells may stand in quotes,
// with "" for a quote, and then contain commas and line ends.
//
// A cell that is not a number is remembered with its line and column, and
// reported only if an input reads it: a file may have columns that nobody uses.

#include "training/data/formats.h"

#include "runtime/status.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include <cmath>
#include <set>

using namespace gradus::runtime;

namespace gradus::data {
namespace {

constexpr double kMostExact = 0x1p53;

/// Iterates over the rows of a file.
class Rows {
public:
  explicit Rows(std::span<const uint8_t> bytes)
      : text_(reinterpret_cast<const char *>(bytes.data()), bytes.size()) {
    if (text_.substr(0, 3) == "\xef\xbb\xbf") // byte order mark
      at_ = 3;
  }

  /// Returns false after the last row; skips empty lines.
  runtime::StatusOr<bool> next(std::vector<std::string> &cells);
  /// The line, from 1, where the row that next() returned begins.
  int64_t line() const { return rowLine_; }

private:
  bool skipLineEnd();
  runtime::Status readCell(std::string &cell);
  runtime::Status readQuoted(std::string &cell);

  std::string_view text_;
  size_t at_ = 0;
  int64_t line_ = 1, rowLine_ = 1;
};

bool Rows::skipLineEnd() {
  if (at_ < text_.size() && text_[at_] == '\r' && at_ + 1 < text_.size() &&
      text_[at_ + 1] == '\n')
    ++at_;
  if (at_ >= text_.size() || text_[at_] != '\n')
    return false;
  ++at_;
  ++line_;
  return true;
}

runtime::StatusOr<bool> Rows::next(std::vector<std::string> &cells) {
  while (skipLineEnd()) {
  }
  if (at_ >= text_.size())
    return false;
  rowLine_ = line_;
  size_t count = 0;
  do {
    if (count == cells.size())
      cells.emplace_back();
    GRADUS_TRY(readCell(cells[count++]));
  } while (at_ < text_.size() && text_[at_] == ',' && ++at_);
  cells.resize(count);
  if (at_ < text_.size() && !skipLineEnd())
    return invalid("line ", line_, ": expected a comma behind a quoted cell");
  return true;
}

runtime::Status Rows::readCell(std::string &cell) {
  cell.clear();
  if (at_ < text_.size() && text_[at_] == '"')
    return readQuoted(cell);
  size_t end = std::min(text_.find_first_of(",\n", at_), text_.size());
  cell.assign(text_.substr(at_, end - at_));
  if (end < text_.size() && text_[end] == '\n' && cell.ends_with('\r')) {
    cell.pop_back();
    --end;
  }
  at_ = end;
  if (cell.find('\0') != cell.npos)
    return invalid("line ", line_, ": has a zero byte; this is no text");
  return runtime::Status();
}

runtime::Status Rows::readQuoted(std::string &cell) {
  for (++at_; at_ < text_.size(); ++at_) {
    if (text_[at_] == '"' && text_.substr(at_ + 1, 1) != "\"") {
      ++at_;
      return runtime::Status();
    }
    if (text_[at_] == '"')
      ++at_; // "" stands for one quote
    if (text_[at_] == '\0')
      return invalid("line ", line_, ": has a zero byte; this is no text");
    line_ += text_[at_] == '\n';
    cell += text_[at_];
  }
  return invalid("line ", rowLine_, ": a quote is never closed");
}

/// The numbers of some columns of the file.
struct Numbers {
  std::vector<size_t> places; // indices of the columns
  std::vector<double> values;
  std::string notNumber, notInteger, notF32;

  void add(const std::string &cell, int64_t line, const std::string &header);
};

std::string quotedCell(std::string_view cell) {
  return inWords("'", cell.substr(0, 40), cell.size() > 40 ? "...'" : "'");
}

/// Reads a decimal number; refuses hexadecimal numbers and infinities.
bool readNumber(const std::string &cell, double &value) {
  return cell.find_first_of("xX") == cell.npos &&
         absl::SimpleAtod(cell, &value) && std::isfinite(value);
}

void Numbers::add(const std::string &cell, int64_t line,
                  const std::string &header) {
  double value = 0;
  if (!readNumber(cell, value)) {
    value = 0;
    if (notNumber.empty())
      notNumber = inWords("line ", line, ", column '", header,
                          "': expected a number, found ", quotedCell(cell));
  } else if (notInteger.empty() &&
             (value != std::floor(value) || std::abs(value) > kMostExact)) {
    notInteger = inWords("line ", line, ", column '", header,
                         "': expected an integer, found ", quotedCell(cell));
  }
  if (notF32.empty() && std::isinf(static_cast<float>(value)))
    notF32 = inWords("line ", line, ", column '", header,
                     "': expected a number in the range of f32, found ",
                     quotedCell(cell));
  values.push_back(value);
}

Column toColumn(Numbers numbers, const std::string &name, int64_t samples,
                bool flat) {
  auto values =
      std::make_shared<const std::vector<double>>(std::move(numbers.values));
  TensorType type{DType::f64, {samples}};
  if (!flat)
    type.shape.push_back(numbers.places.size());
  std::span<const uint8_t> bytes(
      reinterpret_cast<const uint8_t *>(values->data()),
      values->size() * sizeof(double));
  return {name,
          type,
          bytes,
          values,
          Meaning::text,
          numbers.notNumber,
          numbers.notInteger,
          numbers.notF32};
}

/// Reads all rows but the header; returns how many there are.
runtime::StatusOr<int64_t> readRows(Rows &rows,
                                    const std::vector<std::string> &header,
                                    std::vector<Numbers> &wanted) {
  std::vector<std::string> cells;
  for (int64_t count = 0;; ++count) {
    GRADUS_ASSIGN(bool more, rows.next(cells));
    if (!more)
      return count;
    if (cells.size() != header.size())
      return invalid("line ", rows.line(), ": has ", cells.size(),
                     " cells, but the header has ", header.size());
    for (Numbers &numbers : wanted)
      for (size_t place : numbers.places)
        numbers.add(cells[place], rows.line(), header[place]);
  }
}

runtime::StatusOr<std::vector<std::string>> readHeader(Rows &rows) {
  std::vector<std::string> header;
  GRADUS_ASSIGN(bool any, rows.next(header));
  if (!any)
    return invalid("is empty; expected a row of column names");
  std::set<std::string> names;
  for (std::string &name : header) {
    absl::StripAsciiWhitespace(&name);
    if (!names.insert(name).second)
      return invalid("line ", rows.line(), ": two columns are named '", name,
                     "'");
  }
  return header;
}

runtime::StatusOr<size_t> findColumn(const std::vector<std::string> &header,
                                     std::string_view name) {
  auto found = std::find(header.begin(), header.end(), name);
  if (found != header.end())
    return found - header.begin();
  std::string all = absl::StrJoin(header, ", ").substr(0, 400);
  return invalid("has no column '", name, "'; it has ", all);
}

/// Returns the column indices that "a,b..d" selects.
runtime::StatusOr<std::vector<size_t>>
choose(const std::vector<std::string> &header, const std::string &choice) {
  std::vector<size_t> places;
  for (const std::string &part :
       std::vector<std::string>(absl::StrSplit(choice, ','))) {
    auto whole = std::find(header.begin(), header.end(), part);
    std::pair<std::string, std::string> ends{part, part};
    if (size_t dots = part.find("..");
        whole == header.end() && dots != part.npos)
      ends = {part.substr(0, dots), part.substr(dots + 2)};
    GRADUS_ASSIGN(size_t first, findColumn(header, ends.first));
    GRADUS_ASSIGN(size_t last, findColumn(header, ends.second));
    if (last < first)
      return invalid("column '", ends.second, "' stands before '", ends.first,
                     "'");
    for (size_t place = first; place <= last; ++place)
      places.push_back(place);
  }
  return places;
}

} // namespace

runtime::StatusOr<std::vector<Column>> readCsv(const FileBytes &file) {
  Rows rows(file.bytes);
  GRADUS_ASSIGN(std::vector<std::string> header, readHeader(rows));
  std::vector<Numbers> wanted(header.size());
  for (size_t i = 0; i < header.size(); ++i)
    wanted[i].places = {i};
  GRADUS_ASSIGN(int64_t samples, readRows(rows, header, wanted));
  std::vector<Column> columns;
  for (size_t i = 0; i < header.size(); ++i)
    columns.push_back(toColumn(std::move(wanted[i]), header[i], samples, true));
  return columns;
}

runtime::StatusOr<Column> readCsvColumns(const FileBytes &file,
                                         const std::string &name,
                                         const std::string &choice) {
  Rows rows(file.bytes);
  GRADUS_ASSIGN(std::vector<std::string> header, readHeader(rows));
  std::vector<Numbers> wanted(1);
  GRADUS_ASSIGN(wanted[0].places, choose(header, choice));
  GRADUS_ASSIGN(int64_t samples, readRows(rows, header, wanted));
  return toColumn(std::move(wanted[0]), name, samples, false);
}

} // namespace gradus::data
