// Reading and comparing recorded numbers; see vector_file.h.

#include "vector_file.h"

#include "frontends/recipe/recipe.h"
#include "tests/this_build.h"

#include "mlir/AsmParser/AsmParser.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace gradus::vectors {

bool Settings::has(const std::string &key) const {
  read_.insert(key);
  return values_.contains(key) && !values_.at(key).is_null();
}

const Json &Settings::at(const std::string &key) const {
  if (!has(key))
    throw std::runtime_error("the hyperparameter \"" + key + "\" is missing");
  return values_.at(key);
}

void Settings::ignore(const std::set<std::string> &keys) const {
  read_.insert(keys.begin(), keys.end());
}

void Settings::expectAllRead() const {
  for (const auto &[key, value] : values_.items())
    EXPECT_TRUE(read_.contains(key))
        << "the hyperparameter \"" << key << "\" is not known to this test";
}

VectorFile::VectorFile(const std::string &path, std::string device)
    : json_(Json::parse(std::ifstream(path))), device_(std::move(device)) {}

std::string VectorFile::api() const {
  const Json api = json_.at("source").value("api", Json(""));
  return api.is_string() ? api.get<std::string>() : "";
}

std::string VectorFile::className() const {
  std::string name = api();
  return name.substr(name.rfind('.') + 1);
}

//===-- tensors -----------------------------------------------------------===//

double numberOf(const Json &value) {
  return value.is_string() ? std::stod(value.get<std::string>())
                           : value.get<double>();
}

std::vector<int64_t> shapeOf(const Json &tensor) { return tensor.at("shape"); }

std::vector<double> numbersOf(const Json &tensor, int64_t step) {
  const Json &data = tensor.at("data");
  size_t begin = 0, count = data.size();
  if (step >= 0) {
    count /= std::max<size_t>(1, tensor.at("shape").at(0).get<size_t>());
    begin = step * count;
  }
  std::vector<double> numbers;
  for (size_t i = begin; i < begin + count; ++i)
    numbers.push_back(numberOf(data.at(i)));
  return numbers;
}

HostTensor tensorOf(const Json &tensor, llvm::ArrayRef<int64_t> shape,
                    int64_t step) {
  bool isFloat = tensor.at("dtype") != "int32";
  HostTensor result = zeros(shape, isFloat);
  std::vector<double> numbers = numbersOf(tensor, step);
  if (result.size() != static_cast<int64_t>(numbers.size()))
    throw std::runtime_error("a tensor has " + std::to_string(numbers.size()) +
                             " numbers, expected " +
                             std::to_string(result.size()));
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
  const Json &tolerance = json_.at("tolerance");
  double relative = tolerance.at("rtol"), absolute = tolerance.at("atol"),
         worst = 0;
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
  double wanted = numberOf(losses.at("data").at(step));
  const Json &tolerance = json_.at("tolerance");
  double relative =
      tolerance.at(tolerance.contains("rtol_loss") ? "rtol_loss" : "rtol");
  EXPECT_LE(excess(found, wanted, relative * std::abs(wanted)), 0)
      << "loss of step " << step << " is " << found << ", expected " << wanted;
}

//===-- files -------------------------------------------------------------===//

static std::vector<std::filesystem::path> folders() {
  std::vector<std::filesystem::path> folders = {
      GRADUS_SOURCE_DIR "/tests/data/vectors",
      GRADUS_SOURCE_DIR "/tests/data/trajectories"};
  const char *more = std::getenv("GRADUS_VECTORS");
  for (llvm::StringRef folder : llvm::split(more ? more : "", ':'))
    if (std::string name = folder.rtrim('/').str(); !name.empty())
      folders.push_back(name);
  return folders;
}

/// The .json files of a folder in order; the folder itself if it is none.
static std::vector<std::filesystem::path>
filesIn(const std::filesystem::path &folder) {
  std::error_code error;
  std::filesystem::directory_iterator entries(folder, error);
  if (error)
    return {folder};
  std::vector<std::filesystem::path> files;
  for (const auto &entry : entries)
    if (entry.path().extension() == ".json")
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

/// With `_` for what GoogleTest takes in no name.
static std::string testName(std::string name) {
  for (char &letter : name)
    if (!llvm::isAlnum(letter))
      letter = '_';
  return name;
}

std::vector<Recording> recordings() {
  std::vector<Recording> all;
  std::set<std::string> taken;
  for (const auto &folder : folders())
    for (const auto &path : filesIn(folder)) {
      std::string stem = path.stem().string(), name = testName(stem);
      if (taken.contains(name))
        name = testName(stem + "_" + folder.filename().string());
      for (int next = 2; taken.contains(name); ++next)
        name = testName(stem + "_" + std::to_string(next));
      taken.insert(name);
      all.push_back({name, path.string()});
    }
  return all;
}

std::string recipeText(const Json &recipe) {
  auto read = recipe::read(recipe.dump(), "the vector's recipe");
  if (!read.ok())
    throw std::runtime_error(std::string(read.status().message()));
  mlir::MLIRContext context;
  std::string text;
  llvm::raw_string_ostream stream(text);
  recipe::toAttribute(*read, context).print(stream);
  return text;
}

std::string textOf(ProgramBuilder &net, const Json &recipe) {
  auto module = net.finish();
  EXPECT_TRUE(module.ok()) << module.status();
  if (!module.ok())
    return "";
  for (ProgramOp program : (*module)->getOps<ProgramOp>())
    program->setAttr("recipe", mlir::parseAttribute(recipeText(recipe),
                                                    program->getContext()));
  std::string text;
  llvm::raw_string_ostream stream(text);
  (*module)->print(stream);
  return text;
}

} // namespace gradus::vectors
