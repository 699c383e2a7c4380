#include "search/domain.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include "core/check.h"
#include "core/input_error.h"
#include "core/json.h"
#include "search/normal.h"

namespace tune {
namespace {

constexpr std::array<std::string_view, 13> kNames = {
    "uniform",     "quniform", "loguniform", "qloguniform", "randint", "qrandint",   "lograndint",
    "qlograndint", "randn",    "qrandn",     "choice",      "ordinal", "grid_search"};

// What a domain's list must hold, for messages.
std::string_view Form(Domain::Kind kind) {
  switch (kind) {
    case Domain::Kind::kUniform:
    case Domain::Kind::kLogUniform:
    case Domain::Kind::kRandInt:
    case Domain::Kind::kLogRandInt:
      return "[lo, hi]";
    case Domain::Kind::kRandN:
      return "[mean, sd]";
    case Domain::Kind::kQRandN:
      return "[mean, sd, q]";
    default:
      return "[lo, hi, q]";
  }
}

constexpr double kWholeMax = 0x1p53;  // Up to here every integer is a double.

// A whole number, also when written with a point or an exponent (1e3).
std::optional<int64_t> WholeNumber(const Value& value) {
  if (value.is_int()) return value.AsInt();
  if (!value.is_double()) return std::nullopt;
  const double number = value.AsDouble();
  if (std::floor(number) != number || std::fabs(number) > kWholeMax) return std::nullopt;
  return static_cast<int64_t>(number);
}

// The k with x = k * q, within one part in 10^9.
std::optional<int64_t> MultipleOf(double x, double q) {
  const double ratio = x / q;
  const double k = std::round(ratio);
  if (std::fabs(k) > kWholeMax || std::fabs(ratio - k) > 1e-9 * std::max(1.0, std::fabs(k))) {
    return std::nullopt;
  }
  return static_cast<int64_t>(k);
}

// q as digits / 10^n exactly as it would be written, if it has few digits: then k * digits / 10^n
// is the double nearest to the decimal multiple.
bool SplitDecimal(double q, int64_t& digits, double& divisor) {
  char text[64];
  const auto [end, error] = std::to_chars(text, text + sizeof text, q, std::chars_format::fixed);
  const std::string_view written(text, static_cast<size_t>(end - text));
  if (error != std::errc() || written.size() > 12) return false;
  const size_t point = written.find('.');
  if (point == std::string_view::npos) return false;
  std::string all(written.substr(0, point));
  all += written.substr(point + 1);
  digits = 0;
  std::from_chars(all.data(), all.data() + all.size(), digits);
  divisor = 1;
  for (size_t i = point + 1; i < written.size(); ++i) divisor *= 10;
  return true;
}

}  // namespace

bool IsSameValue(const Value& a, const Value& b) {
  if (a == b) return true;
  return a.is_number() && b.is_number() && a.is_int() != b.is_int() && a.AsDouble() == b.AsDouble();
}

std::string ShownList(const std::vector<Value>& values) {
  constexpr size_t kShownMax = 5;
  std::string list;
  for (size_t i = 0; i < values.size() && i < kShownMax; ++i) {
    list += (i == 0 ? "" : ", ") + ToJson(values[i]);
  }
  return values.size() > kShownMax ? list + ", ..." : list;
}

std::span<const std::string_view> Domain::Names() { return kNames; }

std::string_view Domain::name() const { return kNames[static_cast<size_t>(kind_)]; }

std::string Domain::ToText() const {
  std::vector<Value> arguments = values_;
  const auto add = [&](double x) {
    if (std::floor(x) == x && std::fabs(x) < kWholeMax) {
      arguments.emplace_back(static_cast<int64_t>(x));
    } else {
      arguments.emplace_back(x);
    }
  };
  if (!is_list()) {
    add(lo_);
    add(hi_);
    if (is_quantised()) add(q_);
  }
  return std::string(name()) + ": [" + ShownList(arguments) + "]";
}

bool Domain::is_log() const {
  return kind_ == Kind::kLogUniform || kind_ == Kind::kQLogUniform || kind_ == Kind::kLogRandInt ||
         kind_ == Kind::kQLogRandInt;
}

bool Domain::is_quantised() const {
  return kind_ == Kind::kQUniform || kind_ == Kind::kQLogUniform || kind_ == Kind::kQRandInt ||
         kind_ == Kind::kQLogRandInt || kind_ == Kind::kQRandN;
}

Result<Domain> Domain::Parse(const Value& map) {
  const MapEntry* named = nullptr;
  for (const MapEntry& entry : map.AsMap()) {
    const auto* const found = std::find(kNames.begin(), kNames.end(), entry.key);
    if (found == kNames.end()) continue;
    if (named != nullptr) {
      return InvalidAt(entry.key_place, "'" + entry.key + "' beside '" + named->key +
                                            "'; a parameter has one domain");
    }
    named = &entry;
  }
  TUNE_CHECK(named != nullptr);
  Domain domain;
  domain.kind_ =
      static_cast<Kind>(std::find(kNames.begin(), kNames.end(), named->key) - kNames.begin());
  for (const MapEntry& entry : map.AsMap()) {
    if (&entry == named || entry.key == "when" || entry.key == "guess") continue;
    if (entry.key == "weights" && domain.kind_ == Kind::kChoice) continue;
    return InvalidAt(entry.key_place,
                     "'" + entry.key + "' cannot stand beside '" + named->key + "'" +
                         (entry.key == "weights" ? "; only choice has weights" : ""));
  }
  if (!named->value.is_list()) {
    return InvalidAt(named->value.place,
                     named->key + ": read " + Shown(named->value) + ", expected a list" +
                         (domain.is_list() ? "" : ", " + std::string(Form(domain.kind_))));
  }
  const Status status = domain.is_list() ? domain.ReadList(map) : domain.ReadNumbers(named->value);
  if (!status.ok()) return status;
  const Value* const guess = map.Find("guess");
  if (guess != nullptr) TUNE_RETURN_IF_ERROR(domain.ReadGuess(*guess));
  return domain;
}

Status Domain::ReadList(const Value& map) {
  const Value& list = *map.Find(name());
  values_ = list.AsList();
  if (values_.empty()) {
    return InvalidAt(list.place,
                     std::string(name()) + ": the list is empty; name at least one value");
  }
  const Value* const weights = map.Find("weights");
  return weights == nullptr ? OkStatus() : ReadWeights(*weights);
}

Status Domain::ReadWeights(const Value& weights) {
  if (!weights.is_list() || weights.AsList().size() != values_.size()) {
    return InvalidAt(weights.place,
                     "weights: read " +
                         (weights.is_list() ? std::to_string(weights.AsList().size()) + " of them"
                                            : Shown(weights)) +
                         ", expected a list of " + std::to_string(values_.size()) +
                         " numbers, one for each choice");
  }
  double sum = 0;
  for (const Value& weight : weights.AsList()) {
    if (!weight.is_number() || !std::isfinite(weight.AsDouble()) || weight.AsDouble() < 0) {
      return InvalidAt(weight.place,
                       "weights: read " + Shown(weight) + ", expected a number of 0 or more");
    }
    sum += weight.AsDouble();
  }
  if (!(sum > 0) || !std::isfinite(sum)) {
    return InvalidAt(weights.place, "weights: they add up to " + Shown(Value(sum)) +
                                        ", expected a finite sum above 0");
  }
  // What has the weight 0 is not part of the domain.
  std::vector<Value> possible;
  sum = 0;
  for (size_t i = 0; i < values_.size(); ++i) {
    const double weight = weights.AsList()[i].AsDouble();
    if (weight == 0) continue;
    sum += weight;
    cumulative_.push_back(sum);
    possible.push_back(std::move(values_[i]));
  }
  values_ = std::move(possible);
  return OkStatus();
}

Status Domain::ReadGuess(const Value& guess) {
  if (kind_ == Kind::kGridSearch) {
    return InvalidAt(guess.place, "guess: grid_search tries every value; a guess changes nothing");
  }
  guess_ = OwnValue(guess);
  if (guess_) return OkStatus();
  return InvalidAt(guess.place, "guess: read " + Shown(guess) +
                                    ", which is not in the parameter's domain, " + ToText());
}

Status Domain::ReadNumbers(const Value& arguments) {
  const std::string label = std::string(name()) + ": ";
  const Value::List& list = arguments.AsList();
  const size_t wanted = is_quantised() ? 3 : 2;
  if (list.size() != wanted) {
    return InvalidAt(arguments.place, label + "read " + std::to_string(list.size()) +
                                          (list.size() == 1 ? " number" : " numbers") +
                                          ", expected " + std::string(Form(kind_)));
  }
  for (const Value& item : list) {
    if (is_integer() ? !WholeNumber(item) : !item.is_number() || !std::isfinite(item.AsDouble())) {
      return InvalidAt(item.place, label + "read " + Shown(item) + ", expected " +
                                       (is_integer() ? "an integer" : "a finite number"));
    }
  }
  lo_ = list[0].AsDouble();
  hi_ = list[1].AsDouble();
  if (is_quantised()) q_ = list[2].AsDouble();
  if (is_quantised() && !(q_ > 0)) {
    return InvalidAt(list[2].place, label + "q is " + Shown(list[2]) + "; it must be above 0");
  }
  if (is_normal() && !(hi_ > 0)) {
    return InvalidAt(list[1].place, label + "sd is " + Shown(list[1]) + "; it must be above 0");
  }
  const bool in_order = is_integer() ? *WholeNumber(list[0]) < *WholeNumber(list[1]) : lo_ < hi_;
  if (!is_normal() && !in_order) {
    return InvalidAt(list[1].place, label + "lo is " + Shown(list[0]) + " and hi is " +
                                        Shown(list[1]) + "; lo must be below hi");
  }
  if (!is_normal() && !std::isfinite(hi_ - lo_)) {
    return InvalidAt(list[1].place, label + "the range is wider than a double can hold");
  }
  if (is_log() && !(lo_ > 0)) {
    return InvalidAt(list[0].place,
                     label + "lo is " + Shown(list[0]) + "; on a log scale it must be above 0");
  }
  TUNE_RETURN_IF_ERROR(SetGrid(arguments));
  const bool is_one = is_discrete() && first_ == last_;
  if (is_log() && !is_one && !(ScaleLo() < ScaleHi())) {
    return InvalidAt(list[1].place, label + "lo is " + Shown(list[0]) + " and hi is " +
                                        Shown(list[1]) +
                                        ", whose logarithms are the same; so close to each other "
                                        "they need no log scale");
  }
  return OkStatus();
}

Status Domain::SetGrid(const Value& arguments) {
  if (is_integer()) return SetIntegerGrid(arguments);
  if (is_quantised()) return SetQuantisedGrid(arguments);
  return OkStatus();
}

Status Domain::SetIntegerGrid(const Value& arguments) {
  const Value::List& list = arguments.AsList();
  const int64_t lo = *WholeNumber(list[0]);
  const int64_t hi = *WholeNumber(list[1]);
  if (static_cast<uint64_t>(hi) - static_cast<uint64_t>(lo) > (uint64_t{1} << 62)) {
    return InvalidAt(list[1].place, std::string(name()) + ": the range is wider than 62 bits");
  }
  if (!is_quantised()) {
    first_ = lo;
    last_ = hi - 1;
    return OkStatus();
  }
  step_digits_ = *WholeNumber(list[2]);
  for (const Value& end : {list[0], list[1]}) {
    if (*WholeNumber(end) % step_digits_ != 0) {
      return InvalidAt(end.place, std::string(name()) + ": " + Shown(end) +
                                      " is not a multiple of q = " + Shown(list[2]));
    }
  }
  first_ = lo / step_digits_;
  last_ = hi / step_digits_;
  return OkStatus();
}

Status Domain::SetQuantisedGrid(const Value& arguments) {
  const Value::List& list = arguments.AsList();
  const std::string label = std::string(name()) + ": ";
  if (!SplitDecimal(q_, step_digits_, step_divisor_)) step_divisor_ = 0;
  if (is_normal()) {
    // 40 deviations are never left by a draw of 53 bits.
    if ((std::fabs(lo_) + 40 * hi_) / q_ > kWholeMax) {
      return InvalidAt(list[2].place, label + "q is too small beside mean and sd");
    }
    return OkStatus();
  }
  for (const Value& end : {list[0], list[1]}) {
    if (!MultipleOf(end.AsDouble(), q_)) {
      return InvalidAt(end.place,
                       label + Shown(end) + " is not a multiple of q = " + Shown(list[2]));
    }
  }
  first_ = *MultipleOf(lo_, q_);
  last_ = *MultipleOf(hi_, q_);
  if (is_log() && first_ < 1) {
    return InvalidAt(list[0].place, label + Shown(list[0]) + " is nearer to 0 than to q = " +
                                        Shown(list[2]) + "; on a log scale lo must be q or more");
  }
  return OkStatus();
}

Value Domain::GridValue(int64_t multiple) const {
  if (is_integer()) return Value(multiple * step_digits_);
  const double scaled = static_cast<double>(multiple) * static_cast<double>(step_digits_);
  if (step_divisor_ == 0 || std::fabs(scaled) > kWholeMax) {
    return Value(static_cast<double>(multiple) * q_);
  }
  return Value(scaled / step_divisor_);
}

int64_t Domain::DrawMultiple(KeyedRandom& random) const {
  if (kind_ == Kind::kQRandN) return std::llround((lo_ + hi_ * random.NextNormal()) / q_);
  if (!is_log()) {
    const uint64_t count = static_cast<uint64_t>(last_) - static_cast<uint64_t>(first_) + 1;
    return static_cast<int64_t>(static_cast<uint64_t>(first_) + random.NextBelow(count));
  }
  // The cell of multiple k reaches from k - below to k - below + 1.
  const double below = is_quantised() ? 0.5 : 0.0;
  const double u = random.NextUniform(std::log(static_cast<double>(first_) - below),
                                      std::log(static_cast<double>(last_) - below + 1));
  const double k = std::floor(std::exp(u) + below);
  if (k <= static_cast<double>(first_)) return first_;
  if (k >= static_cast<double>(last_)) return last_;
  return static_cast<int64_t>(k);
}

Value Domain::Draw(KeyedRandom& random) const {
  if (is_list()) {
    if (cumulative_.empty()) return values_[random.NextBelow(values_.size())];
    const double u = random.NextUniform(0, cumulative_.back());
    const auto above = std::upper_bound(cumulative_.begin(), cumulative_.end(), u);
    return values_[static_cast<size_t>(above - cumulative_.begin())];
  }
  if (is_integer() || is_quantised()) return GridValue(DrawMultiple(random));
  if (is_normal()) return Value(lo_ + hi_ * random.NextNormal());
  if (!is_log()) return Value(random.NextUniform(lo_, hi_));
  // Rounding of the exponential may leave the interval.
  const double x = std::exp(random.NextUniform(std::log(lo_), std::log(hi_)));
  return Value(std::clamp(x, lo_, std::nextafter(hi_, lo_)));
}

std::optional<uint64_t> Domain::Count() const {
  if (is_list()) return values_.size();
  if (is_normal() || !(is_integer() || is_quantised())) return std::nullopt;
  return static_cast<uint64_t>(last_) - static_cast<uint64_t>(first_) + 1;
}

Value Domain::At(uint64_t index) const {
  TUNE_CHECK(Count() && index < *Count());
  if (is_list()) return values_[index];
  return GridValue(static_cast<int64_t>(static_cast<uint64_t>(first_) + index));
}

// ---- as [0, 1]

double Domain::ScaleLo() const {
  const double below = is_quantised() ? 0.5 : 0.0;
  if (is_integer() || is_quantised()) {
    const double lo = static_cast<double>(first_) - below;
    return is_log() ? std::log(lo) : lo;
  }
  return is_log() ? std::log(lo_) : lo_;
}

double Domain::ScaleHi() const {
  const double below = is_quantised() ? 0.5 : 0.0;
  if (is_integer() || is_quantised()) {
    const double hi = static_cast<double>(last_) + 1 - below;
    return is_log() ? std::log(hi) : hi;
  }
  return is_log() ? std::log(hi_) : hi_;
}

std::optional<std::pair<double, double>> Domain::Ends() const {
  if (is_list() || is_normal()) return std::nullopt;
  if (!is_discrete()) return std::pair(lo_, hi_);
  return std::pair(GridValue(first_).AsDouble(), GridValue(last_).AsDouble());
}

Value Domain::FromUnit(double u) const {
  TUNE_CHECK(u >= 0 && u <= 1);
  if (is_list()) {
    if (cumulative_.empty()) {
      const auto index = static_cast<size_t>(u * static_cast<double>(values_.size()));
      return values_[std::min(index, values_.size() - 1)];
    }
    const auto above =
        std::upper_bound(cumulative_.begin(), cumulative_.end(), u * cumulative_.back());
    return values_[std::min(static_cast<size_t>(above - cumulative_.begin()), values_.size() - 1)];
  }
  if (is_normal()) {
    // As far out as a draw of 53 bits reaches.
    const double x = lo_ + hi_ * NormalQuantile(std::clamp(u, 0x1p-53, 1 - 0x1p-53));
    return is_quantised() ? GridValue(std::llround(x / q_)) : Value(x);
  }
  const double width = ScaleHi() - ScaleLo();
  if (!(width > 0)) {
    // Integers that are one double.
    const auto count = static_cast<double>(*Count());
    return At(static_cast<uint64_t>(std::min(u * count, count - 1)));
  }
  const double scaled = ScaleLo() + u * width;
  const double x = is_log() ? std::exp(scaled) : scaled;
  if (!is_discrete()) return Value(std::clamp(x, lo_, std::nextafter(hi_, lo_)));
  const double k = std::floor(x + (is_quantised() ? 0.5 : 0.0));
  if (k <= static_cast<double>(first_)) return GridValue(first_);
  if (k >= static_cast<double>(last_)) return GridValue(last_);
  return GridValue(static_cast<int64_t>(k));
}

double Domain::UnitOf(double x) const {
  if (is_normal()) return NormalCdf((x - lo_) / hi_);
  const double scaled = is_log() ? std::log(x) : x;
  return std::clamp((scaled - ScaleLo()) / (ScaleHi() - ScaleLo()), 0.0, 1.0);
}

UnitCell Domain::CellOf(int64_t multiple) const {
  const double below = is_quantised() ? 0.5 : 0.0;
  const double lo = static_cast<double>(multiple) - below;
  if (is_normal()) return {UnitOf(lo * q_), UnitOf((lo + 1) * q_)};
  if (!is_log() && !(ScaleLo() < ScaleHi())) {
    const auto count = static_cast<double>(*Count());
    const auto index =
        static_cast<double>(static_cast<uint64_t>(multiple) - static_cast<uint64_t>(first_));
    return {index / count, (index + 1) / count};
  }
  return {multiple == first_ ? 0.0 : UnitOf(lo), multiple == last_ ? 1.0 : UnitOf(lo + 1)};
}

std::optional<int64_t> Domain::MultipleFor(const Value& value) const {
  std::optional<int64_t> multiple;
  if (is_integer()) {
    const std::optional<int64_t> whole = WholeNumber(value);
    if (whole && *whole % step_digits_ == 0) multiple = *whole / step_digits_;
  } else {
    multiple = MultipleOf(value.AsDouble(), q_);
  }
  if (multiple && !is_normal() && (*multiple < first_ || *multiple > last_)) return std::nullopt;
  return multiple;
}

std::optional<Value> Domain::OwnValue(const Value& value) const {
  if (is_list()) {
    auto found = std::find(values_.begin(), values_.end(), value);
    if (found == values_.end()) {
      found = std::find_if(values_.begin(), values_.end(),
                           [&](const Value& item) { return IsSameValue(item, value); });
    }
    return found == values_.end() ? std::nullopt : std::optional(*found);
  }
  if (!ToUnit(value)) return std::nullopt;
  return is_discrete() ? GridValue(*MultipleFor(value)) : Value(value.AsDouble());
}

UnitCell Domain::CellAt(uint64_t index) const {
  if (!is_list()) return *ToUnit(At(index));
  TUNE_CHECK(index < values_.size());
  if (cumulative_.empty()) {
    const auto count = static_cast<double>(values_.size());
    return UnitCell{static_cast<double>(index) / count, static_cast<double>(index + 1) / count};
  }
  return UnitCell{(index == 0 ? 0.0 : cumulative_[index - 1]) / cumulative_.back(),
                  cumulative_[index] / cumulative_.back()};
}

std::optional<UnitCell> Domain::ToUnit(const Value& value) const {
  if (is_list()) {
    const auto found = std::find(values_.begin(), values_.end(), value);
    if (found == values_.end()) return std::nullopt;
    return CellAt(static_cast<uint64_t>(found - values_.begin()));
  }
  if (!value.is_number() || !std::isfinite(value.AsDouble())) return std::nullopt;
  const double x = value.AsDouble();
  if (!is_discrete()) {
    const bool is_inside = is_normal() || (x >= lo_ && x < hi_);
    return is_inside ? std::optional(UnitCell{UnitOf(x), UnitOf(x)}) : std::nullopt;
  }
  const std::optional<int64_t> multiple = MultipleFor(value);
  if (!multiple) return std::nullopt;
  return CellOf(*multiple);
}

}  // namespace tune
