#include "tests/sim/simulated_trial.h"

#include <cmath>
#include <limits>
#include <utility>

namespace tune::sim {

std::string CheckpointContent(int64_t trial, int64_t iteration) {
  return "checkpoint of trial " + std::to_string(trial) + " after iteration " +
         std::to_string(iteration) + "\n";
}

namespace {

// .../<trial>/<name>.
int64_t OwnerOf(const std::string& path) {
  const size_t end = path.rfind('/');
  const size_t begin = path.rfind('/', end - 1) + 1;
  return std::stoll(path.substr(begin, end - begin));
}

}  // namespace

SimulatedTrial::SimulatedTrial(Environment& environment, Host& host, ProcessId id)
    : environment_(environment), host_(host), id_(id) {}

// Keyed by the attempt too, so that a retry is another throw.
bool SimulatedTrial::Happens(double probability, const char* what, int64_t iteration) const {
  if (probability <= 0 || !environment_.are_faults_on) return false;
  KeyedRandom random(environment_.swarm.seed, what, static_cast<uint64_t>(start_->trial.value),
                     static_cast<uint64_t>(start_->attempt.value * 1'000'000 + iteration));
  return random.NextDouble() < probability;
}

void SimulatedTrial::OnLine(std::string_view line) {
  if (is_hung_) return;
  const Result<ToTrial> message = ParseToTrial(line);
  if (!message.ok()) {
    return environment_.trace.Fail("a worker sent its trial process what is no message: " +
                                   message.status().message());
  }
  if (const auto* const start = std::get_if<TrialStart>(&*message)) return Begin(*start);
  if (std::holds_alternative<LeaveWithin>(*message)) return OnSigterm();
  if (!start_ || !awaits_answer_) return;  // Of a temper that does not wait.
  awaits_answer_ = false;
  const ReportAnswer answer = std::get<ReportAnswer>(*message);
  shall_save_ = answer == ReportAnswer::kSave;
  const std::optional<double> value = std::exchange(value_to_come_, std::nullopt);
  if (GoesOn(answer) && value) return ReportNow(iteration_, *value);
  if (GoesOn(answer)) {
    return is_told_to_end_ && !has_unsaved_ ? Exit(0, "SIGTERM") : NextIteration();
  }
  if (Happens(environment_.swarm.temper.ignore_stop, "ignore stop", 0)) {
    is_hung_ = true;
    return;
  }
  End(Outcome::kStopped, "");
}

// The classifier follows one, too.
Value SimulatedTrial::CurveOf(const Value& trainable) const {
  if (trainable.is_map() && trainable.Find("command") != nullptr) {
    return environment_.swarm.program_curve;
  }
  if (trainable.is_map()) return *trainable.Find("curve");
  Value curve = Value::MakeMap();
  curve.Set("value", "exp(-lr * t)");
  curve.Set("iterations", environment_.swarm.iterations);
  return curve;
}

void SimulatedTrial::Begin(TrialStart start) {
  if (start_) {
    return environment_.trace.Fail("trial " + std::to_string(start.trial.value) +
                                   " was started in a process that runs another");
  }
  start_ = std::move(start);
  is_hung_ = awaits_answer_ = has_unsaved_ = false;
  value_to_come_.reset();
  iteration_ = start_->from_iteration;
  report_count_ = 0;
  shall_save_ = start_->saves_first;
  const Result<Curve> curve = Curve::Parse(CurveOf(start_->trainable));
  if (!curve.ok()) return environment_.trace.Fail("curve: " + curve.status().message());
  Result<BoundCurve> bound = curve->Bind(start_->config);
  if (!bound.ok()) return environment_.trace.Fail("curve: " + bound.status().message());
  curve_ = *std::move(bound);
  if (host_.IsUnfit()) {
    return End(Outcome::kBadConfig, "there is no program here", EndDetail::kUnfitMachine);
  }
  if (environment_.swarm.temper.bad_config > 0) {
    KeyedRandom random(environment_.swarm.seed, "bad config",
                       static_cast<uint64_t>(start_->trial.value));
    if (random.NextDouble() < environment_.swarm.temper.bad_config) {
      return End(Outcome::kBadConfig, "this configuration cannot run");
    }
  }
  if (start_->rank > 0) return Follow();
  if (Restore()) NextIteration();
}

// A rank that reports nothing and, since the first one does not wait for it here, reads nothing:
// some have done all there was while the first one still saves, some die, alone or because they
// miss another; the others live until they are ended.
void SimulatedTrial::Follow() {
  KeyedRandom random(environment_.swarm.seed, "rank", static_cast<uint64_t>(start_->trial.value),
                     static_cast<uint64_t>(start_->attempt.value * 1'000'000 + start_->rank));
  const double pause = environment_.swarm.iteration_time.seconds() * random.NextUniform(0.0, 10.0);
  const bool dies = Happens(5 * environment_.swarm.temper.crash, "rank dies", start_->rank);
  const uint64_t kind = random.NextBelow(3);
  if (!dies && kind > 0) return;
  host_.Later(id_, Seconds(pause), [this, dies, kind] {
    if (!dies) return End(Outcome::kCompleted, "");
    if (kind > 0) return Exit(0, "SIGKILL");
    End(Outcome::kCrashed, "the connection to another rank broke", EndDetail::kRankLost);
  });
}

// A damaged checkpoint is told; one that is not there, or another's, must not be while the attempt
// has its lease.
bool SimulatedTrial::Restore() {
  if (start_->checkpoint_path.empty()) {
    if (environment_.swarm.has_file_checkpoints && start_->from_iteration > 0) {
      environment_.trace.Fail("trial " + std::to_string(start_->trial.value) +
                              " goes on from iteration " + std::to_string(start_->from_iteration) +
                              " without its checkpoint");
    }
    return true;
  }
  const std::string path = start_->checkpoint_path + "/state";
  const SimulatedDisk::FilePtr file = host_.disk().Find(path);
  const int64_t owner = OwnerOf(start_->checkpoint_path);
  if (owner != start_->trial.value && !start_->has_other_config) {
    environment_.trace.Fail("trial " + std::to_string(start_->trial.value) +
                            " is resumed from another's checkpoint and not told so");
  }
  if (file != nullptr && file->cached == CheckpointContent(owner, start_->from_iteration)) {
    return true;
  }
  // A worker that was stopped begins what it was told before, though its lease is over.
  const bool is_leased = environment_.is_leased(start_->trial, start_->attempt);
  if (is_leased && (file == nullptr || !environment_.corrupted.contains(path))) {
    environment_.trace.Fail("trial " + std::to_string(start_->trial.value) + " is resumed from " +
                            start_->checkpoint_path + ", which is " +
                            (file == nullptr ? "not there" : "not whole"));
  }
  End(Outcome::kCrashed, "the checkpoint " + path + " is damaged", EndDetail::kBadCheckpoint);
  return false;
}

void SimulatedTrial::NextIteration() {
  if (iteration_ >= curve_->iterations()) return End(Outcome::kCompleted, "");
  const int64_t iteration = ++iteration_;
  double seconds = environment_.swarm.iteration_time.seconds();
  KeyedRandom random(environment_.swarm.seed, "pace", static_cast<uint64_t>(start_->trial.value),
                     static_cast<uint64_t>(start_->attempt.value * 1'000'000 + iteration));
  seconds *= random.NextUniform(0.5, 1.5);
  if (Happens(environment_.swarm.temper.straggle, "straggle", iteration)) seconds *= 20;
  host_.Later(id_, Seconds(seconds), [this, iteration] { Work(iteration); });
}

// What an iteration comes to.
void SimulatedTrial::Work(int64_t iteration) {
  const Temper& temper = environment_.swarm.temper;
  if (Happens(temper.crash, "crash", iteration)) {
    switch (iteration % 3) {
      case 0:
        return Exit(0, "SIGSEGV");
      case 1:
        return Exit(0, "SIGKILL");
      default:
        return Exit(1, "");
    }
  }
  if (Happens(temper.quiet_exit, "quiet exit", iteration)) return Exit(0, "");
  if (Happens(temper.hang, "hang", iteration)) {
    is_hung_ = true;
    return;
  }
  if (Happens(temper.out_of_memory, "out of memory", iteration)) {
    return End(iteration % 2 == 0 ? Outcome::kOutOfMemory : Outcome::kDeviceOutOfMemory,
               "no memory is left");
  }
  if (Happens(temper.garbage, "garbage", iteration)) {
    host_.OnTrialLine(id_, iteration % 2 == 0 ? "what is this" : "{\"report\":{\"iteration\":0}}");
    return;
  }
  const CurveStep step =
      curve_->Step(start_->sweep_seed, start_->trial.value, start_->attempt.value, iteration);
  double value = step.values[0];
  if (temper.nan > 0 && environment_.are_faults_on) {
    KeyedRandom random(environment_.swarm.seed, "nan", static_cast<uint64_t>(start_->trial.value),
                       static_cast<uint64_t>(iteration));
    if (random.NextDouble() < temper.nan) {
      value = random.NextBelow(2) == 0 ? std::numeric_limits<double>::quiet_NaN()
                                       : std::numeric_limits<double>::infinity();
    }
  }
  KeyedRandom parts(environment_.swarm.seed, "part", static_cast<uint64_t>(start_->trial.value),
                    static_cast<uint64_t>(iteration));
  if (parts.NextDouble() >= environment_.swarm.parts) return ReportNow(iteration, value);
  value_to_come_ = value;
  Report part;
  part.iteration = iteration;
  part.metrics = {{"other", static_cast<double>(iteration)}};
  Say(part);
}

void SimulatedTrial::Say(const Report& report) {
  awaits_answer_ = !report.final;
  host_.OnTrialSays(id_, report.iteration);
  std::string line = EncodeReport(report);
  line.pop_back();
  host_.OnTrialLine(id_, std::move(line));
}

// The same in each attempt. Now and then it is missing, or no number.
void SimulatedTrial::AddCost(int64_t iteration, Metrics& metrics) const {
  if (!environment_.swarm.has_cost) return;
  KeyedRandom random(environment_.swarm.seed, "cost", static_cast<uint64_t>(start_->trial.value),
                     static_cast<uint64_t>(iteration));
  const uint64_t kind = random.NextBelow(16);
  if (kind == 0) return;
  metrics.emplace_back(
      "cost", kind == 1 ? std::numeric_limits<double>::quiet_NaN() : random.NextUniform(0.0, 1.2));
}

void SimulatedTrial::ReportNow(int64_t iteration, double value) {
  Report report;
  report.iteration = iteration;
  report.metrics = {{start_->metric, value}};
  AddCost(iteration, report.metrics);
  if (!environment_.swarm.known_lanes.empty()) {
    KeyedRandom random(environment_.swarm.seed, "speed", static_cast<uint64_t>(iteration));
    report.metrics.emplace_back("lanes", 1);
    report.metrics.emplace_back("images_per_second", random.NextUniform(900, 1100));
  }
  report.final = iteration == curve_->iterations();
  ++report_count_;
  const bool is_due = report_count_ % start_->checkpoint_every == 0 || report.final ||
                      is_told_to_end_ || shall_save_;
  if (is_due && !Happens(environment_.swarm.temper.late_checkpoint, "late", iteration)) {
    report.has_checkpoint = true;
    if (environment_.swarm.has_file_checkpoints && !SaveCheckpoint(iteration, report.checkpoint)) {
      return End(Outcome::kCrashed, "there is no room for a checkpoint", EndDetail::kDiskFull);
    }
  }
  has_unsaved_ = !report.has_checkpoint;
  Say(report);
  if (report.final) End(Outcome::kCompleted, "");
}

bool SimulatedTrial::SaveCheckpoint(int64_t iteration, CheckpointRef& ref) {
  ref.path = start_->artifact_dir + "/checkpoint_" + std::to_string(iteration);
  if (start_->attempt.value > 1) ref.path += "." + std::to_string(start_->attempt.value);
  const std::string content = CheckpointContent(start_->trial.value, iteration);
  const std::string path = ref.path + "/state";
  if (host_.IsDiskFull()) return false;
  environment_.corrupted.erase(path);
  const SimulatedDisk::FilePtr file = host_.disk().FindOrMake(path);
  SimulatedDisk::Truncate(*file, 0);
  SimulatedDisk::Write(*file, 0, content);
  ref.bytes = static_cast<int64_t>(content.size());
  ref.checksum = HashToHex(Xxh64(content));
  if (environment_.swarm.planted == PlantedFault::kCheckpointBeforeDurable) return true;
  SimulatedDisk::Sync(*file);
  host_.disk().SyncName(path);
  return true;
}

void SimulatedTrial::End(Outcome outcome, const std::string& error, EndDetail detail) {
  std::string line = EncodeEnd(TrialEnd{outcome, error, detail});
  line.pop_back();
  start_.reset();
  awaits_answer_ = false;
  host_.OnTrialSays(id_, std::nullopt);
  host_.OnTrialLine(id_, std::move(line));
  if (is_told_to_end_) Exit(0, "SIGTERM");
}

void SimulatedTrial::Exit(int status, const std::string& signal) {
  host_.OnTrialExit(id_, ProcessEnd{status, signal, ""});
}

void SimulatedTrial::OnSigterm() {
  if (start_ && Happens(environment_.swarm.temper.ignore_sigterm, "ignore SIGTERM", 0)) return;
  if (!start_ || !has_unsaved_) return Exit(0, "SIGTERM");
  is_told_to_end_ = true;
}

}  // namespace tune::sim
