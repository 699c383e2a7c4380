// What another process may ask of a living tuner, and what it is answered: one line of JSON each,
// over <db stem>.artifacts/control.sock.
//
//   {"tuner": 4711, "sweep": "food11", "pause": {"trial": 3, "now": false}}
//   {"ok": ["trial 3 pauses at its next report"]}       or
//   {"error": "food11 has no trial 99", "code": "not_found"}
//
// The verbs are pause {trial, now}, unpause {trial}, stop {trial, now}, set {settings}: a list
// of "limits.trial_time=20m", drain {worker}.
// Without a trial they are about the whole sweep. devices {} changes nothing: it is answered with a
// line for each device (tuner/device_status.h), workers {} and waiting {} with lines of
// tuner/waiting_trials.h. state {} is answered with PAUSED or RUNNING, states {}
// with lines of tuner/queue_lines.h about all open sweeps, whatever `sweep` is.
//
// An answer of more than kControlAnswerBytesMax ends with a whole line, and says how many lines
// follow it: {"ok": [...], "left_out": 8500}.
//
// A head takes new sweeps, too: submit {seed, spec, base_dir, provenance, package}, where `sweep`
// is the name that is wanted, and is answered with the one that it got. queue {} is answered with
// lines of tuner/queue_lines.h, whatever `sweep` is. resume {samples, errored} goes on with a sweep
// that does not run, delete {} removes its rows.
//
// cluster {} is answered with a line of tuner/cli/head/cluster_lines.h, cluster_down {now,
// alone_with} lets its workers go: all of them, and no new ones come. With alone_with, a sweep's
// name or "", it is refused while any other sweep is open. cluster_set {file, document} applies
// what differs in the cluster file, or is refused; behind the line of cluster it tells what was
// changed.
//
// "by": {"name": "ada", "role": "user"} stands beside the verb where somebody asks by a key of the
// page (Asker). The socket is open to the tuner's own user alone, so what says it is our program.
//
// note {note, tags, untag} writes a person's note and tags to any sweep of the database
// (tuner/sweep_labels.h); submit takes note and tags, too.
//
// Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "core/limits.h"
#include "core/status.h"
#include "trial_runner/messages.h"
#include "tuner/sweep_labels.h"

namespace tune {

// Of a request, without its end: as JSON a space file may be longer than it was.
inline constexpr size_t kControlLineBytesMax = 2 * limits::kSpecBytesMax;
inline constexpr size_t kControlAnswerBytesMax = 1u << 20;

enum class ControlVerb {
  kPause,
  kUnpause,
  kStop,
  kSet,
  kDrain,
  kDevices,
  kState,
  kStates,
  kTraffic,
  kWorkers,
  kWaiting,
  kSubmit,
  kQueue,
  kResume,
  kDelete,
  kNote,
  kCluster,
  kClusterDown,
  kClusterSet
};
// Whether it asks for a change, and not only for what the tuner knows.
bool ChangesSweep(ControlVerb verb);
// Or of anything else that the tuner holds.
bool IsChange(ControlVerb verb);
const char* ControlVerbName(ControlVerb verb);
// What kState is answered with.
inline constexpr char kStatePaused[] = "PAUSED";
inline constexpr char kStateRunning[] = "RUNNING";
// kTraffic is answered with a number: bytes of checkpoints that workers sent within the last hour;
// with nothing where no worker can.

// A sweep that was checked as tune run checks one.
struct Submission {
  uint64_t seed = 0;
  std::string spec;        // JSON of the document.
  std::string base_dir;    // What paths in it are relative to.
  std::string provenance;  // JSON.
  PackageName package;     // Of the working folder, below <db stem>.artifacts; empty: none.
  LabelChange labels = {};

  friend bool operator==(const Submission&, const Submission&) = default;
};

// Who asks by a key of the page: what a person was given (tune tokens), or the page's own key,
// which has no name. A user changes what is his own, an admin all.
struct Asker {
  std::string name;
  bool is_admin = false;

  friend bool operator==(const Asker&, const Asker&) = default;
};

struct ControlRequest {
  int64_t tuner = 0;  // The process that it is meant for, as the writer's lock names it.
  std::string sweep;  // As stored.
  ControlVerb verb = ControlVerb::kPause;
  std::optional<TrialNumber> trial;  // Not with kSet.
  bool now = false;  // kPause, kStop, kClusterDown: without waiting for the next report.
  std::vector<std::string> settings;    // kSet: PATH=VALUE of a space file.
  std::string worker;                   // kDrain: its name, or its address.
  Submission submission = {};           // kSubmit.
  std::optional<int64_t> samples = {};  // kResume: the new total.
  bool errored = false;                 // kResume: trials that failed are tried again.
  LabelChange labels = {};              // kNote.
  std::string file = {};                // kClusterSet: the cluster file's absolute path.
  std::string document = {};            // kClusterSet: what it says, as JSON.
  std::optional<Asker> by = {};         // Nothing: the tuner's own user.
  // kClusterDown: refused while a sweep other than this one is open. Nothing: whatever is open.
  std::optional<std::string> alone_with = {};

  friend bool operator==(const ControlRequest&, const ControlRequest&) = default;
};

struct ControlAnswer {
  Status status;
  std::vector<std::string> lines;  // What will happen, for a person; of devices, one each.
  int64_t left_out = 0;            // Lines behind these for which one answer has no room.

  friend bool operator==(const ControlAnswer&, const ControlAnswer&) = default;
};

// As the command line would say it, for who looks later: "set limits.max_concurrent=4", "stop trial
// 3 now".
std::string DescribeChange(const ControlRequest& request);

// A line without its end.
std::string EncodeRequest(const ControlRequest& request);
std::string EncodeAnswer(const ControlAnswer& answer);

// kInvalidArgument says what is wrong: syntax, an unknown or missing key, a wrong type, a number
// out of range, more or less than one verb.
Result<ControlRequest> DecodeRequest(std::string_view line);
Result<ControlAnswer> DecodeAnswer(std::string_view line);

}  // namespace tune
