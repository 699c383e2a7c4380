#include "tests/sim/swarm.h"

#include <algorithm>
#include <cmath>

#include "core/json.h"
#include "core/random.h"
#include "core/value.h"
#include "tests/sim/simulated_bucket.h"
#include "trial_runner/fusion.h"
#include "trial_runner/placement.h"

namespace tune::sim {
namespace {

// Of one iteration whose checkpoint is sent and fetched, some of it again.
constexpr double kCarrySecondsMax = 4;

// The dice of a seed's options.
class Dice {
 public:
  explicit Dice(uint64_t seed) : random_(seed, "swarm") {}

  bool OneIn(uint64_t n) { return random_.NextBelow(n) == 0; }
  int64_t From(int64_t lo, int64_t hi) {
    return lo + static_cast<int64_t>(random_.NextBelow(static_cast<uint64_t>(hi - lo + 1)));
  }
  // Small ones as likely as large ones.
  double Log(double lo, double hi) {
    return std::exp(random_.NextUniform(std::log(lo), std::log(hi)));
  }

 private:
  KeyedRandom random_;
};

Value Map(std::initializer_list<std::pair<const char*, Value>> entries) {
  Value map = Value::MakeMap();
  for (const auto& [key, value] : entries) map.Set(key, value);
  return map;
}

Value DrawSpace(Dice& dice) {
  Value space = Value::MakeMap();
  space.Set("x", Map({{"uniform", Value::List{Value(0.0), Value(1.0)}}}));
  if (dice.OneIn(2)) {
    space.Set("lr", Map({{"loguniform", Value::List{Value(0.0001), Value(1.0)}}}));
  } else {
    space.Set("lr", Value(0.1));
  }
  if (dice.OneIn(4)) {
    space.Set("k", Map({{"grid_search", Value::List{Value(1), Value(2)}}}));
  } else {
    space.Set("k", Map({{"choice", Value::List{Value(1), Value(2), Value(4)}}}));
  }
  return space;
}

Value DrawFailure(Dice& dice) {
  Value failure = Map({{"max_failures", Value(dice.OneIn(4) ? -1 : dice.From(0, 4))}});
  if (!dice.OneIn(3)) {
    failure.Set("backoff", dice.OneIn(2) ? Value(0) : Value(dice.Log(0.001, 0.5)));
  }
  if (dice.OneIn(6)) failure.Set("crashed", Value(dice.From(0, 3)));
  if (dice.OneIn(8)) failure.Set("lost", Value(dice.From(3, 30)));
  if (dice.OneIn(8)) failure.Set("device_out_of_memory", Value(dice.From(0, 2)));
  return failure;
}

// Half the time asha as it is, else one that is rarer; drawn apart too.
Value StoppingScheduler(uint64_t seed, int64_t max_t, int64_t factor, Value asha) {
  KeyedRandom random(seed, "swarm stopping");
  switch (random.NextBelow(8)) {
    case 0: {
      Value pasha = Map({{"max_t", Value(max_t)}, {"reduction_factor", Value(factor)}});
      return Map({{"pasha", std::move(pasha)}});
    }
    case 1:
      return Map(
          {{"percentile", Map({{"percentile", Value(25)}, {"n_startup_trials", Value(2)}})}});
    case 2:
      return Map({{"threshold", Map({{"upper", Value(1.5)}, {"lower", Value(0.05)}})}});
    case 3:
      return Map({{"patience", Map({{"patience", Value(1)}, {"min_delta", Value(0.01)}})}});
    default:
      return Map({{"asha", std::move(asha)}});
  }
}

// Half the time asha as it is, else another one. Drawn apart, so that a seed's other options are
// what they were when there was nothing else.
Value OtherScheduler(uint64_t seed, int64_t max_t, int64_t factor, Value asha) {
  KeyedRandom random(seed, "swarm scheduler");
  switch (random.NextBelow(14)) {
    case 0:
    case 1:
      asha.Set("variant", Value("promote"));
      break;
    case 2:
    case 3: {
      Value hyperband = Map({{"max_t", Value(max_t)}, {"reduction_factor", Value(factor)}});
      return Map({{"hyperband", std::move(hyperband)}});
    }
    case 4:
      return Map({{"median_stopping", Map({{"grace_period", Value(1)}})}});
    case 5: {
      Value patience = Map({{"patience", Map({{"patience", Value(2)}})}});
      return Map({{"combine", Value(Value::List{Map({{"asha", std::move(asha)}}), patience})}});
    }
    case 6:
    case 7: {
      Value pbt = Map({{"perturbation_interval", Value(1 + max_t / 4)}});
      if (random.NextBelow(2) == 0) pbt.Set("synch", Value(true));
      if (random.NextBelow(2) == 0) pbt.Set("quantile_fraction", Value(0.5));
      return Map({{"pbt", std::move(pbt)}});
    }
    default:
      return StoppingScheduler(seed, max_t, factor, std::move(asha));
  }
  return Map({{"asha", std::move(asha)}});
}

// Two fifths of the sweeps search; drawn apart too. What learns is not for pbt, nor for a
// grid_search, and a sweep of hundreds of trials would take it long.
Value DrawSearch(uint64_t seed, const Value& document) {
  const Value* const scheduler = document.Find("scheduler");
  const bool is_pbt = scheduler != nullptr && scheduler->Find("pbt") != nullptr;
  const bool has_grid = document.Find("space")->Find("k")->Find("grid_search") != nullptr;
  KeyedRandom random(seed, "swarm search");
  const uint64_t drawn = random.NextBelow(18);
  Value search = Value::MakeMap();
  if (drawn >= 8 || has_grid) return search;
  constexpr const char* kAlgorithms[] = {"tpe",   "tpe",  "cmaes", "nsga2",
                                         "sobol", "bohb", "gp",    "auto"};
  search.Set("algorithm", Value(is_pbt ? "sobol" : kAlgorithms[drawn]));
  // What depends on how long trials took must be decided again alike, too.
  const bool weighs_time =
      drawn >= 6 && !is_pbt && KeyedRandom(seed, "swarm per").NextBelow(2) == 0;
  if (weighs_time) search.Set("per", Value("seconds"));
  return search;
}

ResourceRequest RequestIn(const Value& resources) {
  ResourceRequest request;
  const auto whole = [&resources](const char* name, int64_t otherwise) {
    const Value* const value = resources.Find(name);
    return value != nullptr ? value->AsInt() : otherwise;
  };
  request.cpu_milli = whole("cpu", 1) * kWholeMilli;
  request.gpu_memory_bytes = whole("gpu_memory", 0);
  request.workers = whole("workers", 1);
  if (const Value* const gpu = resources.Find("gpu")) {
    request.gpu_milli = std::llround(gpu->AsDouble() * kWholeMilli);
  }
  if (const Value* const spread = resources.Find("spread")) request.spread = spread->AsBool();
  return request;
}

std::vector<WorkerCapacity> CapacitiesOf(const Swarm& swarm) {
  std::vector<WorkerCapacity> capacities;
  for (const Machine& machine : swarm.machines) capacities.push_back(machine.capacity);
  return capacities;
}

// An eighth of the sweeps has trials of several ranks, where the machines have room for them
// together; drawn apart too. Heavy ones are about leases ahead, which ranks never have.
void DrawRanks(Swarm& swarm, Value& document) {
  KeyedRandom random(swarm.seed, "swarm ranks");
  const Value workers(2 + static_cast<int64_t>(random.NextBelow(2)));
  const Value spread(random.NextBelow(3) != 0);
  if (random.NextBelow(8) != 0 || swarm.is_heavy) return;
  const Value* const drawn = document.Find("resources");
  Value resources = drawn != nullptr ? *drawn : Value::MakeMap();
  resources.Set("workers", workers);
  resources.Set("spread", spread);
  if (!CouldEverFit(RequestIn(resources), CapacitiesOf(swarm))) return;
  document.Set("resources", std::move(resources));
  swarm.spec = ToJson(document);
}

void DrawSweep(Dice& dice, Swarm& swarm) {
  swarm.is_heavy = dice.OneIn(4);
  swarm.samples = swarm.is_heavy ? dice.From(100, 300) : dice.From(1, dice.OneIn(3) ? 40 : 12);
  swarm.iterations = swarm.is_heavy ? dice.From(10, 60) : dice.From(1, dice.OneIn(2) ? 30 : 8);
  const double seconds =
      swarm.is_heavy || dice.OneIn(3) ? dice.Log(0.0001, 0.005) : dice.Log(0.005, 1.5);
  swarm.iteration_time = Seconds(seconds);
  swarm.has_file_checkpoints = dice.OneIn(2);

  Value document = Value::MakeMap();
  document.Set("name", Value("sweep"));
  document.Set("metric", Value("value"));
  document.Set("mode", Value(dice.OneIn(2) ? "max" : "min"));
  document.Set("samples", Value(swarm.samples));
  Value curve = Map({{"value", Value("k * (x - 0.3)^2 + exp(-lr * t)")},
                     {"iterations", Value(swarm.iterations)},
                     {"seconds", Value(seconds)}});
  if (dice.OneIn(2)) curve.Set("noise", Value(0.05));
  document.Set("trainable", Map({{"curve", std::move(curve)}}));
  document.Set("space", DrawSpace(dice));

  const bool is_asha = !dice.OneIn(3);
  if (is_asha) {
    const int64_t max_t = dice.From(1, swarm.iterations + 2);
    const int64_t factor = dice.From(2, 4);
    Value asha = Map({{"max_t", Value(max_t)}, {"reduction_factor", Value(factor)}});
    if (max_t >= factor * factor && dice.OneIn(3)) asha.Set("brackets", Value(dice.From(2, 3)));
    document.Set("scheduler", OtherScheduler(swarm.seed, max_t, factor, std::move(asha)));
  }
  Value search = DrawSearch(swarm.seed, document);
  const bool learns = !search.AsMap().empty() && *search.Find("algorithm") != Value("sobol");
  if (!search.AsMap().empty()) document.Set("search", std::move(search));
  Value limits = Value::MakeMap();
  const bool is_single = dice.OneIn(5) && !swarm.is_heavy;
  if (is_single) {
    limits.Set("max_concurrent", Value(1));
  } else if (dice.OneIn(3) && !swarm.is_heavy) {
    limits.Set("max_concurrent", Value(dice.From(1, 6)));
  }
  bool has_limits_of_time = false;
  if (dice.OneIn(3)) {
    limits.Set("no_progress", Value(std::max(1.0, seconds * 50)));
    has_limits_of_time = true;
  }
  if (dice.OneIn(8)) {
    limits.Set("trial_time",
               Value(std::max(0.01, seconds * static_cast<double>(swarm.iterations))));
    has_limits_of_time = true;
  }
  if (dice.OneIn(16)) {
    limits.Set("sweep_time", Value(std::max(0.5, seconds * 50)));
    has_limits_of_time = true;
  }
  if (dice.OneIn(16)) limits.Set("failed_trials", Value(dice.From(1, 3)));
  limits.Set("unplaceable", Value("30d"));
  swarm.lease = Seconds(60);
  if (!dice.OneIn(3)) {
    swarm.lease = Milliseconds(static_cast<int64_t>(dice.Log(300, 20'000)));
    limits.Set("lease", Value(std::to_string(swarm.lease.us / 1000) + "ms"));
  }
  document.Set("limits", std::move(limits));
  document.Set("failure", DrawFailure(dice));
  Value checkpoint = Map({{"every", Value(dice.OneIn(2) ? 1 : dice.From(1, 4))},
                          {"keep", Value(dice.From(1, 3))},
                          {"keep_best", Value(dice.From(0, 3))}});
  if (dice.OneIn(6)) checkpoint.Set("disk_budget", Value(dice.From(40, 600)));
  document.Set("checkpoint", std::move(checkpoint));
  if (dice.OneIn(8)) {
    document.Set("stop", Map({{"training_iteration", Value(dice.From(1, swarm.iterations))}}));
  }
  const bool has_gpus = dice.OneIn(2) && !swarm.is_heavy;
  if (has_gpus) {
    const int64_t share = dice.From(1, 10) * 100;
    document.Set("resources",
                 Map({{"cpu", Value(1)}, {"gpu", Value(static_cast<double>(share) / 1000)}}));
  } else if (dice.OneIn(2) && !swarm.is_heavy) {
    document.Set("resources", Map({{"cpu", Value(dice.From(1, 3))}}));
  }
  swarm.spec = ToJson(document);
  swarm.is_order_free = (is_single || (!is_asha && !learns)) && !has_limits_of_time &&
                        document.Find("failure")->Find("lost") == nullptr;

  const int64_t count = swarm.is_heavy ? dice.From(3, 6) : dice.From(1, dice.OneIn(2) ? 6 : 2);
  const bool has_local = dice.OneIn(2);
  for (int64_t i = 0; i < count; ++i) {
    Machine machine;
    machine.is_local = has_local && i == 0;
    machine.capacity.cpu_milli =
        (swarm.is_heavy ? dice.From(16, 64) : dice.From(3, 8)) * kWholeMilli;
    const int64_t devices = has_gpus ? dice.From(1, 3) : dice.OneIn(4) ? 1 : 0;
    for (int64_t d = 0; d < devices; ++d) {
      machine.capacity.devices.push_back(Device{d, "device", 0});
    }
    if (dice.OneIn(2)) machine.clock_offset = Seconds(static_cast<double>(dice.From(-9999, 9999)));
    swarm.machines.push_back(std::move(machine));
  }
  DrawRanks(swarm, document);
}

// Devices as a driver tells of them, of unequal memory, which trials ask for or are seen to use.
// Drawn apart, so that all else of a seed is as it would be without.
void DrawDevices(Swarm& swarm) {
  KeyedRandom random(swarm.seed, "swarm devices");
  if (random.NextBelow(2) == 0) return;
  constexpr int64_t kMemories[] = {16'000, 24'000, 80'000};
  bool has_any = false;
  for (Machine& machine : swarm.machines) {
    for (Device& device : machine.capacity.devices) {
      device.memory_bytes = kMemories[random.NextBelow(3)];
      device.uuid = "GPU-" + std::to_string(device.index);
      has_any = true;
    }
  }
  Value document = *ParseJson(swarm.spec);
  Value* const resources = document.Find("resources");
  const bool asks = resources != nullptr && resources->Find("gpu") != nullptr;
  if (asks && random.NextBelow(3) == 0) {
    resources->Set("gpu_memory", Value(static_cast<int64_t>(1 + random.NextBelow(16'000))));
    if (CouldEverFit(RequestIn(*resources), CapacitiesOf(swarm))) swarm.spec = ToJson(document);
  }
  if (has_any && random.NextBelow(2) == 0) {
    swarm.faults.device_loss = Seconds(swarm.fault_time.seconds() * random.NextUniform(0.1, 1.0));
  }
}

// Machines that do not see the tuner's disk, in a third of the sweeps. Drawn apart.
void DrawApart(Swarm& swarm) {
  KeyedRandom random(swarm.seed, "swarm apart");
  if (random.NextBelow(3) != 0) return;
  bool has_any = false;
  for (Machine& machine : swarm.machines) {
    machine.is_apart = !machine.is_local && random.NextBelow(3) != 0;
    has_any |= machine.is_apart;
  }
  if (has_any && random.NextBelow(3) == 0) {
    swarm.faults.machine_disk_full =
        Seconds(swarm.fault_time.seconds() * random.NextUniform(0.1, 1.0));
  }
}

// Checkpoints in an object store, in a sixth of the sweeps that have some; it is away at times.
// Drawn apart.
void DrawBucket(Swarm& swarm) {
  KeyedRandom random(swarm.seed, "swarm bucket");
  if (random.NextBelow(6) != 0 || !swarm.has_file_checkpoints) return;
  swarm.has_bucket = true;
  Value document = *ParseJson(swarm.spec);
  document.Find("checkpoint")->Set("storage", Value(kBucketPrefix));
  swarm.spec = ToJson(document);
  if (random.NextBelow(3) != 0) {
    swarm.faults.store_away = Seconds(swarm.fault_time.seconds() * random.NextUniform(0.1, 1.0));
  }
}

// Reports that do not wait for their checkpoints, in half of the sweeps that send some; pbt copies
// them when it decides. Drawn apart.
void DrawAsync(Swarm& swarm) {
  KeyedRandom random(swarm.seed, "swarm async");
  Value document = *ParseJson(swarm.spec);
  const Value* const scheduler = document.Find("scheduler");
  const bool is_pbt = scheduler != nullptr && scheduler->Find("pbt") != nullptr;
  const bool sends =
      swarm.has_file_checkpoints &&
      (swarm.has_bucket || std::any_of(swarm.machines.begin(), swarm.machines.end(),
                                       [](const Machine& machine) { return machine.is_apart; }));
  if (random.NextBelow(2) == 0 || is_pbt || !sends) return;
  swarm.is_async = true;
  document.Find("checkpoint")->Set("async", Value(true));
  swarm.spec = ToJson(document);
}

// Machines on which nothing can run, in a twelfth of the sweeps. Drawn apart.
void DrawUnfit(Swarm& swarm) {
  KeyedRandom random(swarm.seed, "swarm unfit");
  if (random.NextBelow(12) != 0) return;
  for (Machine& machine : swarm.machines) {
    machine.is_unfit = !machine.is_local && random.NextBelow(2) == 0;
  }
}

// Half of the sweeps with ranks run a user's program on each, which comes to what the curve would.
// Drawn apart.
void DrawPrograms(Swarm& swarm) {
  KeyedRandom random(swarm.seed, "swarm programs");
  Value document = *ParseJson(swarm.spec);
  const Value* const resources = document.Find("resources");
  const bool has_ranks = resources != nullptr && resources->Find("workers") != nullptr;
  if (!has_ranks || random.NextBelow(2) == 0) return;
  swarm.program_curve = *document.Find("trainable")->Find("curve");
  document.Set("trainable", Map({{"command", Value(Value::List{Value("train")})}}));
  swarm.spec = ToJson(document);
}

// Half of the sweeps that share devices of a driver train the classifier, whose trials there would
// train as one, were it not known that each is faster alone: so a process runs one, as all here do.
// Reports say how fast, which is measured. Drawn apart; pbt is about parameters that it has not.
void DrawLanes(Swarm& swarm) {
  KeyedRandom random(swarm.seed, "swarm lanes");
  Value document = *ParseJson(swarm.spec);
  const Value* const resources = document.Find("resources");
  const Value* const gpu = resources != nullptr ? resources->Find("gpu") : nullptr;
  const Value* const scheduler = document.Find("scheduler");
  const bool shares =
      gpu != nullptr && gpu->AsDouble() < 1 && resources->Find("workers") == nullptr;
  const bool is_pbt = scheduler != nullptr && scheduler->Find("pbt") != nullptr;
  bool has_driver = false;
  for (const Machine& machine : swarm.machines) {
    for (const Device& device : machine.capacity.devices) has_driver |= !device.uuid.empty();
  }
  if (!shares || is_pbt || !has_driver || random.NextBelow(2) == 0) return;
  Value space = Map({{"data", Value("synthetic")}, {"device", Value("cuda")}});
  const Fusion fusion = FusionOf(Value("food11"), space, /*gpu_milli=*/1);
  swarm.known_lanes = {{{fusion.shape, "device"}, {1, 1000, 9}},
                       {{fusion.shape, "device"}, {2, 100, 9}}};
  space.Set("lr", Map({{"loguniform", Value::List{Value(0.0001), Value(0.5)}}}));
  document.Set("space", std::move(space));
  document.Set("trainable", Value("food11"));
  document.Set("metric", Value("val_loss"));
  swarm.spec = ToJson(document);
}

// Limits on results, in a fourth of the sweeps; builds that journalled otherwise knew none. Drawn
// apart.
void DrawLimits(Swarm& swarm) {
  KeyedRandom random(swarm.seed, "swarm limits on results");
  if (random.NextBelow(4) != 0 || swarm.old_lives > 0) return;
  Value document = *ParseJson(swarm.spec);
  Value::List limits = {Value(kCostLimit)};
  const bool has_x = document.Find("space")->Find("x") != nullptr;
  if (random.NextBelow(2) == 0 && has_x) limits.emplace_back("cost - x <= 0.4 or cost < 0.1");
  document.Set("feasible", Value(std::move(limits)));
  swarm.has_cost = true;
  swarm.spec = ToJson(document);
}

// In a fourth of the sweeps with percentile wilcoxon in its place; in a sixteenth of all `until`.
// Drawn apart.
void DrawLater(Swarm& swarm) {
  KeyedRandom random(swarm.seed, "swarm wilcoxon and until");
  const bool wants_wilcoxon = random.NextBelow(4) == 0;
  const bool wants_until = random.NextBelow(16) == 0;
  const auto no_gain = static_cast<int64_t>(2 + random.NextBelow(8));
  if (swarm.old_lives > 0) return;
  Value document = *ParseJson(swarm.spec);
  const Value* const scheduler = document.Find("scheduler");
  const bool has_percentile = scheduler != nullptr && scheduler->Find("percentile") != nullptr;
  if (wants_wilcoxon && has_percentile) {
    document.Set("scheduler", Map({{"wilcoxon", Map({{"p_threshold", Value(0.3)}})}}));
  }
  // It ends by the order of arrival.
  if (wants_until && !swarm.is_order_free) {
    const Value* const search = document.Find("search");
    const Value* const algorithm = search != nullptr ? search->Find("algorithm") : nullptr;
    const bool has_model = algorithm != nullptr && *algorithm == Value("gp") &&
                           document.Find("feasible") == nullptr &&
                           document.Find("metric")->is_string();
    document.Set("until", has_model ? Map({{"regret", Value(0.01 * static_cast<double>(no_gain))}})
                                    : Map({{"no_gain", Value(no_gain)}}));
  }
  swarm.spec = ToJson(document);
}

void DrawTemper(Dice& dice, Temper& temper) {
  const double often = dice.Log(0.002, 0.1);
  for (double* rate : {&temper.crash, &temper.quiet_exit, &temper.hang, &temper.out_of_memory,
                       &temper.nan, &temper.straggle, &temper.garbage}) {
    if (dice.OneIn(4)) *rate = often;
  }
  if (dice.OneIn(4)) temper.late_checkpoint = 0.3;
  if (dice.OneIn(12)) temper.bad_config = 0.1;
  if (dice.OneIn(4)) temper.ignore_sigterm = 0.3;
  if (dice.OneIn(6)) temper.ignore_stop = 0.2;
}

void DrawFaults(Dice& dice, double span_s, double rarest, FaultRates& faults) {
  for (Duration* mean :
       {&faults.tuner_kill, &faults.tuner_kill_commit, &faults.power_loss, &faults.disk_full,
        &faults.disk_error, &faults.interrupt, &faults.worker_kill, &faults.worker_term,
        &faults.worker_stop, &faults.cut, &faults.stall, &faults.partition, &faults.tuner_stop,
        &faults.corruption, &faults.command}) {
    if (dice.OneIn(3)) *mean = Seconds(span_s * rarest * dice.Log(0.05, 1.0));
  }
}

}  // namespace

Swarm DrawSwarm(uint64_t seed) {
  Dice dice(seed);
  Swarm swarm;
  swarm.seed = seed;
  DrawSweep(dice, swarm);
  if (dice.OneIn(6)) swarm.extend_to = swarm.samples + dice.From(1, 10);
  swarm.retries_errored = dice.OneIn(8);
  swarm.latency_max = Seconds(dice.Log(0.0001, 0.05));
  swarm.commit_time_max = Seconds(dice.Log(swarm.is_heavy ? 0.01 : 0.0001, 0.02));
  KeyedRandom older(seed, "swarm older build");
  if (older.NextBelow(4) == 0) swarm.old_lives = 1 + static_cast<int64_t>(older.NextBelow(3));
  swarm.name_follows_sync = dice.OneIn(2);
  swarm.begins_empty = dice.OneIn(8);
  swarm.has_clock_jumps = dice.OneIn(3);

  // What the sweep takes on one machine, roughly; faults come several times in it.
  const auto iteration_count = static_cast<double>(swarm.samples * swarm.iterations);
  const double work_s =
      iteration_count * (swarm.iteration_time.seconds() + swarm.latency_max.seconds());
  double slots = 0;
  for (const Machine& machine : swarm.machines) {
    slots += static_cast<double>(machine.capacity.cpu_milli / kWholeMilli) / 2;
  }
  const double span_s = std::clamp(work_s / slots, 0.2, 120.0);
  swarm.fault_time = Seconds(span_s * dice.Log(0.5, 3.0));
  // A long journal is read again by every life of the tuner.
  DrawFaults(dice, span_s, swarm.is_heavy ? 4 : 1, swarm.faults);
  if (!dice.OneIn(3)) DrawTemper(dice, swarm.temper);
  DrawDevices(swarm);
  DrawApart(swarm);
  DrawBucket(swarm);
  DrawAsync(swarm);
  DrawUnfit(swarm);
  DrawPrograms(swarm);
  DrawLanes(swarm);
  DrawLimits(swarm);
  DrawLater(swarm);
  // A checkpoint may be carried with each iteration, one after the other.
  const bool has_apart = std::any_of(swarm.machines.begin(), swarm.machines.end(),
                                     [](const Machine& machine) { return machine.is_apart; });
  const bool carries = has_apart || swarm.has_bucket;
  const double carry_s = carries ? iteration_count * kCarrySecondsMax : 0;
  swarm.liveness_bound = Seconds(50 * work_s + carry_s + 3600);
  const Temper& temper = swarm.temper;
  const bool is_tempered = temper.crash + temper.quiet_exit + temper.hang + temper.out_of_memory +
                               temper.nan + temper.garbage + temper.bad_config +
                               temper.ignore_stop + temper.late_checkpoint >
                           0;
  // Disturbed trials take longer, and what weighs their time may then try others (docs/SPACE.md).
  const bool weighs_time = swarm.spec.find(R"("per":"seconds")") != std::string::npos;
  swarm.is_order_free = swarm.is_order_free && !is_tempered && !weighs_time;
  // Drawn apart, so that all else of a seed stays what it was.
  KeyedRandom parts(seed, "reports in parts");
  if (parts.NextBelow(3) == 0) swarm.parts = parts.NextDouble();
  swarm.changes_trainable = KeyedRandom(seed, "swarm other trainable").NextBelow(4) == 0;
  if (swarm.is_order_free) {
    swarm.extend_to = 0;
    swarm.faults.command = {};
  }
  return swarm;
}

Swarm Undisturbed(Swarm swarm) {
  swarm.faults = {};
  swarm.script = {};
  swarm.clock_jump = {};
  swarm.temper = {};
  for (Machine& machine : swarm.machines) machine.is_unfit = false;
  swarm.fault_time = {};
  swarm.has_clock_jumps = false;
  swarm.extend_to = 0;
  return swarm;
}

std::string Describe(const Swarm& swarm) {
  std::string text = "space " + swarm.spec + "\nmachines";
  for (const Machine& machine : swarm.machines) {
    text += std::string(machine.is_local   ? " local("
                        : machine.is_apart ? " apart("
                                           : " (") +
            (machine.is_unfit ? "unfit, " : "") +
            std::to_string(machine.capacity.cpu_milli / kWholeMilli) + " CPUs, " +
            std::to_string(machine.capacity.devices.size()) + " devices)";
  }
  const auto rate = [&text](const char* name, Duration mean) {
    if (mean.us > 0) text += std::string(" ") + name + " every " + FormatDuration(mean) + ";";
  };
  text += "\nfaults for " + FormatDuration(swarm.fault_time) + ":";
  const FaultRates& faults = swarm.faults;
  rate("tuner killed", faults.tuner_kill);
  rate("tuner killed in a commit", faults.tuner_kill_commit);
  rate("power loss", faults.power_loss);
  rate("disk full", faults.disk_full);
  rate("disk error", faults.disk_error);
  rate("machine's disk full", faults.machine_disk_full);
  rate("interrupt", faults.interrupt);
  rate("worker killed", faults.worker_kill);
  rate("worker terminated", faults.worker_term);
  rate("worker stopped", faults.worker_stop);
  rate("connection cut", faults.cut);
  rate("connection stalled", faults.stall);
  rate("worker unreachable", faults.partition);
  rate("tuner stopped", faults.tuner_stop);
  rate("checkpoint corrupted", faults.corruption);
  rate("device lost", faults.device_loss);
  rate("object store away", faults.store_away);
  rate("command", faults.command);
  const Temper& t = swarm.temper;
  const auto chance = [&text](const char* name, double p) {
    if (p > 0) text += std::string(" ") + name + " " + std::to_string(p) + ";";
  };
  text += "\ntrials:";
  chance("in parts", swarm.parts);
  chance("crash", t.crash);
  chance("quiet exit", t.quiet_exit);
  chance("hang", t.hang);
  chance("out of memory", t.out_of_memory);
  chance("nan", t.nan);
  chance("straggle", t.straggle);
  chance("garbage", t.garbage);
  chance("late checkpoint", t.late_checkpoint);
  chance("bad config", t.bad_config);
  chance("ignore SIGTERM", t.ignore_sigterm);
  chance("ignore stop", t.ignore_stop);
  if (swarm.is_order_free) text += "\ncompared with an undisturbed run";
  return text + "\n";
}

}  // namespace tune::sim
