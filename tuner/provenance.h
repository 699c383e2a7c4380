// Where a sweep's results come from: program, command, machine, code and data. Stored with the
// sweep when it begins (`experiments.provenance`); a resume compares and says what differs.
//
// Thread rule: values and pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "trial_runner/messages.h"

namespace tune {

struct GitState {
  std::string commit;            // Hexadecimal.
  std::optional<bool> is_dirty;  // Whether tracked files were changed; nothing: not known.
  friend bool operator==(const GitState&, const GitState&) = default;
};

// A folder of data, by the names and sizes of its files: cheap for any size of data, and blind to a
// file that was changed without changing its size.
struct DataState {
  std::string folder;
  int64_t file_count = 0;
  int64_t bytes = 0;
  // XXH64 over "<relative path>\0<size>\n" of each file, in order of path. Of an object store:
  // DataSeen's, which has the objects' ETags, too.
  std::string hash;
  friend bool operator==(const DataState&, const DataState&) = default;
};

// Begins the entry of a variable among Provenance::files.
inline constexpr std::string_view kVariableEntry = "the variable ";

struct Provenance {
  std::string version;
  std::string command;
  std::string host;
  std::string folder;                 // The space file's: where the trainable runs.
  std::optional<int64_t> cpus, gpus;  // Told: what the tuner's own worker offers.
  PackageName package;                // Of the working folder, as a head keeps it; mostly none.
  bool is_elsewhere =
      false;               // `folder` is on another machine than the head's, which has the package.
  std::string by;          // By whose key it was submitted to a head; mostly none.
  std::string submission;  // By which a head knows that it was given before; mostly none.
  std::optional<GitState> git;    // Of that folder; nothing: it is in no repository.
  std::optional<DataState> data;  // Nothing: the trainable reads none.
  std::vector<DataState> inputs;  // Of a command, as far as they could be listed.
  // The trainable's own: path to XXH64 of its contents. Of a variable of the environment, under
  // kVariableEntry and its name: a digit of it.
  std::map<std::string, std::string> files;
};

// What of it workers can compare with what they fetch.
std::vector<DataSeen> DataSeenOf(const Provenance& provenance);

// One line of JSON.
std::string EncodeProvenance(const Provenance& provenance);
// What is missing (an older program's) stays empty.
Result<Provenance> DecodeProvenance(std::string_view text);

// A line for each thing that is not as it was ("git: was 1a2b3c, is 4d5e6f with uncommitted
// changes"). The command is not compared, nor is what is known of one side alone.
std::vector<std::string> DescribeDifferences(const Provenance& was, const Provenance& is);
// Those of them that change what a trial reports, if anything does: its files and its data.
std::vector<std::string> DescribeProgramDifferences(const Provenance& was, const Provenance& is);

}  // namespace tune
