// How fast trials trained, by how many of a shape (trial_runner/fusion.h) trained as one on a kind
// of device, and how many that lets train as one.
//
// Thread rule: values, pure functions; one thread for a LaneSpeeds.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tune {

// What speeds are compared within.
struct LaneKind {
  std::string shape;
  std::string device;  // Its name; empty: the processor, or devices that are only counted.
  friend auto operator<=>(const LaneKind&, const LaneKind&) = default;
};

struct LaneSpeed {
  int64_t lanes = 1;
  double images_per_second = 0;  // Of all lanes together: the median of the latest reports.
  int64_t report_count = 0;      // Of which it is the median.
  friend bool operator==(const LaneSpeed&, const LaneSpeed&) = default;
};

struct LaneSpeedRow {
  LaneKind kind;
  LaneSpeed speed;
  friend bool operator==(const LaneSpeedRow&, const LaneSpeedRow&) = default;
};

// More than `kept.lanes` do not train as one: each larger number that was measured was slower than
// the fastest by more than a twentieth, which is more than speeds differ by chance; `slower` is the
// smallest of these.
struct LaneLimit {
  LaneSpeed kept;
  LaneSpeed slower;
  friend bool operator==(const LaneLimit&, const LaneLimit&) = default;
};

// Of speeds of one kind, in any order. Nothing: nothing speaks against more lanes than were
// measured.
std::optional<LaneLimit> LaneLimitOf(std::vector<LaneSpeed> speeds);

// "8 were slower (2310 against 2480 images/s)".
std::string Describe(const LaneLimit& limit);

// What is known of them, from earlier sweeps and from this one's reports, which count more.
class LaneSpeeds {
 public:
  // A number of lanes counts as measured from so many reports on: the first one after others joined
  // or left is disturbed by that.
  static constexpr int64_t kReportsMin = 3;
  static constexpr int64_t kReportsMax = 9;  // The median follows the latest ones.

  // Of an earlier sweep.
  void Know(const LaneSpeedRow& row);
  // A report of so many images a second, of all lanes together. What is known from it, once it is
  // measured.
  std::optional<LaneSpeedRow> Measure(const LaneKind& kind, int64_t lanes,
                                      double images_per_second);

  // In order of lanes.
  std::vector<LaneSpeed> Of(const LaneKind& kind) const;

 private:
  struct Measured {
    std::optional<LaneSpeed> known;
    std::deque<double> reports;  // Of this sweep, the latest ones.
  };
  std::map<LaneKind, std::map<int64_t, Measured>> measured_;
};

}  // namespace tune
