// `tune note`: what a person writes to a sweep or job, a note and tags. While a tuner or head holds
// the database it writes them, else this process does.
//
// Thread rule: one thread.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/status.h"
#include "core/time.h"
#include "tuner/cli/look/status_command.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/control/control_request.h"
#include "tuner/sweep_labels.h"

namespace tune {

struct NoteOptions {
  std::string db_path;
  std::string name;                 // "": the latest, to look at.
  std::optional<std::string> text;  // The new note; nothing: as it is.
  std::vector<std::string> tags;    // "team=vision".
  std::vector<std::string> untag;   // Keys.
};

// --note and --tag, as run and submit have them. kInvalidArgument says what is wrong.
Result<LabelChange> ReadLabels(const std::optional<std::string>& note,
                               const std::vector<std::string>& tags);

// The same, of what is about to begin.
Result<SweepLabels> FirstLabels(const std::optional<std::string>& note,
                                const std::vector<std::string>& tags);

// Writes `change` to a sweep that is in the database, and returns what it has then, for a person.
// kUnavailable: who holds the database does not answer, or has just come or gone.
Result<std::vector<std::string>> WriteLabels(const std::string& db_path, const FoundSweep& sweep,
                                             const LabelChange& change, const Clock& clock,
                                             Duration patience);

// Without a change it prints what is there. Returns the exit status: 0; 2 with one line on `err`
// when nothing was changed; 1 when nobody answered.
int NoteCommand(const NoteOptions& options, const Clock& clock, const WaitFunction& wait,
                std::ostream& out, std::ostream& err);

}  // namespace tune
