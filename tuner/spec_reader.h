// space.yaml to ExperimentSpec; the project's only door to YAML (yaml_reader.cc).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "core/value.h"
#include "tuner/experiment_spec.h"

namespace tune {

// YAML 1.2 core schema to a Value with places: 1e-6 is a number, `yes` is a string, duplicate keys,
// anchors beyond limits and several documents are errors. Errors: "line:column: what", the column
// in bytes.
Result<Value> ParseYaml(std::string_view text);

// Applies `--set scheduler.asha.max_t=10`: a dotted path, a YAML value. Missing maps on the way are
// made.
Status ApplyOverride(std::string_view assignment, Value& document);
// One after the other. The second one's places in the document are "--set 2", as are errors, which
// NameOverride makes "--set space.lr": a person knows it by its path.
Status ApplyOverrides(const std::vector<std::string>& assignments, Value& document);
Status NameOverride(const Status& status, const std::vector<std::string>& overrides);

// The secrets (secrets.h) in assignments as a person typed them, those too that a later one
// overrides: for what is kept of the command line.
std::vector<Secret> SecretsOfOverrides(const std::vector<std::string>& overrides);

// A sweep's name is a folder's too: one line of at most 190 bytes, without '/'.
Status CheckSweepName(std::string_view name);
// The same for a sweep that is to begin: commands would take "-x" for an option. One that was begun
// by an older build may have such a name, and goes on.
Status CheckNewSweepName(std::string_view name);
// Whether a head keeps things of its own under this name, beside the sweeps' folders. A sweep of an
// older database may have it.
bool IsNameOfHead(std::string_view name);

// A file that a person wrote, at most limits::kSpecBytesMax and a byte of it. `what`: what it
// should be, for errors: "a space file".
Result<std::string> ReadDocumentText(const std::string& path, const char* what);

// Checks everything that the document alone can tell: keys (nearest valid one named), types,
// ranges, the space, the search and scheduler options, and the trainable's own options and metric
// (a metric that a built-in never reports is an error). `file` prefixes each error:
// "file:line:column: ...". `require_trainable` is false for plan and ask-tell.
Result<ExperimentSpec> InterpretSpec(const Value& document, std::string_view file,
                                     std::string_view base_dir, bool require_trainable);

// The same of what a database keeps of a sweep: the document as JSON. Errors begin with "the stored
// spec of NAME: ".
Result<ExperimentSpec> InterpretStoredSpec(std::string_view json, const std::string& sweep,
                                           std::string_view base_dir, bool require_trainable);

// ParseYaml, the overrides, InterpretSpec; the name defaults to the file's stem.
Result<ExperimentSpec> ReadSpecFile(const std::string& path,
                                    const std::vector<std::string>& overrides,
                                    bool require_trainable = true);

}  // namespace tune
