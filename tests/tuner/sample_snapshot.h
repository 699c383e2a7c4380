// A running sweep as its terminal shows it.
#pragma once

#include "tuner/cli/look/live_view.h"

namespace tune {

inline Value SampleConfig() {
  Value optimizer = Value::MakeMap();
  optimizer.Set("lr", 0.015625);
  Value config = Value::MakeMap();
  config.Set("optimizer", optimizer);
  config.Set("batch_size", 32);
  return config;
}

inline SweepSnapshot Sample() {
  SweepSnapshot snapshot;
  snapshot.name = "food11";
  snapshot.metric = "val_accuracy";
  snapshot.samples = 16;
  snapshot.paused_count = 1;
  snapshot.stopped_count = 8;
  snapshot.failed_count = 1;
  snapshot.running = {{9, 3, 0.5, 0.625, "local", Seconds(12)},
                      {11, 0, {}, {}, "gpu-1", Seconds(0.5)}};
  snapshot.rungs = {{0, 1, 9, 0.375}, {0, 2, 1, std::nullopt}};
  snapshot.best = BestSoFar{4, 0.75, 12, SampleConfig(), "/a/4/checkpoint_12"};
  snapshot.worker_count = 2;
  snapshot.cpu_milli_used = 4000;
  snapshot.cpu_milli_total = 8000;
  snapshot.gpu_milli_used = 500;
  snapshot.gpu_milli_total = 1000;
  snapshot.iteration_count = 60;
  snapshot.iterations_per_second = 1.25;
  snapshot.elapsed = Seconds(125);
  snapshot.time_left = TimeLeft{Seconds(97), Seconds(200)};
  return snapshot;
}

}  // namespace tune
