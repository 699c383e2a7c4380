// An ask-tell session that lives in a database: what it answered is durable before anybody sees
// it, and a later process goes on where it ended. The sweep's trainable is "ask-tell"; its journal
// holds the lines (a step is a JSON list of them).
//
// Thread rule: one thread; while it lives it holds the database's writer's lock.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/status.h"
#include "tuner/ask_tell.h"
#include "tuner/experiment_spec.h"
#include "tuner/sqlite/sqlite_store.h"

namespace tune {

// Whether `spec`, a stored document, is that of such a sweep.
bool IsAskTell(const Value& spec);

class StoredAskTell {
 public:
  // The sweep `name` of the database, made from `spec` where there is none. One of that name that
  // is of another spec, or that tune run made, is kInvalidArgument.
  static Result<std::unique_ptr<StoredAskTell>> Open(const std::string& db_path, std::string name,
                                                     ExperimentSpec spec, uint64_t seed,
                                                     const std::string& provenance,
                                                     const Clock& clock);
  // One that is there; "": the latest. kNotFound names what there is.
  static Result<std::unique_ptr<StoredAskTell>> OpenStored(const std::string& db_path,
                                                           const std::string& name,
                                                           const Clock& clock);

  // Whether the journal of one can be gone on with.
  static Status CheckJournal(SqliteStore& store, const StoredExperiment& experiment);

  // As AskTellSession's; the answers are to be shown after Commit.
  Result<std::vector<std::string>> OnLine(std::string_view line);
  // Durable when it returns ok. Does nothing when nothing was said since the last time.
  Status Commit();

  const std::string& name() const { return name_; }
  bool is_new() const { return is_new_; }

 private:
  StoredAskTell(std::unique_ptr<SqliteStore> store, const StoredExperiment& experiment,
                AskTellSession session, const Clock& clock);
  static Result<AskTellSession> Replayed(SqliteStore& store, const StoredExperiment& experiment,
                                         const ExperimentSpec& spec, int64_t& step_count);
  static Result<std::unique_ptr<StoredAskTell>> GoOn(std::unique_ptr<SqliteStore> store,
                                                     const StoredExperiment& experiment,
                                                     const ExperimentSpec& spec,
                                                     const Clock& clock);

  std::unique_ptr<SqliteStore> store_;
  ExperimentId id_;
  std::string name_;
  AskTellSession session_;
  const Clock& clock_;
  bool is_new_ = false;
  int64_t last_step_ = 0;
};

}  // namespace tune
