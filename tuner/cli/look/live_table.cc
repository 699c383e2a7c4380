#include "tuner/cli/look/live_table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/counted.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/cli/words/text_table.h"

namespace tune {
namespace {

// From how many lines on a part has its place: the earlier ones are needed more.
constexpr size_t kUseFrom = 3;
constexpr size_t kRungsFrom = 5;
constexpr size_t kBarFrom = 8;
constexpr size_t kCourseFrom = 11;
constexpr size_t kEventsFrom = 14;
constexpr size_t kEventsShown = 8;

constexpr size_t kLabel = 8;  // "best    "
constexpr size_t kCurveMin = 8;
constexpr size_t kCurveMax = 40;

StyledLine Labelled(const std::string& label) {
  return {label + std::string(kLabel - label.size(), ' '), Style::kFaint};
}

std::string OrDash(const Metric& value) { return value.has_value() ? ShortNumber(*value) : "-"; }

std::string RightAligned(const std::string& text, size_t width) {
  return std::string(width - std::min(width, DisplayWidth(text)), ' ') + text;
}

// "4 of 8", thousandths as a person counts.
std::string Share(int64_t used_milli, int64_t total_milli) {
  return ShortNumber(static_cast<double>(used_milli) / 1000) + " of " +
         ShortNumber(static_cast<double>(total_milli) / 1000);
}

// The parts that fit; those of the highest `rank` give way first.
struct Part {
  std::string text;
  Style style = Style::kPlain;
  int rank = 0;
};

StyledLine Fitted(std::vector<Part> parts, size_t width) {
  for (;;) {
    StyledLine line;
    for (const Part& part : parts) line.Add(part.text, part.style);
    const auto least = std::max_element(
        parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.rank < b.rank; });
    if (line.width() <= width || least->rank == 0) return line;
    parts.erase(least);
  }
}

StyledLine HeadLine(const SweepSnapshot& snapshot, size_t width) {
  std::vector<Part> parts = {{Printable(snapshot.name), Style::kStrong, 0}, {"  ", {}, 0}};
  const auto add = [&](int64_t count, const char* what, Style style, int rank) {
    if (count > 0) parts.push_back({", " + std::to_string(count) + what, style, rank});
  };
  if (snapshot.is_paused) parts.push_back({PausedWords(snapshot), Style::kWarning, 0});
  parts.push_back({EndedOf(snapshot), {}, 0});
  parts.push_back({", " + std::to_string(snapshot.running.size()) + " running", Style::kAccent, 1});
  add(snapshot.pending_count, " waiting", Style::kPlain, 5);
  add(snapshot.paused_count, " paused", Style::kWarning, 4);
  add(snapshot.failed_count, " failed", Style::kBad, 1);
  parts.push_back({"  " + FormatDuration(snapshot.elapsed), {}, 3});
  if (snapshot.time_left) parts.push_back({", " + Describe(*snapshot.time_left), {}, 2});
  return Fitted(std::move(parts), width);
}

// "████▒▒░░░░ 40 %": ended, running, not begun.
StyledLine BarLine(const SweepSnapshot& snapshot, size_t width) {
  constexpr size_t kBarMax = 50;
  constexpr size_t kPercent = 6;
  const size_t room = width > kLabel + kPercent ? width - kLabel - kPercent : 0;
  const double cells = static_cast<double>(std::min(room, kBarMax));
  const double all = static_cast<double>(std::max<int64_t>(1, snapshot.samples));
  const double ended_share = std::min(1.0, static_cast<double>(snapshot.ended_count()) / all);
  const double running = static_cast<double>(snapshot.running.size()) / all;
  const auto ended_cells = static_cast<size_t>(ended_share * cells);
  const auto busy_cells = std::max(
      ended_cells, static_cast<size_t>(std::ceil(std::min(1.0, ended_share + running) * cells)));
  std::string ended, busy, rest;
  for (size_t i = 0; i < static_cast<size_t>(cells); ++i) {
    (i < ended_cells  ? ended
     : i < busy_cells ? busy
                      : rest) += i < ended_cells  ? "█"
                                 : i < busy_cells ? "▒"
                                                  : "░";
  }
  StyledLine line = Labelled("ended");
  line.Add(ended, Style::kGood).Add(busy, Style::kAccent).Add(rest, Style::kFaint);
  return line.Add(
      RightAligned(std::to_string(static_cast<int>(ended_share * 100)) + " %", kPercent));
}

StyledLine BestLine(const SweepSnapshot& snapshot) {
  StyledLine line = Labelled("best");
  if (!snapshot.best) return line.Add("none: " + snapshot.why_no_best);
  const BestSoFar& best = *snapshot.best;
  line.Add(Printable(snapshot.metric) + " ");
  const std::string config = "  " + DescribeConfig(best.config);
  if (best.runs) return line.Add(Describe(*best.runs), Style::kGood).Add(config);
  line.Add(ShortNumber(best.value), Style::kGood);
  return line
      .Add(", trial " + std::to_string(best.number) + " at iteration " +
           std::to_string(best.iteration))
      .Add(config);
}

// What a drawing of these values shows: all of them, but for those that lie far out (Tukey's outer
// fences: three times the middle half's width beyond it), which would press the others flat.
std::pair<double, double> ScaleOf(std::vector<double> values) {
  constexpr double kFarOut = 3;
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  if (values.empty()) return {0, 0};
  std::sort(values.begin(), values.end());
  const double lower = values[values.size() / 4];
  const double upper = values[values.size() - 1 - values.size() / 4];
  const double far = kFarOut * (upper - lower);
  if (!(far > 0)) return {values.front(), values.back()};
  return {*std::lower_bound(values.begin(), values.end(), lower - far),
          *std::prev(std::upper_bound(values.begin(), values.end(), upper + far))};
}

// The best value over the time that was looked at.
StyledLine CourseLine(const SweepSnapshot& snapshot, const SweepHistory& history, size_t width) {
  const auto& best = history.best();
  const std::string range =
      "  " + ShortNumber(best.front().second) + " to " + ShortNumber(best.back().second);
  const size_t used = kLabel + DisplayWidth(range);
  const size_t cells = std::min<size_t>(50, width > used ? width - used : 0);
  std::vector<double> values(cells, std::numeric_limits<double>::quiet_NaN());
  const double whole = std::max(1e-9, snapshot.elapsed.seconds());
  size_t step = 0;
  for (size_t cell = 0; cell < cells; ++cell) {
    const double until = whole * static_cast<double>(cell + 1) / static_cast<double>(cells);
    while (step + 1 < best.size() && best[step + 1].first.seconds() <= until) ++step;
    if (best[step].first.seconds() <= until) values[cell] = best[step].second;
  }
  std::vector<double> steps;
  for (const auto& [at, value] : best) steps.push_back(value);
  const auto [low, high] = ScaleOf(std::move(steps));
  return Labelled("so far").Add(Sparkline(values, cells, low, high), Style::kGood).Add(range);
}

StyledLine RungLine(const SweepSnapshot& snapshot) {
  const char* const sign = snapshot.mode == Mode::kMax ? "≥" : "≤";
  const bool has_brackets = std::any_of(snapshot.rungs.begin(), snapshot.rungs.end(),
                                        [](const RungView& rung) { return rung.bracket != 0; });
  std::string text;
  for (const RungView& rung : snapshot.rungs) {
    if (!text.empty()) text += "  ";
    if (has_brackets) text += std::to_string(rung.bracket) + "/";
    text += std::to_string(rung.milestone) + ": " + std::to_string(rung.count);
    if (rung.cutoff) text += " (" + std::string(sign) + " " + CutoffWords(*rung.cutoff) + ")";
  }
  return Labelled("rungs").Add(text);
}

StyledLine UseLine(const SweepSnapshot& snapshot) {
  std::string text = Share(snapshot.cpu_milli_used, snapshot.cpu_milli_total) + " CPUs";
  if (snapshot.gpu_milli_total > 0) {
    text += ", " + Share(snapshot.gpu_milli_used, snapshot.gpu_milli_total) + " GPUs";
  }
  text += " of " + Counted(snapshot.worker_count, "worker") + ", " +
          Counted(snapshot.iteration_count, "iteration");
  if (snapshot.iterations_per_second) text += ", " + RateWords(*snapshot.iterations_per_second);
  return Labelled("using").Add(text);
}

// ---- the trials that run

// Columns of a narrow terminal give way: the worker first.
struct RunningColumns {
  bool has_best = true, has_time = true, has_worker = true;
  size_t worker = 0;
  size_t curve = 0;
};

constexpr size_t kTrial = 6, kIteration = 10, kValue = 12, kTime = 12;

RunningColumns ChooseColumns(const SweepSnapshot& snapshot, size_t width) {
  RunningColumns columns;
  columns.worker = DisplayWidth("worker");
  for (const RunningTrial& trial : snapshot.running)
    columns.worker = std::max(columns.worker, DisplayWidth(Printable(trial.worker)));
  columns.worker = std::min<size_t>(columns.worker, 24);
  const auto used = [&] {
    return kTrial + kIteration + kValue + (columns.has_best ? kValue : 0) +
           (columns.has_time ? kTime : 0) + (columns.has_worker ? columns.worker + 2 : 0) + 2;
  };
  for (bool* const shown : {&columns.has_worker, &columns.has_time, &columns.has_best}) {
    if (used() + kCurveMin > width) *shown = false;
  }
  columns.curve = width > used() ? std::min(kCurveMax, width - used()) : 0;
  return columns;
}

StyledLine RunningLine(const RunningColumns& columns, const std::vector<std::string>& cells,
                       const std::string& curve, bool is_best) {
  StyledLine line(RightAligned(cells[0], kTrial) + RightAligned(cells[1], kIteration) +
                  RightAligned(cells[2], kValue));
  if (columns.has_best) {
    line.Add(RightAligned(cells[3], kValue), is_best ? Style::kGood : Style::kPlain);
  }
  if (columns.has_time) line.Add(RightAligned(cells[4], kTime));
  if (columns.has_worker) {
    const std::string worker = CutToWidth(cells[5], columns.worker);
    const size_t rest = curve.empty() ? 0 : columns.worker - DisplayWidth(worker);
    line.Add("  " + worker + std::string(rest, ' '));
  }
  if (columns.curve > 0 && !curve.empty()) {
    line.Add("  " + curve, is_best ? Style::kGood : Style::kAccent);
  }
  return line;
}

void AppendRunning(const SweepSnapshot& snapshot, const SweepHistory& history, size_t width,
                   size_t room, std::vector<StyledLine>& lines) {
  if (snapshot.running.empty() || room < 2) return;
  const RunningColumns columns = ChooseColumns(snapshot, width);
  --room;
  const size_t shown = snapshot.running.size() <= room ? snapshot.running.size() : room - 1;
  std::vector<std::vector<double>> curves;
  std::vector<double> all;
  for (size_t i = 0; i < shown; ++i) {
    curves.push_back(history.Curve(snapshot.running[i].number));
    all.insert(all.end(), curves.back().begin(), curves.back().end());
  }
  // One scale for all, so that they can be compared.
  const auto [low, high] = ScaleOf(all);
  const std::string scale =
      all.empty() ? "" : "curve, " + ShortNumber(low) + " to " + ShortNumber(high);
  lines.push_back(
      StyledLine(RunningLine(columns, {"trial", "iteration", "last", "best", "running", "worker"},
                             DisplayWidth(scale) <= columns.curve ? scale : "curve", false)
                     .Render(width, Palette::kPlain),
                 Style::kFaint));
  for (size_t i = 0; i < shown; ++i) {
    const RunningTrial& trial = snapshot.running[i];
    const bool is_best = snapshot.best && snapshot.best->number == trial.number;
    lines.push_back(RunningLine(
        columns,
        {std::to_string(trial.number), trial.iteration > 0 ? std::to_string(trial.iteration) : "-",
         OrDash(trial.last_value), OrDash(trial.best_value), FormatDuration(trial.running_for),
         Printable(trial.worker)},
        Sparkline(curves[i], columns.curve, low, high), is_best));
  }
  if (shown < snapshot.running.size()) {
    lines.emplace_back("  and " + std::to_string(snapshot.running.size() - shown) + " more");
  }
}

void AppendEvents(const SweepSnapshot& snapshot, const SweepHistory& history, size_t count,
                  std::vector<StyledLine>& lines) {
  constexpr size_t kAge = 6;
  for (size_t i = 0; i < count; ++i) {
    const SweepHistory::Event& event = history.events()[i];
    const auto age = (snapshot.elapsed.us - event.at.us) / 1'000'000;
    StyledLine line = Labelled(i == 0 ? "lately" : "");
    line.Add(RightAligned(std::to_string(std::max<int64_t>(0, age)) + " s", kAge) + "  ",
             Style::kFaint);
    lines.push_back(line.Add(event.text, event.style));
  }
}

// What is told of the last minute.
size_t RecentCount(const SweepSnapshot& snapshot, const SweepHistory& history) {
  constexpr Duration kRecent = Seconds(60);
  const auto& events = history.events();
  const auto old =
      std::find_if(events.begin(), events.end(), [&](const SweepHistory::Event& event) {
        return snapshot.elapsed.us - event.at.us > kRecent.us;
      });
  return static_cast<size_t>(old - events.begin());
}

}  // namespace

// ---- SweepHistory

void SweepHistory::Tell(Duration at, std::string text, Style style) {
  events_.push_front({at, std::move(text), style});
  if (events_.size() > kEventsMax) events_.pop_back();
}

// Every second one, as often as needed.
void SweepHistory::Shorten(std::vector<std::pair<int64_t, double>>& curve) {
  while (curve.size() > kPointsMax) {
    size_t kept = 0;
    for (size_t i = 0; i < curve.size(); i += 2) curve[kept++] = curve[i];
    curve.resize(kept);
  }
}

void SweepHistory::Recall(EarlierHistory earlier) {
  best_ = std::move(earlier.best);
  if (best_.size() > kPointsMax) best_.erase(best_.begin() + 1, best_.end() - kPointsMax + 1);
  curves_ = std::move(earlier.curves);
  for (auto& [number, curve] : curves_) Shorten(curve);
}

void SweepHistory::SeeRunning(const SweepSnapshot& snapshot) {
  std::map<int64_t, int64_t> running;
  for (const RunningTrial& trial : snapshot.running) {
    running[trial.number] = trial.iteration;
    const std::string name = "trial " + std::to_string(trial.number);
    if (begun_.insert(trial.number).second) {
      if (has_looked_) Tell(snapshot.elapsed, name + " began", Style::kPlain);
    } else if (!running_.contains(trial.number)) {
      Tell(snapshot.elapsed, name + " goes on after iteration " + std::to_string(trial.iteration),
           Style::kPlain);
    }
    if (!trial.last_value || !std::isfinite(*trial.last_value) || trial.iteration == 0) continue;
    auto& curve = curves_[trial.number];
    // An attempt may go back to an earlier checkpoint.
    while (!curve.empty() && curve.back().first >= trial.iteration) curve.pop_back();
    curve.emplace_back(trial.iteration, *trial.last_value);
    Shorten(curve);
  }
  for (const auto& [number, iteration] : running_) {
    if (running.contains(number)) continue;
    Tell(snapshot.elapsed,
         "trial " + std::to_string(number) + " waits after iteration " + std::to_string(iteration),
         Style::kWarning);
  }
  running_ = std::move(running);
}

void SweepHistory::SeeBest(const SweepSnapshot& snapshot) {
  if (!snapshot.best) return;
  const double value = snapshot.best->runs ? snapshot.best->runs->mean : snapshot.best->value;
  if (!best_.empty() && best_.back().second == value) return;
  best_.emplace_back(snapshot.elapsed, value);
  if (best_.size() > kPointsMax) best_.erase(best_.begin() + 1);
  const bool is_another = std::exchange(best_trial_, snapshot.best->number) != best_trial_;
  if (!has_looked_ || !is_another) return;
  Tell(snapshot.elapsed,
       "trial " + std::to_string(snapshot.best->number) + " is the best: " + ShortNumber(value) +
           (IsFeasible(snapshot.best->violation) ? "" : ", infeasible: none keeps the limits"),
       IsFeasible(snapshot.best->violation) ? Style::kGood : Style::kWarning);
}

void SweepHistory::See(const SweepSnapshot& snapshot, const std::vector<EndedTrial>& ended) {
  for (const EndedTrial& trial : ended) {
    running_.erase(trial.number);
    curves_.erase(trial.number);
    const std::string name = "trial " + std::to_string(trial.number);
    const std::string after = " after " + Counted(trial.iterations, "iteration") +
                              (trial.best_value ? ", best " + ShortNumber(*trial.best_value) : "");
    if (trial.failed) {
      Tell(snapshot.elapsed, name + " failed" + after, Style::kBad);
    } else if (trial.reason == "scheduler") {
      Tell(snapshot.elapsed, name + " stopped early" + after, Style::kWarning);
    } else {
      Tell(snapshot.elapsed, name + " ended (" + trial.reason + ")" + after, Style::kPlain);
    }
  }
  SeeRunning(snapshot);
  SeeBest(snapshot);
  has_looked_ = true;
}

std::vector<double> SweepHistory::Curve(int64_t trial) const {
  std::vector<double> values;
  const auto curve = curves_.find(trial);
  if (curve == curves_.end()) return values;
  for (const auto& [iteration, value] : curve->second) values.push_back(value);
  return values;
}

// ---- the table

std::vector<std::string> RenderTable(const SweepSnapshot& snapshot, const SweepHistory& history,
                                     size_t width, size_t height, Palette palette) {
  const size_t line_max = height > 1 ? height - 1 : 1;  // The cursor stands on a line of its own.
  std::vector<StyledLine> lines = {HeadLine(snapshot, width)};
  if (snapshot.samples > 0 && line_max >= kBarFrom) lines.push_back(BarLine(snapshot, width));
  lines.push_back(BestLine(snapshot));
  if (history.best().size() > 1 && line_max >= kCourseFrom) {
    lines.push_back(CourseLine(snapshot, history, width));
  }
  if (!snapshot.rungs.empty() && line_max >= kRungsFrom) lines.push_back(RungLine(snapshot));
  if (line_max >= kUseFrom) lines.push_back(UseLine(snapshot));
  const size_t room = line_max - std::min(line_max, lines.size());
  const size_t events = line_max < kEventsFrom
                            ? 0
                            : std::min({RecentCount(snapshot, history), room / 3, kEventsShown});
  AppendRunning(snapshot, history, width, room - events, lines);
  AppendEvents(snapshot, history, events, lines);
  if (lines.size() > line_max) lines.resize(line_max);
  std::vector<std::string> texts;
  for (const StyledLine& line : lines) texts.push_back(line.Render(width, palette));
  return texts;
}

// ---- TerminalPainter

std::string TerminalPainter::Draw(const std::vector<std::string>& lines) {
  std::string bytes = drawn_count_ > 0 ? "\x1b[" + std::to_string(drawn_count_) + "A\r" : "";
  for (const std::string& line : lines) bytes += line + "\x1b[K\n";
  if (lines.size() < drawn_count_) bytes += "\x1b[J";
  drawn_count_ = lines.size();
  return bytes;
}

std::string TerminalPainter::Erase() {
  if (drawn_count_ == 0) return std::string();
  const std::string bytes = "\x1b[" + std::to_string(drawn_count_) + "A\r\x1b[J";
  drawn_count_ = 0;
  return bytes;
}

std::string TerminalPainter::Restart() {
  drawn_count_ = 0;
  return "\x1b[H\x1b[2J";
}

}  // namespace tune
