// Reading and comparing recorded numbers; see vector_file.h.

#include "vector_file.h"

#include "frontends/recipe/recipe.h"

#include <cmath>
#include <filesystem>
#include <fstream>

namespace gradus::vectors {

VectorFile::VectorFile(const std::string &path)
    : json_(Json::parse(std::ifstream(path))) {}

std::string VectorFile::api() const {
  const Json api = json_["source"].value("api", Json(""));
  return api.is_string() ? api.get<std::string>() : "";
}

std::string VectorFile::className() const {
  std::string name = api();
  return name.substr(name.rfind('.') + 1);
}

//===-- tensors -----------------------------------------------------------===//

static double numberOf(const Json &value) {
  return value.is_string() ? std::stod(value.get<std::string>())
                           : value.get<double>();
}

std::vector<int64_t> shapeOf(const Json &tensor) { return tensor["shape"]; }

std::vector<double> numbersOf(const Json &tensor, int64_t step) {
  const Json &data = tensor["data"];
  size_t begin = 0, count = data.size();
  if (step >= 0) {
    count /= tensor["shape"][0].get<size_t>();
    begin = step * count;
  }
  std::vector<double> numbers;
  for (size_t i = begin; i < begin + count; ++i)
    numbers.push_back(numberOf(data[i]));
  return numbers;
}

HostTensor tensorOf(const Json &tensor, llvm::ArrayRef<int64_t> shape,
                    int64_t step) {
  bool isFloat = tensor["dtype"] != "int32";
  HostTensor result = zeros(shape, isFloat);
  std::vector<double> numbers = numbersOf(tensor, step);
  EXPECT_EQ(result.size(), static_cast<int64_t>(numbers.size()));
  if (isFloat)
    result.floats.assign(numbers.begin(), numbers.end());
  else
    result.integers.assign(numbers.begin(), numbers.end());
  return result;
}

//===-- comparing ---------------------------------------------------------===//

/// How far a number is beyond its limit: at most 0 where it is within.
static double excess(double found, double wanted, double limit) {
  if (std::isnan(wanted) || std::isnan(found))
    return std::isnan(wanted) && std::isnan(found) ? 0 : INFINITY;
  if (std::isinf(wanted) || std::isinf(found))
    return found == wanted ? 0 : INFINITY;
  return std::abs(found - wanted) - limit;
}

void VectorFile::expectNear(const std::string &what,
                            const std::vector<double> &found,
                            const Json &tensor, int64_t step,
                            double rounding) const {
  std::vector<double> wanted = numbersOf(tensor, step);
  ASSERT_EQ(found.size(), wanted.size()) << what;
  double relative = json_["tolerance"]["rtol"],
         absolute = json_["tolerance"]["atol"], worst = 0;
  for (double number : wanted)
    absolute = std::max(absolute, rounding * std::abs(number));
  size_t at = 0;
  for (size_t i = 0; i < found.size(); ++i)
    if (double beyond = excess(found[i], wanted[i],
                               relative * std::abs(wanted[i]) + absolute);
        beyond > worst) {
      worst = beyond;
      at = i;
    }
  EXPECT_EQ(worst, 0) << what << "[" << at << "] after step " << step << " is "
                      << found[at] << ", expected " << wanted[at];
}

void VectorFile::expectLoss(int64_t step, double found,
                            const Json &losses) const {
  double wanted = numberOf(losses["data"][step]);
  double relative = json_["tolerance"]["rtol_loss"];
  EXPECT_LE(excess(found, wanted, relative * std::abs(wanted)), 0)
      << "loss of step " << step << " is " << found << ", expected " << wanted;
}

//===-- files -------------------------------------------------------------===//

std::vector<std::string> vectorFiles() {
  std::vector<std::string> folders = {GRADUS_SOURCE_DIR "/tests/data/vectors",
                                      GRADUS_SOURCE_DIR
                                      "/tests/data/trajectories"};
  if (const char *more = std::getenv("GRADUS_VECTORS"))
    folders.push_back(more);
  std::map<std::string, std::string> found; // each name once, in order
  for (const std::string &folder : folders)
    for (const auto &entry : std::filesystem::directory_iterator(folder))
      if (entry.path().extension() == ".json")
        found.emplace(entry.path().stem(), entry.path());
  std::vector<std::string> files;
  for (const auto &[name, path] : found)
    files.push_back(path);
  return files;
}

std::string recipeText(const Json &recipe) {
  auto read = recipe::read(recipe.dump(), "the vector's recipe");
  EXPECT_TRUE(read.ok()) << read.status();
  if (!read.ok())
    return "{}";
  mlir::MLIRContext context;
  std::string text;
  llvm::raw_string_ostream stream(text);
  recipe::toAttribute(*read, context).print(stream);
  return text;
}

} // namespace gradus::vectors
