#include "bench/search_quality/limited.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

namespace tune {
namespace {

constexpr double kPi = std::numbers::pi;

double Number(const Configuration& c, const char* name) { return c.Find(name)->AsDouble(); }

std::vector<double> Gardner(const Configuration& c) {
  const double x = Number(c, "x");
  const double y = Number(c, "y");
  return {std::cos(2 * x) * std::cos(y) + std::sin(x), std::cos(x + y) - 0.5};
}

std::vector<double> Gramacy(const Configuration& c) {
  const double x = Number(c, "x");
  const double y = Number(c, "y");
  return {x + y, 1.5 - x - 2 * y - 0.5 * std::sin(2 * kPi * (x * x - 2 * y)), x * x + y * y - 1.5};
}

double Branin(double x, double y) {
  const double b = 5.1 / (4 * kPi * kPi);
  const double t = y - b * x * x + 5 / kPi * x - 6;
  return t * t + 10 * (1 - 1 / (8 * kPi)) * std::cos(x) + 10;
}

// Two of the three minima lie outside of the disc.
std::vector<double> BraninDisc(const Configuration& c) {
  const double x = Number(c, "x");
  const double y = Number(c, "y");
  return {Branin(x, y), (x - 2.5) * (x - 2.5) + (y - 7.5) * (y - 7.5) - 50};
}

std::vector<double> HartmannBall(const Configuration& c) {
  constexpr double kA[4][6] = {{10, 3, 17, 3.5, 1.7, 8},
                               {0.05, 10, 17, 0.1, 8, 14},
                               {3, 3.5, 1.7, 10, 17, 8},
                               {17, 8, 0.05, 10, 0.1, 14}};
  constexpr double kP[4][6] = {{0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886},
                               {0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991},
                               {0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650},
                               {0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381}};
  constexpr double kAlpha[4] = {1.0, 1.2, 3.0, 3.2};
  constexpr const char* kNames[6] = {"a", "b", "c", "d", "e", "f"};
  double value = 0;
  double squares = 0;
  for (const char* const name : kNames) squares += Number(c, name) * Number(c, name);
  for (int i = 0; i < 4; ++i) {
    double sum = 0;
    for (int j = 0; j < 6; ++j) {
      const double off = Number(c, kNames[j]) - kP[i][j];
      sum += kA[i][j] * off * off;
    }
    value -= kAlpha[i] * std::exp(-sum);
  }
  return {value, std::sqrt(squares) - 1};
}

std::vector<double> Spring(const Configuration& c) {
  const double d = Number(c, "wire");
  const double w = Number(c, "coil");
  const double n = Number(c, "turns");
  return {(n + 2) * w * d * d, 1 - w * w * w * n / (71785 * std::pow(d, 4)),
          (4 * w * w - d * w) / (12566 * (w * d * d * d - std::pow(d, 4))) + 1 / (5108 * d * d) - 1,
          1 - 140.45 * d / (w * w * n), (w + d) / 1.5 - 1};
}

std::vector<double> Vessel(const Configuration& c) {
  const double shell = 0.0625 * Number(c, "shell");
  const double head = 0.0625 * Number(c, "head");
  const double r = Number(c, "radius");
  const double l = Number(c, "length");
  const double cost = 0.6224 * shell * r * l + 1.7781 * head * r * r + 3.1661 * shell * shell * l +
                      19.84 * shell * shell * r;
  const double volume = kPi * r * r * l + 4.0 / 3 * kPi * r * r * r;
  return {cost / 1000, 0.0193 * r - shell, 0.00954 * r - head, 1 - volume / 1296000};
}

// The error falls with size, up to what the data give; time rises with size and falls with the
// batch, memory rises with both.
std::vector<double> FastNetwork(const Configuration& c) {
  const double depth = Number(c, "depth");
  const double width = std::log2(Number(c, "width"));
  const double lr = std::log10(Number(c, "lr"));
  const double dropout = Number(c, "dropout");
  const double batch = std::log2(Number(c, "batch"));
  const bool is_adam = c.Find("optimizer")->AsString() == "adam";
  const double capacity = 0.35 * width + 0.25 * std::log2(depth + 1);
  const double best_lr = (is_adam ? -3.0 : -1.6) - 0.08 * (width - 6) + 0.1 * (batch - 6);
  const double error = 0.08 + 0.9 * std::exp(-0.9 * capacity) +
                       0.04 * (lr - best_lr) * (lr - best_lr) + (is_adam ? 0.01 : 0) +
                       0.05 * std::pow(dropout - 0.06 * (capacity - 2), 2) +
                       0.002 * (batch - 6) * (batch - 6);
  const double ms = 0.4 + 0.9 * depth * std::exp2(1.2 * (width - 7)) / 3;
  const double gigabytes = 0.2 + depth * std::exp2(width - 7) * std::exp2(batch - 7) * 0.5;
  return {error, ms / 4 - 1, gigabytes / 3 - 1};
}

// The same, with a gap between two groups that grows with the error's fall and shrinks with
// weights.
std::vector<double> FairNetwork(const Configuration& c) {
  std::vector<double> all = FastNetwork(c);
  const double reweight = Number(c, "reweight");
  const double gap = 0.16 - 0.12 * reweight + 0.25 * std::max(0.0, 0.3 - all[0]);
  all[0] += 0.03 * reweight * reweight;
  all.push_back(gap / 0.1 - 1);
  return all;
}

constexpr char kNetwork[] =
    R"("depth": {"randint": [1, 13]}, "width": {"ordinal": [16, 32, 64, 128, 256, 512]},
       "lr": {"loguniform": [1e-5, 1]}, "dropout": {"uniform": [0, 0.7]},
       "batch": {"ordinal": [16, 32, 64, 128, 256]}, "optimizer": {"choice": ["adam", "sgd"]})";
const std::string kFastSpace = std::string("{") + kNetwork + "}";
const std::string kFairSpace =
    std::string("{") + kNetwork + R"(, "reweight": {"uniform": [0, 1]}})";

const std::vector<LimitedFunction>& All() {
  static const std::vector<LimitedFunction> all = {
      {"gardner", R"({"x": {"uniform": [0, 6]}, "y": {"uniform": [0, 6]}})", 1, 2, Gardner},
      {"gramacy", R"({"x": {"uniform": [0, 1]}, "y": {"uniform": [0, 1]}})", 2, 2, Gramacy},
      {"branin_disc", R"({"x": {"uniform": [-5, 10]}, "y": {"uniform": [0, 15]}})", 1, 300,
       BraninDisc},
      {"hartmann6_ball",
       R"({"a": {"uniform": [0, 1]}, "b": {"uniform": [0, 1]}, "c": {"uniform": [0, 1]},
           "d": {"uniform": [0, 1]}, "e": {"uniform": [0, 1]}, "f": {"uniform": [0, 1]}})",
       1, 0, HartmannBall},
      {"spring",
       R"({"wire": {"uniform": [0.05, 0.2]}, "coil": {"uniform": [0.25, 1.3]},
           "turns": {"uniform": [2, 15]}})",
       4, 0.1, Spring},
      {"vessel",
       R"({"shell": {"randint": [1, 100]}, "head": {"randint": [1, 100]},
           "radius": {"uniform": [10, 200]}, "length": {"uniform": [10, 200]}})",
       3, 100, Vessel},
      {"fast_network", kFastSpace, 2, 1.5, FastNetwork},
      {"fair_network", kFairSpace, 3, 1.5, FairNetwork},
  };
  return all;
}

}  // namespace

std::span<const LimitedFunction> LimitedFunctions() { return All(); }

}  // namespace tune
