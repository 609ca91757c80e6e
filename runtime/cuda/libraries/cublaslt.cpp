// Describes a matmul, chooses an algorithm, and enqueues it.

#include "runtime/cuda/libraries/cublaslt.h"

#include "runtime/cuda/libraries/cublaslt_epilogue.h"
#include "runtime/tensor_type.h"

#include <algorithm>
#include <bit>
#include <charconv>

namespace gradus::runtime::cuda {

namespace cublaslt {

namespace {

constexpr int kMostCandidates = 32;
constexpr int kMostToChooseFrom = 256; // a measured one may rank lower now
constexpr uint64_t kMostScratch = uint64_t{1} << 32;
constexpr uint32_t kAlignment = 64; // of all buffers in a plan

Type typeOf(artifact::DType dtype) {
  switch (dtype) {
  case artifact::DType::f16:
    return Type::f16;
  case artifact::DType::bf16:
    return Type::bf16;
  default:
    return Type::f32;
  }
}

/// Whether the library's bias pointer is used, for a bias or a sum.
bool hasVector(const MatmulForm &form) {
  return form.hasBias || form.summed != Summed::none;
}

//===-- descriptors -------------------------------------------------------===//

template <typename T>
Status set(const Library &library, Matmul matmul, MatmulAttribute attribute,
           T value) {
  return check(library,
               library.matmulSet(matmul, attribute, &value, sizeof(value)),
               "describing a product");
}

template <typename T>
Status set(const Library &library, Layout layout, LayoutAttribute attribute,
           T value) {
  return check(library,
               library.layoutSet(layout, attribute, &value, sizeof(value)),
               "describing a matrix");
}

template <typename T>
Status set(const Library &library, Preference preference,
           PreferenceAttribute attribute, T value) {
  return check(
      library,
      library.preferenceSet(preference, attribute, &value, sizeof(value)),
      "saying which algorithms may serve");
}

Operation operationOf(const StoredMatrix &matrix) {
  return matrix.isTransposed ? Operation::transpose : Operation::none;
}

StatusOr<Owned<MatmulData>> describeProduct(const Library &library,
                                            const MatmulForm &form) {
  Matmul made = nullptr;
  GRADUS_TRY(check(library,
                   library.matmulCreate(&made, Compute::f32, Type::f32),
                   "describing a product"));
  Owned<MatmulData> matmul(made, library.matmulDestroy);
  GRADUS_TRY(
      set(library, made, MatmulAttribute::transposeA, operationOf(form.a)));
  GRADUS_TRY(
      set(library, made, MatmulAttribute::transposeB, operationOf(form.b)));
  GRADUS_TRY(set(library, made, MatmulAttribute::epilogue, epilogueOf(form)));
  // The library considers the alignment of these pointers when it chooses.
  if (hasVector(form))
    GRADUS_TRY(set(library, made, MatmulAttribute::biasPointer,
                   DevicePointer{kAlignment}));
  if (form.hasGeluInput) {
    GRADUS_TRY(set(library, made, MatmulAttribute::auxiliaryPointer,
                   DevicePointer{kAlignment}));
    GRADUS_TRY(set(library, made, MatmulAttribute::auxiliaryLead, form.d.lead));
  }
  return matmul;
}

StatusOr<Owned<LayoutData>> describeMatrix(const Library &library,
                                           const StoredMatrix &matrix,
                                           int64_t batches) {
  Layout made = nullptr;
  GRADUS_TRY(check(library,
                   library.layoutCreate(&made, typeOf(matrix.dtype),
                                        uint64_t(matrix.rows),
                                        uint64_t(matrix.columns), matrix.lead),
                   "describing a matrix"));
  Owned<LayoutData> layout(made, library.layoutDestroy);
  if (batches == 1)
    return layout;
  if (batches > INT32_MAX)
    return invalid("cuBLASLt takes no batch of ", batches);
  GRADUS_TRY(set(library, made, LayoutAttribute::batchCount, int32_t(batches)));
  GRADUS_TRY(
      set(library, made, LayoutAttribute::batchOffset, matrix.batchStride));
  return layout;
}

} // namespace

StatusOr<Description> describe(const Library &library, const MatmulForm &form) {
  Description made;
  GRADUS_ASSIGN(made.matmul, describeProduct(library, form));
  GRADUS_ASSIGN(made.a, describeMatrix(library, form.a, form.batches));
  GRADUS_ASSIGN(made.b, describeMatrix(library, form.b, form.batches));
  GRADUS_ASSIGN(made.d, describeMatrix(library, form.d, form.batches));
  return made;
}

//===-- algorithms --------------------------------------------------------===//

std::string textOf(const Algorithm &algorithm) {
  std::string text;
  for (uint64_t word : algorithm.data)
    text += inHex(word);
  return text;
}

StatusOr<Algorithm> algorithmOf(const std::string &text) {
  Algorithm algorithm;
  size_t digits = text.size() / std::size(algorithm.data);
  bool fits = text.size() == 2 * sizeof(algorithm);
  for (size_t i = 0; fits && i < std::size(algorithm.data); ++i) {
    const char *from = text.data() + i * digits;
    auto [end, error] =
        std::from_chars(from, from + digits, algorithm.data[i], 16);
    fits = error == std::errc() && end == from + digits;
  }
  if (!fits)
    return invalid("algorithm '", text, "' of cuBLASLt is not 128 digits");
  return algorithm;
}

namespace {

StatusOr<Owned<PreferenceData>> preferenceOf(const Library &library,
                                             const MatmulForm &form,
                                             uint64_t scratchBytes) {
  Preference made = nullptr;
  GRADUS_TRY(check(library, library.preferenceCreate(&made),
                   "saying which algorithms may serve"));
  Owned<PreferenceData> preference(made, library.preferenceDestroy);
  GRADUS_TRY(
      set(library, made, PreferenceAttribute::mostWorkspace, scratchBytes));
  // Split-K sums are combined in f32, not in the result's rounded type.
  GRADUS_TRY(set(library, made, PreferenceAttribute::reductionSchemes,
                 form.d.dtype == artifact::DType::f32 ? kReduceAnyWay
                                                      : kReduceInComputeType));
  for (PreferenceAttribute alignment :
       {PreferenceAttribute::alignmentA, PreferenceAttribute::alignmentB,
        PreferenceAttribute::alignmentC, PreferenceAttribute::alignmentD})
    GRADUS_TRY(set(library, made, alignment, kAlignment));
  return preference;
}

/// A described matmul, whose algorithm is chosen later.
class MatmulCall : public LibraryCall {
public:
  MatmulCall(std::shared_ptr<Session> session, const MatmulForm &form,
             Description description)
      : session_(std::move(session)), form_(form),
        description_(std::move(description)) {}

  /// Returns the algorithms of the heuristics, the best first.
  StatusOr<std::vector<Found>> find(uint64_t scratchBytes,
                                    int most = kMostCandidates) const {
    const Library &library = session_->library;
    GRADUS_ASSIGN(Owned<PreferenceData> preference,
                  preferenceOf(library, form_, scratchBytes));
    std::vector<Found> found(static_cast<size_t>(most));
    int count = 0;
    Code code = library.find(session_->handle, description_.matmul.get(),
                             description_.a.get(), description_.b.get(),
                             description_.d.get(), description_.d.get(),
                             preference.get(), most, found.data(), &count);
    if (code == Code::notSupported || code == Code::invalidValue) // none
      count = 0;
    else
      GRADUS_TRY(check(library, code, "asking cuBLASLt for an algorithm"));
    found.resize(size_t(count));
    std::erase_if(found,
                  [](const Found &one) { return one.state != Code::success; });
    return found;
  }

  /// Chooses the first algorithm for which the scratch suffices, else the one
  /// that needs the least.
  Status choose(uint64_t scratchBytes) {
    GRADUS_ASSIGN(auto found, find(scratchBytes));
    if (found.empty()) {
      GRADUS_ASSIGN(found, find(kMostScratch));
    }
    const Found *least = nullptr;
    for (const Found &one : found)
      if (one.workspace <= scratchBytes)
        return take(one);
      else if (!least || one.workspace < least->workspace)
        least = &one;
    if (!least)
      return failed(
          "cuBLASLt has no algorithm for a product of ", form_.d.columns, " x ",
          form_.a.isTransposed ? form_.a.rows : form_.a.columns, " x ",
          form_.d.rows, " elements of ", nameOf(form_.a.dtype), " into ",
          nameOf(form_.d.dtype), " with its epilogue ", epilogueOf(form_));
    return take(*least);
  }

  /// Describes the missing algorithm; empty if there is one for any scratch.
  StatusOr<std::string> lack() const {
    GRADUS_ASSIGN(auto found, find(kMostScratch));
    if (!found.empty())
      return std::string();
    std::string name = nameOfEpilogue(epilogueOf(form_));
    return inWords("cuBLASLt has no algorithm", name.empty() ? "" : " with ",
                   name);
  }

  /// Chooses a stored algorithm. It must be among those of the heuristics, by
  /// their rules for sums and alignment: bytes of a file never reach the
  /// library.
  Status choose(uint64_t scratchBytes, const std::string &text) {
    GRADUS_ASSIGN(Algorithm algorithm, algorithmOf(text));
    GRADUS_ASSIGN(auto found, find(scratchBytes, kMostToChooseFrom));
    for (const Found &one : found)
      if (std::ranges::equal(one.algorithm.data, algorithm.data))
        return take(one);
    return failed("algorithm ", text,
                  " is none that cuBLASLt names for this "
                  "product with ",
                  scratchBytes, " bytes of scratch");
  }

  uint64_t scratchBytes() const override { return chosen_.workspace; }
  std::string algorithm() const override { return textOf(chosen_.algorithm); }

  Status enqueue(Stream stream, const CallAddresses &addresses) override {
    const Library &library = session_->library;
    auto data = [](DevicePointer address) {
      return std::bit_cast<void *>(address);
    };
    GRADUS_TRY(placeEpilogue(addresses));
    float one = 1, zero = 0;
    void *result = data(addresses.outputs[0]);
    return check(library,
                 library.multiply(
                     session_->handle, description_.matmul.get(), &one,
                     data(addresses.inputs[form_.isSwapped ? 1 : 0]),
                     description_.a.get(),
                     data(addresses.inputs[form_.isSwapped ? 0 : 1]),
                     description_.b.get(), &zero, result, description_.d.get(),
                     result, description_.d.get(), &chosen_.algorithm,
                     data(addresses.scratch), chosen_.workspace, stream),
                 "multiplying by cuBLASLt");
  }

private:
  Status take(const Found &found) {
    chosen_ = found;
    return Status();
  }

  /// Sets the addresses of the epilogue's tensors for this call: the third
  /// input or the second output.
  Status placeEpilogue(const CallAddresses &addresses) {
    auto place = [&](MatmulAttribute pointer, DevicePointer address) {
      return set(session_->library, description_.matmul.get(), pointer,
                 address);
    };
    if (hasVector(form_))
      GRADUS_TRY(
          place(MatmulAttribute::biasPointer,
                form_.hasBias ? addresses.inputs[2] : addresses.outputs[1]));
    if (form_.hasGeluInput)
      GRADUS_TRY(place(MatmulAttribute::auxiliaryPointer,
                       addresses.outputs.size() > 1 ? addresses.outputs[1]
                                                    : addresses.inputs[2]));
    return Status();
  }

  std::shared_ptr<Session> session_;
  MatmulForm form_;
  Description description_;
  Found chosen_{};
};

class MatmulServer : public LibraryServer {
public:
  explicit MatmulServer(std::shared_ptr<Session> session)
      : session_(std::move(session)) {}

  StatusOr<std::unique_ptr<LibraryCall>>
  prepare(const artifact::LibraryCommand &command,
          uint64_t scratchBytes) override {
    GRADUS_ASSIGN(std::unique_ptr<MatmulCall> call, make(command));
    GRADUS_TRY(call->choose(scratchBytes));
    return std::unique_ptr<LibraryCall>(std::move(call));
  }

  StatusOr<std::unique_ptr<LibraryCall>>
  prepareWith(const std::string &algorithm,
              const artifact::LibraryCommand &command,
              uint64_t scratchBytes) override {
    GRADUS_ASSIGN(std::unique_ptr<MatmulCall> call, make(command));
    GRADUS_TRY(call->choose(scratchBytes, algorithm));
    return std::unique_ptr<LibraryCall>(std::move(call));
  }

  StatusOr<Algorithms> algorithms(const artifact::LibraryCommand &command,
                                  uint64_t scratchBytes) override {
    GRADUS_ASSIGN(std::unique_ptr<MatmulCall> call, make(command));
    GRADUS_ASSIGN(std::vector<Found> found, call->find(scratchBytes));
    Algorithms list{session_->name(), {}};
    for (const Found &one : found)
      list.texts.push_back(textOf(one.algorithm));
    return list;
  }

  StatusOr<std::string>
  lackOf(const artifact::LibraryCommand &command) override {
    GRADUS_ASSIGN(std::unique_ptr<MatmulCall> call, make(command));
    return call->lack();
  }

  bool warmsUp() const override { return true; }

private:
  StatusOr<std::unique_ptr<MatmulCall>>
  make(const artifact::LibraryCommand &command) {
    GRADUS_ASSIGN(MatmulForm form, matmulFormOf(command));
    GRADUS_ASSIGN(Description description, describe(session_->library, form));
    return std::make_unique<MatmulCall>(session_, form, std::move(description));
  }

  std::shared_ptr<Session> session_;
};

} // namespace

} // namespace cublaslt

std::unique_ptr<LibraryServer>
serveMatmuls(std::shared_ptr<cublaslt::Session> session) {
  return std::make_unique<cublaslt::MatmulServer>(std::move(session));
}

} // namespace gradus::runtime::cuda
