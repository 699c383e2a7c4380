#include "bench/search_quality/fronts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>
#include <string>

#include "core/check.h"

namespace tune {
namespace {

constexpr double kPi = std::numbers::pi;

double Square(double x) { return x * x; }

const Value& At(const Configuration& configuration, std::string_view name) {
  const Value* const value = configuration.Find(name);
  TUNE_CHECK(value != nullptr);
  return *value;
}

std::vector<double> Numbers(const Configuration& configuration, size_t count) {
  std::vector<double> x;
  for (size_t i = 0; i < count; ++i) {
    x.push_back(At(configuration, "x" + std::to_string(i)).AsDouble());
  }
  return x;
}

// What the parameters after the first add, from 1, where all are 0.
double ZdtSpread(const std::vector<double>& x) {
  const double sum = std::accumulate(x.begin() + 1, x.end(), 0.0);
  return 1 + 9 * sum / static_cast<double>(x.size() - 1);
}

std::vector<double> Zdt1Of(const std::vector<double>& x) {
  const double g = ZdtSpread(x);
  return {x[0], g * (1 - std::sqrt(x[0] / g))};
}

std::vector<double> Zdt1At(const Configuration& c) { return Zdt1Of(Numbers(c, 6)); }
std::vector<double> Zdt1WideAt(const Configuration& c) { return Zdt1Of(Numbers(c, 30)); }

std::vector<double> Zdt2At(const Configuration& c) {
  const std::vector<double> x = Numbers(c, 8);
  const double g = ZdtSpread(x);
  return {x[0], g * (1 - Square(x[0] / g))};
}

// Five pieces; the second objective lifted by 1, so that it is above 0.
std::vector<double> Zdt3At(const Configuration& c) {
  const std::vector<double> x = Numbers(c, 5);
  const double g = ZdtSpread(x);
  const double part = x[0] / g;
  return {x[0], 1 + g * (1 - std::sqrt(part) - part * std::sin(10 * kPi * x[0]))};
}

std::vector<double> BraninCurrinAt(const Configuration& c) {
  const double u = At(c, "x0").AsDouble();
  const double v = At(c, "x1").AsDouble();
  const double x = 15 * u - 5;
  const double y = 15 * v;
  const double bend = y - 5.1 / (4 * kPi * kPi) * x * x + 5 / kPi * x - 6;
  const double branin = bend * bend + 10 * (1 - 1 / (8 * kPi)) * std::cos(x) + 10;
  const double decay = v == 0 ? 1 : 1 - std::exp(-1 / (2 * v));
  const double currin = decay * (2300 * u * u * u + 1900 * u * u + 2092 * u + 60) /
                        (100 * u * u * u + 500 * u * u + 4 * u + 20);
  return {branin, currin};
}

// An eighth of a sphere.
std::vector<double> Dtlz2At(const Configuration& c) {
  const std::vector<double> x = Numbers(c, 6);
  double g = 0;
  for (size_t i = 2; i < x.size(); ++i) g += Square(x[i] - 0.5);
  const double a = x[0] * kPi / 2;
  const double b = x[1] * kPi / 2;
  return {(1 + g) * std::cos(a) * std::cos(b), (1 + g) * std::cos(a) * std::sin(b),
          (1 + g) * std::sin(a)};
}

std::vector<double> KursaweAt(const Configuration& c) {
  const std::vector<double> x = Numbers(c, 3);
  double first = 0;
  double second = 0;
  for (size_t i = 0; i + 1 < x.size(); ++i) {
    first -= 10 * std::exp(-0.2 * std::sqrt(x[i] * x[i] + x[i + 1] * x[i + 1]));
  }
  for (const double xi : x) second += std::pow(std::abs(xi), 0.8) + 5 * std::sin(xi * xi * xi);
  return {first, second};
}

// A network's error beside its cost; which kind of block, and of its rate the best depends on it.
double ErrorOf(const Configuration& c, double& cost) {
  const std::string& block = At(c, "block").AsString();
  const double width = std::log2(At(c, "width").AsDouble());
  const double depth = At(c, "depth").AsDouble();
  const double gain = block == "plain" ? 0.0 : block == "residual" ? 1.0 : 1.4;
  const double price = block == "plain" ? 0.0 : block == "residual" ? 0.3 : 1.2;
  const double rate =
      std::log10(At(c, "lr").AsDouble()) + 3 + (block == "plain" ? 0.4 : 0.0) + 0.05 * (depth - 6);
  cost = width - 4 + 0.9 * std::log2(depth) + price;
  const double capacity = width - 4 + 1.1 * std::log2(depth) + gain;
  return 0.08 + 0.9 * std::exp(-0.33 * capacity) + 0.12 * Square(rate) +
         0.5 * Square(At(c, "dropout").AsDouble() - 0.04 * capacity);
}

std::vector<double> NetworkCostAt(const Configuration& c) {
  double cost = 0;
  const double error = ErrorOf(c, cost);
  return {error, cost};
}

// And how unfair: it falls with augmentation, which costs error and a little time.
std::vector<double> FairNetworkAt(const Configuration& c) {
  double cost = 0;
  const double error = ErrorOf(c, cost);
  const double augment = At(c, "augment").AsDouble();
  const double mixing = At(c, "mixing").AsString() == "yes" ? 1 : 0;
  return {error + 0.15 * Square(augment) - 0.02 * mixing, cost + augment + 0.5 * mixing,
          0.3 * std::exp(-2 * augment) + 0.2 * error + 0.05 * mixing};
}

// Four methods, each with two parameters of its own: error beside cost.
std::vector<double> MethodsAt(const Configuration& c) {
  constexpr std::array<double, 4> kGain = {0.5, 1.0, 1.6, 0.8};
  constexpr std::array<double, 4> kPrice = {0.2, 0.6, 1.5, 1.4};
  constexpr std::array<double, 4> kBestRate = {0.2, 0.7, 0.45, 0.9};
  const std::string& kind = At(c, "kind").AsString();
  const size_t method = static_cast<size_t>(kind.back() - '0');
  const double size = At(c, "size").AsDouble();
  const double rate = At(c, "rate" + kind).AsDouble();
  const double width = At(c, "width" + kind).AsDouble();
  const double error = std::exp(-kGain[method] * (0.3 + size + 0.3 * width)) +
                       0.8 * Square(rate - kBestRate[method]) +
                       0.2 * Square(width - kBestRate[3 - method]);
  return {error, kPrice[method] + 2 * size + 0.5 * width};
}

// {"x0": {"uniform": [0, 1]}, ...}
std::string UnitCube(int dimensions) {
  std::string space;
  for (int i = 0; i < dimensions; ++i) {
    space += (i == 0 ? "{" : ", ") + ("\"x" + std::to_string(i)) + R"(": {"uniform": [0, 1]})";
  }
  return space + "}";
}

constexpr std::string_view kKursawe =
    R"({"x0": {"uniform": [-5, 5]}, "x1": {"uniform": [-5, 5]}, "x2": {"uniform": [-5, 5]}})";
constexpr std::string_view kNetworkCost =
    R"({"block": {"choice": ["plain", "residual", "attention"]}, "width": {"lograndint": [16, 1025]},
        "depth": {"randint": [1, 17]}, "lr": {"loguniform": [1e-5, 1e-1]},
        "dropout": {"uniform": [0, 0.6]}})";
constexpr std::string_view kFairNetwork =
    R"({"block": {"choice": ["plain", "residual", "attention"]}, "width": {"lograndint": [16, 1025]},
        "depth": {"randint": [1, 17]}, "lr": {"loguniform": [1e-5, 1e-1]},
        "dropout": {"uniform": [0, 0.6]}, "augment": {"uniform": [0, 1]},
        "mixing": {"choice": ["yes", "no"]}})";

constexpr std::string_view kMethods =
    R"({"kind": {"choice": ["0", "1", "2", "3"]}, "size": {"uniform": [0, 1]},
        "rate0": {"uniform": [0, 1], "when": {"kind": "0"}},
        "width0": {"uniform": [0, 1], "when": {"kind": "0"}},
        "rate1": {"uniform": [0, 1], "when": {"kind": "1"}},
        "width1": {"uniform": [0, 1], "when": {"kind": "1"}},
        "rate2": {"uniform": [0, 1], "when": {"kind": "2"}},
        "width2": {"uniform": [0, 1], "when": {"kind": "2"}},
        "rate3": {"uniform": [0, 1], "when": {"kind": "3"}},
        "width3": {"uniform": [0, 1], "when": {"kind": "3"}}})";

const std::vector<FrontFunction>& All() {
  static const std::string unit2 = UnitCube(2);
  static const std::string unit5 = UnitCube(5);
  static const std::string unit6 = UnitCube(6);
  static const std::string unit8 = UnitCube(8);
  static const std::string unit30 = UnitCube(30);
  static const std::vector<FrontFunction> functions = {
      {"zdt1", unit6, {1.1, 6}, Zdt1At},
      {"zdt3", unit5, {1.1, 7}, Zdt3At},
      {"branin_currin", unit2, {18, 6}, BraninCurrinAt},
      {"network_cost", kNetworkCost, {1, 10}, NetworkCostAt},
      {"dtlz2", unit6, {1.5, 1.5, 1.5}, Dtlz2At},
      {"zdt2", unit8, {1.1, 6}, Zdt2At},
      {"kursawe", kKursawe, {-5, 10}, KursaweAt},
      {"fair_network", kFairNetwork, {1, 10, 0.6}, FairNetworkAt},
      {"zdt1_wide", unit30, {1.1, 6}, Zdt1WideAt},
      {"methods", kMethods, {1.1, 4}, MethodsAt},
  };
  return functions;
}

}  // namespace

std::span<const FrontFunction> FrontFunctions() { return All(); }

const FrontFunction* FindFrontFunction(std::string_view name) {
  const auto found = std::find_if(All().begin(), All().end(), [&](const FrontFunction& function) {
    return function.name == name;
  });
  return found == All().end() ? nullptr : &*found;
}

}  // namespace tune
