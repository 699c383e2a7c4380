// A sweep to export: the sample sweep with a space and one trial that waits. And what Python makes
// of what was written.
#pragma once

#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/wait.h>

#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>

#include "core/json.h"
#include "core/value.h"
#include "tests/tuner/sample_sweep.h"
#include "tests/tuner/temp_folder.h"
#include "tuner/cli/keep/export_command.h"

namespace tune {

inline constexpr char kSpaceJson[] =
    R"("scheduler":{"asha":{"max_t":4}},"space":{"lr":{"loguniform":[0.01,1]},)"
    R"("batch_size":{"choice":[32,64,128,256]},)"
    R"("optimizer":{"kind":{"choice":["adam","sgd, \"plain\""]}},"augment":true})";

// Trials 0 to 4: complete (after a retry), stopped by the scheduler, failed, running, waiting.
inline ExperimentId WriteExportedSweep(SqliteStore& store, const std::string& name,
                                       const std::string& spec) {
  NewExperiment wanted = SampleExperiment(name);
  wanted.spec = spec;
  const Result<StoredExperiment> experiment = store.CreateExperiment(wanted);
  EXPECT_TRUE(experiment.ok()) << experiment.status().message();
  Transition rows = SampleRows();
  rows.new_trials.push_back(SampleTrial(4));
  const Status status =
      store.Commit(experiment->id, {1, SampleTime(20), EncodeEvents(SampleEvents())}, rows);
  EXPECT_TRUE(status.ok()) << status.message();
  return experiment->id;
}

inline std::string ExportedSpec() {
  return R"({"name":"food","metric":"val_accuracy","mode":"max",)" + std::string(kSpaceJson) + "}";
}

struct ExportAnswer {
  int exit_status = 0;
  std::string err;
};

inline ExportAnswer Export(const TempFolder& folder, const std::string& format,
                           const std::vector<std::string>& arguments) {
  std::ostringstream err;
  const int exit_status = ExportCommand({folder / "tune.db", format, arguments}, err);
  return {exit_status, err.str()};
}

struct PythonAnswer {
  int exit_status = 0;
  std::string text;
  Value json;
};

// Runs a script of tests/tuner/export; what it prints is JSON when it ends well.
inline PythonAnswer RunPython(const std::string& script, const std::string& arguments) {
  const char* const root = std::getenv("TUNE_SOURCE_DIR");
  const std::string command = "/usr/bin/python3 '" + std::string(root != nullptr ? root : ".") +
                              "/tests/tuner/export/" + script + "' " + arguments + " 2>&1";
  PythonAnswer answer;
  FILE* const pipe = popen(command.c_str(), "r");
  char piece[4096];
  for (size_t size; (size = fread(piece, 1, sizeof piece, pipe)) > 0;)
    answer.text.append(piece, size);
  const int status = pclose(pipe);
  answer.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  if (answer.exit_status == 0) {
    Result<Value> json = ParseJson(answer.text, JsonDialect::kWithNaN);
    EXPECT_TRUE(json.ok()) << json.status().message() << "\n" << answer.text;
    if (json.ok()) answer.json = *std::move(json);
  }
  return answer;
}

inline bool HasPython() { return access("/usr/bin/python3", X_OK) == 0; }

// "a/0/b" through maps and lists; null for what is not there.
inline Value At(const Value& value, const std::string& path) {
  const Value* at = &value;
  std::istringstream parts(path);
  for (std::string part; std::getline(parts, part, '/');) {
    if (at->is_map()) {
      at = at->Find(part);
    } else if (at->is_list() && std::stoul(part) < at->AsList().size()) {
      at = &at->AsList()[std::stoul(part)];
    } else {
      at = nullptr;
    }
    if (at == nullptr) return Value();
  }
  return *at;
}

}  // namespace tune
