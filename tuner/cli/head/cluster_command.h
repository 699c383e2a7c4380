// `tune cluster up|status|down FILE`: a head with pools of workers from engines.
//
// Thread rule: one thread.
#pragma once

#include <optional>
#include <ostream>
#include <string>

#include "core/clock.h"
#include "core/time.h"
#include "tuner/cli/look/status_command.h"
#include "tuner/cli/words/text_table.h"

namespace tune {

inline constexpr Duration kClusterLooksEvery = Milliseconds(100);
inline constexpr int kClusterLeft = 130;  // `wait` said so.

struct ClusterOptions {
  std::string action;  // "up", "status" or "down"; empty: the user is told which there are.
  std::string path;    // Of the cluster file; empty: cluster.yaml.
  std::string db_path;
  std::string program_dir;
  Duration patience = Seconds(600);  // Until the minimum is there, or nothing is.
  bool now = false;                  // Down: without waiting for trials to be saved.
  bool* has_found_head = nullptr;  // Up: becomes true where a head was there that it did not start.
  // Down: the cluster stays up while a sweep other than this one is open. Nothing: it goes down
  // whatever is open.
  std::optional<std::string> alone_with;
  bool* stays_up = nullptr;  // Down: becomes true where it stays up for such a sweep.
  OutputFormat format = OutputFormat::kTable;
  size_t width = 0;
};

// What is on its way goes to `err`, answers to `out`. Returns the exit status: up: 0 when each pool
// has its minimum; down: 0 when the engines have nothing left, or the cluster stays up for another
// sweep; 1 when that did not come about within `patience`, and 130 when `wait` says so; 2 for what
// is wrong with the file. Status and down do with what the cluster's folder remembers of a file
// that is gone or cannot be read.
int ClusterCommand(const ClusterOptions& options, const Clock& clock, const WaitFunction& wait,
                   std::ostream& out, std::ostream& err);

}  // namespace tune
