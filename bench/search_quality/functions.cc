#include "bench/search_quality/functions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "core/check.h"
#include "core/random.h"

namespace tune {
namespace {

constexpr double kPi = std::numbers::pi;

double Square(double x) { return x * x; }

double Number(const Configuration& configuration, std::string_view name) {
  const Value* const value = configuration.Find(name);
  TUNE_CHECK(value != nullptr);
  return value->AsDouble();
}

const std::string& Text(const Configuration& configuration, std::string_view name) {
  const Value* const value = configuration.Find(name);
  TUNE_CHECK(value != nullptr);
  return value->AsString();
}

// x0, x1, ...
std::vector<double> Numbers(const Configuration& configuration, size_t count) {
  std::vector<double> x;
  for (size_t i = 0; i < count; ++i) x.push_back(Number(configuration, "x" + std::to_string(i)));
  return x;
}

double BraninAt(const Configuration& c) {
  const double x = Number(c, "x0");
  const double y = Number(c, "x1");
  const double bend = y - 5.1 / (4 * kPi * kPi) * x * x + 5 / kPi * x - 6;
  return bend * bend + 10 * (1 - 1 / (8 * kPi)) * std::cos(x) + 10;
}

double Hartmann6At(const Configuration& c) {
  constexpr std::array<double, 4> kAlpha = {1.0, 1.2, 3.0, 3.2};
  constexpr double kA[4][6] = {{10, 3, 17, 3.5, 1.7, 8},
                               {0.05, 10, 17, 0.1, 8, 14},
                               {3, 3.5, 1.7, 10, 17, 8},
                               {17, 8, 0.05, 10, 0.1, 14}};
  constexpr double kP[4][6] = {{0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886},
                               {0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991},
                               {0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650},
                               {0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381}};
  const std::vector<double> x = Numbers(c, 6);
  double sum = 0;
  for (size_t i = 0; i < 4; ++i) {
    double distance = 0;
    for (size_t j = 0; j < 6; ++j) distance += kA[i][j] * Square(x[j] - kP[i][j]);
    sum += kAlpha[i] * std::exp(-distance);
  }
  return -sum;
}

// Minimum 0 at (1, ..., 1).
double Levy4At(const Configuration& c) {
  std::vector<double> w;
  for (const double x : Numbers(c, 4)) w.push_back(1 + (x - 1) / 4);
  double sum = Square(std::sin(kPi * w[0]));
  for (size_t i = 0; i + 1 < w.size(); ++i) {
    sum += Square(w[i] - 1) * (1 + 10 * Square(std::sin(kPi * w[i] + 1)));
  }
  return sum + Square(w.back() - 1) * (1 + Square(std::sin(2 * kPi * w.back())));
}

double Ackley(const std::vector<double>& x) {
  double squares = 0;
  double cosines = 0;
  for (const double xi : x) {
    squares += xi * xi;
    cosines += std::cos(2 * kPi * xi);
  }
  const auto count = static_cast<double>(x.size());
  return -20 * std::exp(-0.2 * std::sqrt(squares / count)) - std::exp(cosines / count) + 20 +
         std::numbers::e;
}

double Ackley5At(const Configuration& c) { return Ackley(Numbers(c, 5)); }

double Rastrigin4At(const Configuration& c) {
  double sum = 0;
  for (const double x : Numbers(c, 4)) sum += x * x - 10 * std::cos(2 * kPi * x) + 10;
  return sum;
}

double StyblinskiTang5At(const Configuration& c) {
  double sum = 0;
  for (const double x : Numbers(c, 5)) sum += x * x * x * x - 16 * x * x + 5 * x;
  return sum / 2;
}

// Ten parameters of which the later ones matter less and less, as in most tuning.
double Ellipsoid10At(const Configuration& c) {
  double sum = 0;
  double weight = 1;
  for (const double x : Numbers(c, 10)) {
    sum += weight * Square(x - 0.7);
    weight /= 2;
  }
  return sum;
}

// Rosenbrock's valley over the decimal logarithms of three parameters.
double RosenbrockLog3At(const Configuration& c) {
  std::vector<double> x;
  for (const double p : Numbers(c, 3)) x.push_back(std::log10(p));
  double sum = 0;
  for (size_t i = 0; i < 2; ++i) sum += 100 * Square(x[i + 1] - x[i] * x[i]) + Square(1 - x[i]);
  return sum;
}

// Final loss of a training run: the effective rate lr / (1 - momentum) has an optimum that grows
// with the batch, beyond which the loss soon explodes.
double SgdLogAt(const Configuration& c) {
  const double momentum = Number(c, "momentum");
  const double batch = std::log2(Number(c, "batch_size"));
  const double rate = std::log10(Number(c, "lr") / (1 - momentum));
  const double distance = rate - (-1.5 + 0.15 * (batch - 6));
  const double training = distance > 0 ? 1.2 * std::expm1(1.5 * distance) : -0.4 * distance;
  const double decay = std::log10(Number(c, "weight_decay")) + 3.5;
  return training + 0.08 * Square(decay) + 0.3 * Square(momentum - 0.9) + 0.02 * Square(batch - 7);
}

double IntegerEllipsoid5At(const Configuration& c) {
  constexpr std::array<double, 5> kCentre = {7, 22, 13, 3, 28};
  const std::vector<double> x = Numbers(c, 5);
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i)
    sum += static_cast<double>(i + 1) * Square(x[i] - kCentre[i]);
  return sum / 100;
}

// A network's shape: too small underfits, too large overfits unless dropout grows with it.
double NetworkShapeAt(const Configuration& c) {
  const double width = std::log2(Number(c, "width"));
  const double depth = Number(c, "depth");
  const double capacity = width + 1.5 * std::log2(depth);
  const double rate = std::log10(Number(c, "lr")) + 3 + 0.1 * (depth - 4);
  return 0.05 * Square(capacity - 10) + 0.6 * Square(Number(c, "dropout") - 0.05 * capacity + 0.2) +
         0.15 * Square(rate) + 0.01 * std::fabs(depth - 4);
}

// Six choices of five: costs of their own, and between neighbours.
double Categories6At(const Configuration& c) {
  std::array<uint64_t, 6> item{};
  for (size_t i = 0; i < item.size(); ++i) {
    item[i] = static_cast<uint64_t>(Text(c, "c" + std::to_string(i))[0] - 'a');
  }
  double sum = 0;
  for (uint64_t i = 0; i < item.size(); ++i) {
    sum += KeyedRandom(1, "own cost", i, item[i]).NextDouble();
    if (i == 0) continue;
    sum += 0.7 * KeyedRandom(1, "joint cost", i, item[i - 1] * 5 + item[i]).NextDouble();
  }
  return sum;
}

double MixedAckleyAt(const Configuration& c) {
  std::vector<double> x = Numbers(c, 3);
  x.push_back(Text(c, "c0") == "on" ? 0.0 : 1.0);
  x.push_back(Text(c, "c1") == "relu" ? 0.0 : Text(c, "c1") == "gelu" ? 0.5 : 1.0);
  x.push_back((Number(c, "q") - 0.6) * 2);
  x.push_back(std::log2(Number(c, "o")) - 3);
  return Ackley(x);
}

double TrainersAt(const Configuration& c) {
  const std::string& kind = Text(c, "kind");
  const double decay = 0.05 * Square(std::log10(Number(c, "decay")) + 4);
  if (kind == "sgd") {
    const double rate = std::log10(Number(c, "sgd_lr")) - std::log10(1 - Number(c, "momentum"));
    return 0.15 + decay + 0.2 * Square(rate + 0.5) + 0.5 * Square(Number(c, "momentum") - 0.8);
  }
  if (kind == "adam") {
    const double rate = std::log10(Number(c, "adam_lr")) + 3;
    return decay + 0.3 * Square(rate) + 2 * Square(Number(c, "beta") - 0.9) +
           (Text(c, "amsgrad") == "yes" ? 0.1 : 0.0);
  }
  return 0.3 + decay + 0.1 * std::fabs(Number(c, "history") - 10) / 10;
}

// Forty parameters; the weights of their squares fall from 1 to 1/1000.
double Ellipsoid40At(const Configuration& c) {
  double sum = 0;
  for (int i = 0; i < 40; ++i) {
    const double best = 0.1 + 0.02 * ((7 * i) % 40);
    sum += std::pow(1e-3, i / 39.0) * Square(Number(c, "x" + std::to_string(i)) - best);
  }
  return sum;
}

// Thirty parameters, of which five matter: two of them together.
double Sparse30At(const Configuration& c) {
  const auto at = [&c](const char* name) { return Number(c, name); };
  return Square(at("x3") - 0.3) + Square(at("x11") - 0.8) +
         2 * Square(at("x17") - 0.2 - 0.5 * at("x23")) + 0.5 * Square(at("x23") - 0.6) +
         0.5 * (1 - std::cos(6 * (at("x28") - 0.4)));
}

// Eight choices, two of which should not be alike, and four numbers, one of which follows a choice.
double Pipeline12At(const Configuration& c) {
  double loss = Text(c, "c0") == Text(c, "c5") ? 0.2 : 0;
  for (int i = 0; i < 8; ++i) {
    const int item = Text(c, "c" + std::to_string(i))[0] - 'a';
    const int best = (3 * i + 1) % 4;
    loss += item == best ? 0 : 0.05 * (i + 1) * (1 + 0.3 * ((item + 4 - best) % 4));
  }
  const double rate = Text(c, "c3") == "c" ? -2 : -3;
  return loss + 0.3 * Square(std::log10(Number(c, "lr")) - rate) +
         Square(Number(c, "dropout") - 0.25) + 0.1 * Square(std::log2(Number(c, "width")) - 7) +
         2 * Square(Number(c, "mix") - 0.7);
}

// Six methods, each with three parameters of its own. The best one is the hardest to set.
double Methods6At(const Configuration& c) {
  constexpr std::array<double, 6> kFloors = {0.3, 0.12, 0.5, 0, 0.2, 0.4};
  constexpr std::array<double, 6> kSteepness = {1, 0.5, 1, 3, 2, 1};
  const std::string& kind = Text(c, "kind");
  const int method = kind[0] - '0';
  const double rate = std::log10(Number(c, "rate" + kind)) + 3.5 - 0.4 * method;
  const double share = Number(c, "share" + kind) - 0.15 * method - 0.1;
  const double size = Number(c, "size" + kind) / 40.0 - 0.9 + 0.1 * method;
  return kFloors[static_cast<size_t>(method)] +
         kSteepness[static_cast<size_t>(method)] *
             (0.15 * Square(rate) + Square(share) + 0.3 * Square(size + 0.2 * share)) +
         0.1 * Square(Number(c, "shared") - 0.5);
}

constexpr std::string_view kBranin = R"({"x0": {"uniform": [-5, 10]}, "x1": {"uniform": [0, 15]}})";
constexpr std::string_view kHartmann6 =
    R"({"x0": {"uniform": [0, 1]}, "x1": {"uniform": [0, 1]}, "x2": {"uniform": [0, 1]},
        "x3": {"uniform": [0, 1]}, "x4": {"uniform": [0, 1]}, "x5": {"uniform": [0, 1]}})";
constexpr std::string_view kLevy4 =
    R"({"x0": {"uniform": [-10, 10]}, "x1": {"uniform": [-10, 10]},
        "x2": {"uniform": [-10, 10]}, "x3": {"uniform": [-10, 10]}})";
constexpr std::string_view kAckley5 =
    R"({"x0": {"uniform": [-25, 40]}, "x1": {"uniform": [-40, 25]}, "x2": {"uniform": [-20, 45]},
        "x3": {"uniform": [-45, 20]}, "x4": {"uniform": [-30, 35]}})";
constexpr std::string_view kRastrigin4 =
    R"({"x0": {"uniform": [-4, 6]}, "x1": {"uniform": [-6, 4]}, "x2": {"uniform": [-3, 7]},
        "x3": {"uniform": [-7, 3]}})";
constexpr std::string_view kStyblinskiTang5 =
    R"({"x0": {"uniform": [-5, 5]}, "x1": {"uniform": [-5, 5]}, "x2": {"uniform": [-5, 5]},
        "x3": {"uniform": [-5, 5]}, "x4": {"uniform": [-5, 5]}})";
constexpr std::string_view kEllipsoid10 =
    R"({"x0": {"uniform": [0, 1]}, "x1": {"uniform": [0, 1]}, "x2": {"uniform": [0, 1]},
        "x3": {"uniform": [0, 1]}, "x4": {"uniform": [0, 1]}, "x5": {"uniform": [0, 1]},
        "x6": {"uniform": [0, 1]}, "x7": {"uniform": [0, 1]}, "x8": {"uniform": [0, 1]},
        "x9": {"uniform": [0, 1]}})";
constexpr std::string_view kRosenbrockLog3 =
    R"({"x0": {"loguniform": [0.01, 100]}, "x1": {"loguniform": [0.01, 100]},
        "x2": {"loguniform": [0.01, 100]}})";
constexpr std::string_view kSgdLog =
    R"({"lr": {"loguniform": [1e-6, 1]}, "momentum": {"uniform": [0, 0.99]},
        "weight_decay": {"loguniform": [1e-7, 1e-1]},
        "batch_size": {"ordinal": [16, 32, 64, 128, 256, 512]}})";
constexpr std::string_view kIntegerEllipsoid5 =
    R"({"x0": {"randint": [0, 32]}, "x1": {"randint": [0, 32]}, "x2": {"randint": [0, 32]},
        "x3": {"randint": [0, 32]}, "x4": {"randint": [0, 32]}})";
constexpr std::string_view kNetworkShape =
    R"({"width": {"lograndint": [8, 2049]}, "depth": {"randint": [1, 13]},
        "dropout": {"quniform": [0, 0.9, 0.05]}, "lr": {"loguniform": [1e-5, 1]}})";
constexpr std::string_view kCategories6 =
    R"({"c0": {"choice": ["a", "b", "c", "d", "e"]}, "c1": {"choice": ["a", "b", "c", "d", "e"]},
        "c2": {"choice": ["a", "b", "c", "d", "e"]}, "c3": {"choice": ["a", "b", "c", "d", "e"]},
        "c4": {"choice": ["a", "b", "c", "d", "e"]}, "c5": {"choice": ["a", "b", "c", "d", "e"]}})";
constexpr std::string_view kMixedAckley =
    R"({"x0": {"uniform": [-2, 4]}, "x1": {"uniform": [-4, 2]}, "x2": {"uniform": [-1, 5]},
        "c0": {"choice": ["off", "on"]}, "c1": {"choice": ["tanh", "relu", "gelu"]},
        "q": {"quniform": [0, 1, 0.1]}, "o": {"ordinal": [1, 2, 4, 8, 16, 32]}})";
constexpr std::string_view kTrainers =
    R"({"kind": {"choice": ["sgd", "adam", "lbfgs"]}, "decay": {"loguniform": [1e-7, 1e-1]},
        "sgd_lr": {"loguniform": [1e-4, 10], "when": {"kind": "sgd"}},
        "momentum": {"uniform": [0, 0.99], "when": {"kind": "sgd"}},
        "adam_lr": {"loguniform": [1e-6, 1], "when": {"kind": "adam"}},
        "beta": {"uniform": [0.5, 1], "when": {"kind": "adam"}},
        "amsgrad": {"choice": ["yes", "no"], "when": {"kind": "adam"}},
        "history": {"randint": [1, 51], "when": {"kind": "lbfgs"}}})";

// {"x0": {"uniform": [0, 1]}, ...}
std::string CubeOf(int dimensions) {
  std::string space = "{";
  for (int i = 0; i < dimensions; ++i) {
    space += (i == 0 ? "" : ", ") + ("\"x" + std::to_string(i)) + R"(": {"uniform": [0, 1]})";
  }
  return space + "}";
}

std::string Pipeline12() {
  std::string space = "{";
  for (int i = 0; i < 8; ++i) {
    space += "\"c" + std::to_string(i) + R"(": {"choice": ["a", "b", "c", "d"]}, )";
  }
  return space + R"("lr": {"loguniform": [1e-6, 1]}, "dropout": {"uniform": [0, 0.9]},
                    "width": {"lograndint": [8, 1025]}, "mix": {"uniform": [0, 1]}})";
}

std::string Methods6() {
  std::string space =
      R"({"kind": {"choice": ["0", "1", "2", "3", "4", "5"]}, "shared": {"uniform": [0, 1]})";
  for (int i = 0; i < 6; ++i) {
    const std::string kind = std::to_string(i);
    const std::string when = R"(, "when": {"kind": ")" + kind + "\"}}";
    space += R"(, "rate)" + kind + R"(": {"loguniform": [1e-6, 1])" + when;
    space += R"(, "share)" + kind + R"(": {"uniform": [0, 1])" + when;
    space += R"(, "size)" + kind + R"(": {"randint": [1, 65])" + when;
  }
  return space + "}";
}

constexpr double kBraninMinimum = 0.39788735772973816;
constexpr double kHartmann6Minimum = -3.3223680114155147;
constexpr double kStyblinskiTang5Minimum = -195.83082851885708;

const std::vector<TestFunction>& All() {
  static const std::string cube30 = CubeOf(30);
  static const std::string cube40 = CubeOf(40);
  static const std::string pipeline12 = Pipeline12();
  static const std::string methods6 = Methods6();
  static const std::vector<TestFunction> functions = {
      {"branin", kBranin, kBraninMinimum, 0, BraninAt},
      {"hartmann6", kHartmann6, kHartmann6Minimum, 0, Hartmann6At},
      {"levy4", kLevy4, 0, 0, Levy4At},
      {"ackley5", kAckley5, 0, 0, Ackley5At},
      {"rastrigin4", kRastrigin4, 0, 0, Rastrigin4At},
      {"styblinski_tang5", kStyblinskiTang5, kStyblinskiTang5Minimum, 0, StyblinskiTang5At},
      {"ellipsoid10", kEllipsoid10, 0, 0, Ellipsoid10At},
      {"rosenbrock_log3", kRosenbrockLog3, 0, 0, RosenbrockLog3At},
      {"sgd_log", kSgdLog, 0, 0, SgdLogAt},
      {"integer_ellipsoid5", kIntegerEllipsoid5, 0, 0, IntegerEllipsoid5At},
      {"network_shape", kNetworkShape, 0, 0, NetworkShapeAt},
      {"categories6", kCategories6, 2.3883537860353941, 0, Categories6At},
      {"mixed_ackley", kMixedAckley, 0, 0, MixedAckleyAt},
      {"trainers", kTrainers, 0, 0, TrainersAt},
      {"noisy_branin", kBranin, kBraninMinimum, 2, BraninAt},
      {"noisy_hartmann6", kHartmann6, kHartmann6Minimum, 0.2, Hartmann6At},
      {"ellipsoid40", cube40, 0, 0, Ellipsoid40At},
      {"sparse30", cube30, 0, 0, Sparse30At},
      {"pipeline12", pipeline12, 0, 0, Pipeline12At},
      {"methods6", methods6, 0, 0, Methods6At},
  };
  return functions;
}

}  // namespace

std::span<const TestFunction> TestFunctions() { return All(); }

const TestFunction* FindTestFunction(std::string_view name) {
  const auto found = std::find_if(All().begin(), All().end(), [&](const TestFunction& function) {
    return function.name == name;
  });
  return found == All().end() ? nullptr : &*found;
}

double Observe(const TestFunction& function, const Configuration& configuration, uint64_t seed,
               int64_t trial) {
  const double value = function.value(configuration);
  if (function.noise == 0) return value;
  return value +
         function.noise * KeyedRandom(seed, "noise", static_cast<uint64_t>(trial)).NextNormal();
}

}  // namespace tune
