// A sweep or job in a few words, as JSON for the page: what the list of all and the page of one
// have in common.
//
// Thread rule: the database's thread.
#pragma once

#include <string>
#include <string_view>

#include "core/clock.h"
#include "core/status.h"
#include "core/value.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/sqlite/database.h"

namespace tune {

// The members of an object, without its end: that of a sweep that is over stays as it is.
Result<std::string> SummaryJson(Database& database, const FoundSweep& sweep, const Clock& clock);
// `"note"` and `"tags"`, which a person may write at any time.
void AppendLabels(const SweepLabels& labels, std::string& out);
// What a person is told of where a sweep comes from, out of experiments.provenance.
Result<Value> ProvenanceValue(std::string_view stored);

}  // namespace tune
