// Walks through protobuf's wire format down to `model.graph.initializer`, and
// copies all but the values. Field numbers are those of onnx.proto.

#include "frontends/onnx/file/embedded_values.h"

namespace gradus::onnx {
namespace {

using llvm::StringRef;

constexpr uint32_t kGraph = 7, kInitializer = 5; // of models, of graphs
constexpr uint32_t kDims = 1, kRawData = 9;      // of tensors
constexpr size_t kLarge = size_t(1) << 16;       // bytes of values

enum WireType { varint = 0, bits64 = 1, lengthAndBytes = 2, bits32 = 5 };

/// One field of a message: its number, all its bytes, and the bytes after the
/// length, if it has one.
struct Field {
  uint32_t number = 0;
  int type = varint;
  StringRef whole, content;

  bool is(uint32_t other) const {
    return number == other && type == lengthAndBytes;
  }
};

/// Iterates over the fields of a message.
class Fields {
public:
  explicit Fields(StringRef message) : rest_(message) {}

  /// The next field; nothing at the end and if the message is damaged.
  std::optional<Field> next() {
    if (rest_.empty() || isDamaged_)
      return std::nullopt;
    StringRef start = rest_;
    uint64_t tag = number();
    isDamaged_ |= tag > UINT32_MAX;
    Field field{
        static_cast<uint32_t>(tag >> 3), static_cast<int>(tag & 7), {}, {}};
    field.content = take(sizeOf(field.type));
    field.whole = start.drop_back(rest_.size());
    return isDamaged_ ? std::nullopt : std::optional(field);
  }

  bool isDamaged() const { return isDamaged_; }

private:
  /// Returns the size of a field's content; skips a number.
  uint64_t sizeOf(int type) {
    switch (type) {
    case varint:
      number();
      return 0;
    case bits64:
      return 8;
    case lengthAndBytes:
      return number();
    case bits32:
      return 4;
    }
    isDamaged_ = true; // ONNX never used groups.
    return 0;
  }

  uint64_t number() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      auto byte = static_cast<uint8_t>(rest_.front());
      rest_ = rest_.drop_front();
      value |= uint64_t(byte & 0x7F) << shift;
      if (byte < 0x80)
        return value;
    }
    isDamaged_ = true;
    return 0;
  }

  StringRef take(uint64_t size) {
    isDamaged_ |= size > rest_.size();
    if (isDamaged_)
      return {};
    StringRef taken = rest_.take_front(size);
    rest_ = rest_.drop_front(size);
    return taken;
  }

  StringRef rest_;
  bool isDamaged_ = false;
};

void append(std::string &out, StringRef bytes) {
  out.append(bytes.data(), bytes.size());
}

void appendNumber(std::string &out, uint64_t number) {
  for (; number >= 0x80; number >>= 7)
    out += static_cast<char>(number | 0x80);
  out += static_cast<char>(number);
}

void appendMessage(std::string &out, uint32_t number, StringRef content) {
  appendNumber(out, number << 3 | lengthAndBytes);
  appendNumber(out, content.size());
  append(out, content);
}

class Separation {
public:
  /// Returns false if the file is damaged.
  bool model(StringRef message) {
    return copyOthers(message, result.rest, kGraph, [&](const Field &field) {
      std::string graph;
      bool isWhole = this->graph(field.content, graph);
      appendMessage(result.rest, kGraph, graph);
      return isWhole;
    });
  }

  SeparatedModel result;

private:
  /// Copies the fields of a message except those with one number, which are
  /// visited.
  template <typename Visit>
  bool copyOthers(StringRef message, std::string &out, uint32_t number,
                  Visit visit) {
    Fields fields(message);
    while (auto field = fields.next())
      if (!field->is(number))
        append(out, field->whole);
      else if (!visit(*field))
        return false;
    return !fields.isDamaged();
  }

  bool graph(StringRef message, std::string &out) {
    return copyOthers(message, out, kInitializer, [&](const Field &field) {
      bool isWhole = field.content.size() < kLarge;
      if (isWhole)
        append(out, field.whole);
      else
        isWhole = initializer(field.content, out);
      ++initializers_;
      return isWhole;
    });
  }

  /// A tensor may have its values twice; then the last ones count.
  bool initializer(StringRef message, std::string &out) {
    StringRef values;
    int dims = 0;
    std::string tensor;
    bool isWhole =
        copyOthers(message, tensor, kRawData, [&](const Field &field) {
          values = field.content;
          return true;
        });
    Fields fields(tensor);
    while (auto field = fields.next())
      dims += field->number == kDims ? dimensions(*field) : 0;
    bool leaves = dims >= 2 && values.size() >= kLarge;
    if (leaves)
      result.values.push_back({initializers_, values});
    appendMessage(out, kInitializer, leaves ? StringRef(tensor) : message);
    return isWhole;
  }

  /// Counts dimensions: a field is one number, or several packed ones, each of
  /// which ends in a byte below 0x80.
  static int dimensions(const Field &field) {
    if (field.type == varint)
      return 1;
    int count = 0;
    for (char byte : field.content)
      count += static_cast<uint8_t>(byte) < 0x80;
    return count;
  }

  int initializers_ = 0;
};

} // namespace

std::optional<SeparatedModel> separateValues(StringRef file) {
  Separation separation;
  if (!separation.model(file))
    return std::nullopt;
  return std::move(separation.result);
}

} // namespace gradus::onnx
