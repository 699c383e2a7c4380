// `tune run SPACE`: everything that can be checked is checked; then the sweep is stored, and
// conducted.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "core/limits.h"
#include "core/time.h"
#include "search/space.h"
#include "tuner/cli/look/page_place.h"
#include "tuner/experiment_spec.h"

namespace tune {

struct RunOptions {
  std::string space_path;
  std::string db_path;
  std::string program_dir;
  std::string command_line;  // For the provenance.
  std::optional<int64_t> samples;
  std::optional<std::string> name;
  std::optional<uint64_t> seed;
  std::optional<int64_t> max_concurrent;
  std::vector<std::string> overrides;  // --set.
  std::optional<int64_t> priority;     // On a head.
  std::vector<std::string> after;      // On a head.
  std::optional<std::string> note;
  std::vector<std::string> tags;  // "team=vision".
  std::optional<int64_t> cpus;
  std::optional<int64_t> gpus;
  std::string listen;
  Duration token_validity;
  int64_t checkpoint_bytes_max = limits::kCheckpointBytesMax;  // Of one that a worker sends.
  std::string log;  // What is written live beside the database: "tensorboard", or empty.
  bool ui = false;  // The page is served while the sweep runs, at `page`.
  PagePlace page;
  bool dry_run = false;
  bool try_one = false;      // For `tune run`: one trial to its first report (try_command.h).
  bool detach = false;       // The sweep goes on in a process of its own.
  bool print_name = false;   // On standard output, once it is stored: for programs.
  std::string cluster_path;  // A cluster file: it is up while the sweep runs; empty: none.
  std::string data_dir;      // FOOD11_DATA_DIR, or empty.
};

// --set, and what other options say of the file.
std::vector<std::string> WithShortcuts(const RunOptions& options);

// For a dry run. `where`: the lines that tell who would run it, and where it would be kept.
void PrintPlan(const ExperimentSpec& spec, const SearchSpace& space, uint64_t seed,
               const std::string& where, std::ostream& out);

// Returns the exit status.
int RunCommand(const RunOptions& options);

// The same with a spec that did not come from a file: space_path, samples, max_concurrent and
// overrides of the options are not looked at.
int RunSpec(ExperimentSpec spec, const RunOptions& options);

}  // namespace tune
