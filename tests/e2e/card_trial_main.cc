// Stands in place of tune_trial_food11 where tests want trials on a card and there is none: a
// process of lanes that trains nothing. An epoch is the time that all lanes need to be answered;
// all train at 620 images a second up to four, and as eight at 2310 together. So a card may behave.
#include <algorithm>
#include <cmath>
#include <map>
#include <variant>

#include "core/check.h"
#include "trial_runner/worker/lane_session.h"

namespace tune {
namespace {

double ImagesPerSecond(size_t lanes) {
  return lanes <= 4 ? 620.0 * static_cast<double>(lanes) : 2310.0;
}

class CardTrials {
 public:
  void Run() {
    while (!session_.is_closed()) {
      const auto event = session_.Next(WaitMs());
      if (event) {
        std::visit([this, &event](const auto& what) { On(event->lane, what); }, event->message);
      } else if (!lanes_.empty() && !session_.is_closed()) {
        TrainEpoch();
      }
    }
  }

 private:
  struct Lane {
    int64_t epoch = 0;
    int64_t epochs = 0;
    bool awaits_answer = false;
  };

  // Others that are on their way are waited for; nobody trains while one awaits its answer.
  int WaitMs() const {
    constexpr int kOthersMs = 20;
    const bool any_waits = std::any_of(
        lanes_.begin(), lanes_.end(), [](const auto& entry) { return entry.second.awaits_answer; });
    return lanes_.empty() || any_waits ? TrialSocket::kForever : kOthersMs;
  }

  void On(int64_t lane, const TrialStart& start) {
    const Value* const epochs = start.config.Find("total_epochs");
    TUNE_CHECK(epochs != nullptr);
    lanes_[lane] = {start.from_iteration, std::llround(epochs->AsDouble()), false};
  }
  void On(int64_t lane, const LaneGoesOn&) { lanes_.at(lane).awaits_answer = false; }
  void On(int64_t lane, const LaneShallEnd&) {
    lanes_.erase(lane);
    session_.End(lane, {Outcome::kStopped, "", EndDetail::kNone});
  }

  void TrainEpoch() {
    const auto count = static_cast<double>(lanes_.size());
    const double own = ImagesPerSecond(lanes_.size()) / count;
    for (auto it = lanes_.begin(); it != lanes_.end();) {
      const int64_t number = it->first;
      Lane& lane = it->second;
      Report report;
      report.iteration = ++lane.epoch;
      report.metrics = {{"val_loss", 1.0 / static_cast<double>(lane.epoch)},
                        {"images_per_second", own},
                        {"lanes", count}};
      report.final = lane.epoch == lane.epochs;
      report.has_checkpoint = true;
      lane.awaits_answer = true;
      it = report.final ? lanes_.erase(it) : std::next(it);
      session_.Report(number, report);
      if (report.final) session_.End(number, {Outcome::kCompleted, "", EndDetail::kNone});
    }
  }

  LaneSession session_;
  std::map<int64_t, Lane> lanes_;
};

}  // namespace
}  // namespace tune

int main() {
  tune::CardTrials().Run();
  return 0;
}
