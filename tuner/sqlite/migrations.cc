#include "tuner/sqlite/migrations.h"

#include "tuner/best_trial.h"

namespace tune {
namespace {

// Times are microseconds since 1970 UTC in the tables; the views give ISO 8601 with milliseconds,
// rounded down.
#define TUNE_ISO_TIME(column) \
  "strftime('%Y-%m-%dT%H:%M:%fZ', " column " / 1000 / 1000.0, 'unixepoch')"

// Notes on the tables.
// - trial_rows changes at each report, so it is narrow; what a trial was given stands in
// configuration_rows, once.
//   `flat` is Configuration::ToFlat (recovery, params), `nested` is ToNested (trials.config).
// - report_rows carries its decision: 0 continue, 1 stop, 2 pause; NULL for an iteration reported
// again after a retry, and for one that is reported in part so far.
// - Reports and the journal lie in order of arrival, so a commit touches their last pages alone;
// that is also why the
//   journal's key is one integer.
// - seed is unsigned; the sign bit of the stored integer is its highest bit.
// - Deleting a row of experiment_rows deletes all that hangs on it.
constexpr char kVersion1[] =
    "PRAGMA application_id = 1953853029;"  // kApplicationId.

    "CREATE TABLE experiment_rows ("
    "  id INTEGER PRIMARY KEY,"
    "  name TEXT NOT NULL UNIQUE,"
    "  metric TEXT NOT NULL,"
    "  mode TEXT NOT NULL,"
    "  status TEXT NOT NULL,"
    "  seed INTEGER NOT NULL,"
    "  samples INTEGER NOT NULL,"
    "  scheduler TEXT NOT NULL,"
    "  spec TEXT NOT NULL,"
    "  base_dir TEXT NOT NULL,"
    "  provenance TEXT NOT NULL,"
    "  decision_version INTEGER NOT NULL,"
    "  created_us INTEGER NOT NULL,"
    "  finished_us INTEGER"
    ");"

    "CREATE TABLE trial_rows ("
    "  id INTEGER PRIMARY KEY,"
    "  experiment INTEGER NOT NULL REFERENCES experiment_rows (id) ON DELETE CASCADE,"
    "  number INTEGER NOT NULL,"
    "  status TEXT NOT NULL,"
    "  stop_reason TEXT,"
    "  iterations INTEGER NOT NULL,"
    "  last_value REAL,"
    "  best_value REAL,"
    "  best_iteration INTEGER,"
    "  attempts INTEGER NOT NULL,"
    "  created_us INTEGER NOT NULL,"
    "  started_us INTEGER,"
    "  finished_us INTEGER,"
    "  run_seconds REAL NOT NULL,"
    "  UNIQUE (experiment, number)"
    ");"

    "CREATE TABLE configuration_rows ("
    "  trial INTEGER PRIMARY KEY REFERENCES trial_rows (id) ON DELETE CASCADE,"
    "  flat TEXT NOT NULL,"
    "  nested TEXT NOT NULL"
    ");"

    "CREATE TABLE report_rows ("
    "  trial INTEGER NOT NULL REFERENCES trial_rows (id) ON DELETE CASCADE,"
    "  attempt INTEGER NOT NULL,"
    "  iteration INTEGER NOT NULL,"
    "  value REAL,"
    "  metrics TEXT NOT NULL,"
    "  reported_us INTEGER NOT NULL,"
    "  decision INTEGER,"
    "  rung INTEGER,"
    "  cutoff REAL,"
    "  rank INTEGER,"
    "  count INTEGER,"
    "  UNIQUE (trial, attempt, iteration)"
    ");"

    "CREATE TABLE worker_rows ("
    "  id INTEGER PRIMARY KEY,"
    "  experiment INTEGER NOT NULL REFERENCES experiment_rows (id) ON DELETE CASCADE,"
    "  number INTEGER NOT NULL,"
    "  name TEXT NOT NULL,"
    "  address TEXT NOT NULL,"
    "  cpu_milli INTEGER NOT NULL,"
    "  devices TEXT NOT NULL,"  // JSON: [{"index": 0, "name": "NVIDIA H200", "memory_bytes": 150754820096}].
    "  device_count INTEGER NOT NULL,"
    "  state TEXT NOT NULL,"
    "  joined_us INTEGER NOT NULL,"
    "  last_seen_us INTEGER NOT NULL,"
    "  UNIQUE (experiment, number)"
    ");"

    "CREATE TABLE attempt_rows ("
    "  trial INTEGER NOT NULL REFERENCES trial_rows (id) ON DELETE CASCADE,"
    "  number INTEGER NOT NULL,"
    "  worker INTEGER,"  // worker_rows.id.
    "  outcome TEXT NOT NULL,"
    "  error TEXT,"
    "  from_iteration INTEGER NOT NULL,"
    "  started_us INTEGER NOT NULL,"
    "  finished_us INTEGER,"
    "  PRIMARY KEY (trial, number)"
    ") WITHOUT ROWID;"

    "CREATE TABLE checkpoint_rows ("
    "  trial INTEGER NOT NULL REFERENCES trial_rows (id) ON DELETE CASCADE,"
    "  iteration INTEGER NOT NULL,"
    "  path TEXT NOT NULL,"
    "  bytes INTEGER NOT NULL,"
    "  checksum TEXT NOT NULL,"
    "  state TEXT NOT NULL,"
    "  PRIMARY KEY (trial, iteration, path)"
    ") WITHOUT ROWID;"

    "CREATE TABLE journal_rows ("
    "  id INTEGER PRIMARY KEY,"  // experiment << 40 | step.
    "  at_us INTEGER NOT NULL,"
    "  events TEXT NOT NULL"
    ");"

    "CREATE TRIGGER delete_journal AFTER DELETE ON experiment_rows BEGIN"
    "  DELETE FROM journal_rows WHERE id BETWEEN old.id << 40 AND (old.id + 1 << 40) - 1;"
    " END;"

    "CREATE VIEW experiments AS SELECT"
    "  id, name, metric, mode, status,"
    "  CASE WHEN seed >= 0 THEN seed ELSE printf('%u', seed) END AS seed,"
    "  samples, spec,"
    "  " TUNE_ISO_TIME("created_us") " AS created_at,"
    "  " TUNE_ISO_TIME("finished_us") " AS finished_at,"
    "  scheduler, base_dir, provenance, decision_version"
    "  FROM experiment_rows;"

    "CREATE VIEW trials AS SELECT"
    "  t.id AS id, t.experiment AS experiment, t.number AS number, t.status AS status,"
    "  t.stop_reason AS stop_reason, c.nested AS config, t.iterations AS iterations,"
    "  t.last_value AS last_value, t.best_value AS best_value, t.best_iteration AS best_iteration,"
    "  t.attempts AS attempts,"
    "  " TUNE_ISO_TIME("t.created_us") " AS created_at,"
    "  " TUNE_ISO_TIME("t.started_us") " AS started_at,"
    "  " TUNE_ISO_TIME("t.finished_us") " AS finished_at,"
    "  t.run_seconds AS run_seconds"
    "  FROM trial_rows AS t LEFT JOIN configuration_rows AS c ON c.trial = t.id;"

    "CREATE VIEW params AS SELECT"
    "  c.trial AS trial, json_extract(p.value, '$[0]') AS name, json_extract(p.value, '$[1]') AS value"
    "  FROM configuration_rows AS c, json_each(c.flat) AS p;"

    "CREATE VIEW reports AS SELECT"
    "  trial, attempt, iteration, value, metrics,"
    "  " TUNE_ISO_TIME("reported_us") " AS reported_at"
    "  FROM report_rows;"

    "CREATE VIEW decisions AS SELECT"
    "  r.trial AS trial, r.iteration AS iteration,"
    "  CASE r.decision WHEN 0 THEN 'continue' WHEN 1 THEN 'stop' ELSE 'pause' END AS decision,"
    "  e.scheduler AS scheduler, r.rung AS rung, r.cutoff AS cutoff, r.rank AS rank, r.count AS count"
    "  FROM report_rows AS r"
    "  JOIN trial_rows AS t ON t.id = r.trial"
    "  JOIN experiment_rows AS e ON e.id = t.experiment"
    "  WHERE r.decision IS NOT NULL;"

    "CREATE VIEW attempts AS SELECT"
    "  trial, number, worker, outcome, error, from_iteration,"
    "  " TUNE_ISO_TIME("started_us") " AS started_at,"
    "  " TUNE_ISO_TIME("finished_us") " AS finished_at"
    "  FROM attempt_rows;"

    "CREATE VIEW checkpoints AS SELECT"
    "  trial, iteration, path, bytes, checksum, state"
    "  FROM checkpoint_rows;"

    "CREATE VIEW workers AS SELECT"
    "  id, address, cpu_milli / 1000.0 AS cpus, device_count AS gpus, state,"
    "  " TUNE_ISO_TIME("joined_us") " AS joined_at,"
    "  " TUNE_ISO_TIME("last_seen_us") " AS last_seen_at,"
    "  experiment, number, name, devices"
    "  FROM worker_rows;"

    "PRAGMA user_version = 1;";

// A step's checksum covers its own bytes and the step before it (journal_checksum.h); NULL for
// steps of version 1.
constexpr char kVersion2[] =
    "ALTER TABLE journal_rows ADD COLUMN checksum INTEGER;"
    "PRAGMA user_version = 2;";

// What a scheduler decided about paused trials (0 resume, 1 stop, 2 exploit), and the trials that
// went on as copies of others. A trial's configuration is that of its last copy.
constexpr char kVersion3[] =
    "CREATE TABLE order_rows ("
    "  trial INTEGER NOT NULL REFERENCES trial_rows (id) ON DELETE CASCADE,"
    "  iteration INTEGER NOT NULL,"
    "  kind INTEGER NOT NULL,"
    "  rung INTEGER,"
    "  cutoff REAL,"
    "  rank INTEGER,"
    "  count INTEGER,"
    "  ordered_us INTEGER NOT NULL"
    ");"
    "CREATE INDEX order_rows_of_trial ON order_rows (trial);"

    "CREATE TABLE exploit_rows ("
    "  id INTEGER PRIMARY KEY,"
    "  trial INTEGER NOT NULL REFERENCES trial_rows (id) ON DELETE CASCADE,"
    "  iteration INTEGER NOT NULL,"
    "  source INTEGER NOT NULL,"  // A trial's number.
    "  source_iteration INTEGER NOT NULL,"
    "  flat TEXT NOT NULL,"
    "  nested TEXT NOT NULL"
    ");"
    "CREATE INDEX exploit_rows_of_trial ON exploit_rows (trial);"

    "DROP VIEW decisions;"
    "CREATE VIEW decisions AS SELECT"
    "  r.trial AS trial, r.iteration AS iteration,"
    "  CASE r.decision WHEN 0 THEN 'continue' WHEN 1 THEN 'stop' ELSE 'pause' END AS decision,"
    "  e.scheduler AS scheduler, r.rung AS rung, r.cutoff AS cutoff, r.rank AS rank, r.count AS count"
    "  FROM report_rows AS r"
    "  JOIN trial_rows AS t ON t.id = r.trial"
    "  JOIN experiment_rows AS e ON e.id = t.experiment"
    "  WHERE r.decision IS NOT NULL"
    "  UNION ALL SELECT"
    "  o.trial, o.iteration, CASE o.kind WHEN 1 THEN 'stop' ELSE 'resume' END,"
    "  e.scheduler, o.rung, o.cutoff, o.rank, o.count"
    "  FROM order_rows AS o"
    "  JOIN trial_rows AS t ON t.id = o.trial"
    "  JOIN experiment_rows AS e ON e.id = t.experiment;"

    "CREATE VIEW lineage AS SELECT"
    "  x.trial AS trial, x.iteration AS iteration, s.id AS source,"
    "  x.source_iteration AS source_iteration, x.nested AS config"
    "  FROM exploit_rows AS x"
    "  JOIN trial_rows AS t ON t.id = x.trial"
    "  JOIN trial_rows AS s ON s.experiment = t.experiment AND s.number = x.source;"

    "DROP VIEW trials;"
    "CREATE VIEW trials AS SELECT"
    "  t.id AS id, t.experiment AS experiment, t.number AS number, t.status AS status,"
    "  t.stop_reason AS stop_reason,"
    "  coalesce((SELECT x.nested FROM exploit_rows AS x WHERE x.trial = t.id"
    "            ORDER BY x.id DESC LIMIT 1), c.nested) AS config,"
    "  t.iterations AS iterations,"
    "  t.last_value AS last_value, t.best_value AS best_value, t.best_iteration AS best_iteration,"
    "  t.attempts AS attempts,"
    "  " TUNE_ISO_TIME("t.created_us") " AS created_at,"
    "  " TUNE_ISO_TIME("t.started_us") " AS started_at,"
    "  " TUNE_ISO_TIME("t.finished_us") " AS finished_at,"
    "  t.run_seconds AS run_seconds"
    "  FROM trial_rows AS t LEFT JOIN configuration_rows AS c ON c.trial = t.id;"

    "DROP VIEW params;"
    "CREATE VIEW params AS SELECT"
    "  c.trial AS trial, json_extract(p.value, '$[0]') AS name, json_extract(p.value, '$[1]') AS value"
    "  FROM configuration_rows AS c,"
    "  json_each(coalesce((SELECT x.flat FROM exploit_rows AS x WHERE x.trial = c.trial"
    "                      ORDER BY x.id DESC LIMIT 1), c.flat)) AS p;"

    "PRAGMA user_version = 3;";

// Of an attempt of several ranks, the workers of all but the first: a JSON list of worker_rows.id.
constexpr char kVersion4[] =
    "ALTER TABLE attempt_rows ADD COLUMN other_workers TEXT;"
    "DROP VIEW attempts;"
    "CREATE VIEW attempts AS SELECT"
    "  trial, number, worker, outcome, error, from_iteration,"
    "  " TUNE_ISO_TIME("started_us") " AS started_at,"
    "  " TUNE_ISO_TIME("finished_us") " AS finished_at,"
    "  other_workers"
    "  FROM attempt_rows;"
    "PRAGMA user_version = 4;";

// How fast trials of food11 trained, by how many trained as one: what a sweep goes by, learned from
// earlier ones or measured by itself.
constexpr char kVersion5[] =
    "CREATE TABLE lane_speed_rows ("
    "  experiment INTEGER NOT NULL REFERENCES experiment_rows (id) ON DELETE CASCADE,"
    "  shape TEXT NOT NULL,"   // JSON.
    "  device TEXT NOT NULL,"  // Its name; empty: the processor.
    "  lanes INTEGER NOT NULL,"
    "  images_per_second REAL NOT NULL,"
    "  report_count INTEGER NOT NULL,"
    "  PRIMARY KEY (experiment, shape, device, lanes)"
    ") WITHOUT ROWID;"
    "CREATE VIEW lane_speeds AS SELECT"
    "  experiment, shape, device, lanes, images_per_second, report_count AS reports"
    "  FROM lane_speed_rows;"
    "PRAGMA user_version = 5;";

// `spec` is what the sweep began with, which a replay of its journal begins with; `present_spec` is
// there once its settings have changed.
constexpr char kVersion6[] =
    "ALTER TABLE experiment_rows ADD COLUMN present_spec TEXT;"
    "DROP VIEW experiments;"
    "CREATE VIEW experiments AS SELECT"
    "  id, name, metric, mode, status,"
    "  CASE WHEN seed >= 0 THEN seed ELSE printf('%u', seed) END AS seed,"
    "  samples, coalesce(present_spec, spec) AS spec,"
    "  " TUNE_ISO_TIME("created_us") " AS created_at,"
    "  " TUNE_ISO_TIME("finished_us") " AS finished_at,"
    "  scheduler, base_dir, provenance, decision_version"
    "  FROM experiment_rows;"
    "PRAGMA user_version = 6;";

// `config` and `params` are of the configuration that best_value was reported with (best_trial.h).
constexpr char kVersion7[] =
    "DROP VIEW trials;"
    "CREATE VIEW trials AS SELECT"
    "  t.id AS id, t.experiment AS experiment, t.number AS number, t.status AS status,"
    "  t.stop_reason AS stop_reason, " TUNE_CONFIG_OF_BEST_SQL("nested") " AS config,"
    "  t.iterations AS iterations,"
    "  t.last_value AS last_value, t.best_value AS best_value, t.best_iteration AS best_iteration,"
    "  t.attempts AS attempts,"
    "  " TUNE_ISO_TIME("t.created_us") " AS created_at,"
    "  " TUNE_ISO_TIME("t.started_us") " AS started_at,"
    "  " TUNE_ISO_TIME("t.finished_us") " AS finished_at,"
    "  t.run_seconds AS run_seconds"
    "  FROM trial_rows AS t LEFT JOIN configuration_rows AS c ON c.trial = t.id;"

    "DROP VIEW params;"
    "CREATE VIEW params AS SELECT"
    "  t.id AS trial, json_extract(p.value, '$[0]') AS name, json_extract(p.value, '$[1]') AS value"
    "  FROM trial_rows AS t JOIN configuration_rows AS c ON c.trial = t.id,"
    "  json_each(" TUNE_CONFIG_OF_BEST_SQL("flat") ") AS p;"
    "PRAGMA user_version = 7;";

// What may be wrong with what a trial reports, for a person.
constexpr char kVersion8[] =
    "CREATE TABLE note_rows ("
    "  id INTEGER PRIMARY KEY,"
    "  trial INTEGER NOT NULL REFERENCES trial_rows (id) ON DELETE CASCADE,"
    "  kind TEXT NOT NULL,"
    "  text TEXT NOT NULL,"
    "  UNIQUE (trial, kind)"
    ");"
    "CREATE VIEW notes AS SELECT trial, text AS note FROM note_rows;"
    "PRAGMA user_version = 8;";

// A journal's steps are its sweep's stream from here on, and workers are gone on with from their
// rows: how one is known when it comes back, and how attempts went on it.
constexpr char kVersion9[] =
    "ALTER TABLE worker_rows ADD COLUMN is_local INTEGER NOT NULL DEFAULT 1;"
    "ALTER TABLE worker_rows ADD COLUMN session TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE worker_rows ADD COLUMN has_reported INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE worker_rows ADD COLUMN failed_starts INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE worker_rows ADD COLUMN is_shunning_said INTEGER NOT NULL DEFAULT 0;"
    "PRAGMA user_version = 9;";

// What a person writes to a sweep, tags as {"team": "vision"}; and where an attempt ran: what it
// held of each device, as [{"worker": 1, "device": 0, "gpu": 0.5}], with worker_rows.id.
constexpr char kVersion10[] =
    "ALTER TABLE experiment_rows ADD COLUMN note TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE experiment_rows ADD COLUMN tags TEXT NOT NULL DEFAULT '{}';"
    "DROP VIEW experiments;"
    "CREATE VIEW experiments AS SELECT"
    "  id, name, metric, mode, status,"
    "  CASE WHEN seed >= 0 THEN seed ELSE printf('%u', seed) END AS seed,"
    "  samples, coalesce(present_spec, spec) AS spec,"
    "  " TUNE_ISO_TIME("created_us") " AS created_at,"
    "  " TUNE_ISO_TIME("finished_us") " AS finished_at,"
    "  scheduler, base_dir, provenance, decision_version, note, tags"
    "  FROM experiment_rows;"

    "ALTER TABLE attempt_rows ADD COLUMN devices TEXT;"
    "DROP VIEW attempts;"
    "CREATE VIEW attempts AS SELECT"
    "  trial, number, worker, outcome, error, from_iteration,"
    "  " TUNE_ISO_TIME("started_us") " AS started_at,"
    "  " TUNE_ISO_TIME("finished_us") " AS finished_at,"
    "  other_workers, devices"
    "  FROM attempt_rows;"
    "PRAGMA user_version = 10;";

// What is asked of very many trials: the best ones, and how many are in which state. Each index has
// a condition that few queries say, so that no other query walks through the table in its order.
constexpr char kVersion11[] =
    "CREATE INDEX trial_rows_by_value ON trial_rows (experiment, best_value, number)"
    " WHERE best_value IS NOT NULL AND status <> 'ERROR';"
    "CREATE INDEX trial_rows_by_status ON trial_rows (experiment, status)"
    " WHERE status <> 'TERMINATED';"
    "PRAGMA user_version = 11;";

// Why a sweep or job that is INTERRUPTED is not tried again by its head; empty: it is, or it is no
// head's.
constexpr char kVersion12[] =
    "ALTER TABLE experiment_rows ADD COLUMN given_up TEXT NOT NULL DEFAULT '';"
    "DROP VIEW experiments;"
    "CREATE VIEW experiments AS SELECT"
    "  id, name, metric, mode, status,"
    "  CASE WHEN seed >= 0 THEN seed ELSE printf('%u', seed) END AS seed,"
    "  samples, coalesce(present_spec, spec) AS spec,"
    "  " TUNE_ISO_TIME("created_us") " AS created_at,"
    "  " TUNE_ISO_TIME("finished_us") " AS finished_at,"
    "  scheduler, base_dir, provenance, decision_version, note, tags, given_up"
    "  FROM experiment_rows;"
    "PRAGMA user_version = 12;";

// What was asked of a head or tuner by its door, and by whom: `by_name` as a key is named, of the
// tuner's own user that one; `by_role` of a key. Who submitted a sweep stands in its provenance. Of
// a sweep that is deleted the deletion alone stays, and its name.
constexpr char kVersion13[] =
    "CREATE TABLE change_rows ("
    "  id INTEGER PRIMARY KEY,"
    "  experiment INTEGER REFERENCES experiment_rows (id) ON DELETE CASCADE,"
    "  sweep TEXT NOT NULL,"
    "  changed_us INTEGER NOT NULL,"
    "  change TEXT NOT NULL,"
    "  by_name TEXT NOT NULL,"
    "  by_role TEXT NOT NULL"
    ");"
    "CREATE INDEX change_rows_by_experiment ON change_rows (experiment);"
    "CREATE VIEW changes AS SELECT"
    "  id, experiment, sweep, " TUNE_ISO_TIME("changed_us") " AS changed_at, change,"
    "  by_name AS \"by\", by_role AS role"
    "  FROM change_rows;"
    "PRAGMA user_version = 13;";

// What the report with the best value violates of the sweep's limits (`feasible`): 0, more, or 1e90
// where nobody can tell. NULL: the sweep has no limits, or nothing was reported.
constexpr char kVersion14[] =
    "ALTER TABLE trial_rows ADD COLUMN violation REAL;"
    "DROP VIEW trials;"
    "CREATE VIEW trials AS SELECT"
    "  t.id AS id, t.experiment AS experiment, t.number AS number, t.status AS status,"
    "  t.stop_reason AS stop_reason, " TUNE_CONFIG_OF_BEST_SQL("nested") " AS config,"
    "  t.iterations AS iterations,"
    "  t.last_value AS last_value, t.best_value AS best_value, t.best_iteration AS best_iteration,"
    "  t.attempts AS attempts,"
    "  " TUNE_ISO_TIME("t.created_us") " AS created_at,"
    "  " TUNE_ISO_TIME("t.started_us") " AS started_at,"
    "  " TUNE_ISO_TIME("t.finished_us") " AS finished_at,"
    "  t.run_seconds AS run_seconds, t.violation AS violation, t.violation = 0 AS feasible"
    "  FROM trial_rows AS t LEFT JOIN configuration_rows AS c ON c.trial = t.id;"
    "PRAGMA user_version = 14;";

// What a deleted sweep has in an object store goes after its rows (left_storages.h).
constexpr char kVersion15[] =
    "CREATE TABLE left_storage_rows ("
    "  sweep TEXT NOT NULL,"
    "  created_us INTEGER NOT NULL,"
    "  seed INTEGER NOT NULL,"
    "  storage TEXT NOT NULL,"  // Behind the key: else SQLite 3.40's quick_check calls it NULL.
    "  PRIMARY KEY (sweep, created_us, seed)"
    ") WITHOUT ROWID;"
    "CREATE TRIGGER leave_storage AFTER DELETE ON experiment_rows"
    "  WHEN json_valid(old.spec) AND json_extract(old.spec, '$.checkpoint.storage') LIKE 's3://%' "
    "BEGIN"
    "  INSERT OR REPLACE INTO left_storage_rows (sweep, created_us, seed, storage)"
    "  VALUES (old.name, old.created_us, old.seed, json_extract(old.spec, '$.checkpoint.storage'));"
    " END;"
    "PRAGMA user_version = 15;";

// Why a sweep ended before all of its trials were tried; empty: it has them all, or has not ended.
constexpr char kVersion16[] =
    "ALTER TABLE experiment_rows ADD COLUMN ended_early TEXT NOT NULL DEFAULT '';"
    "DROP VIEW experiments;"
    "CREATE VIEW experiments AS SELECT"
    "  id, name, metric, mode, status,"
    "  CASE WHEN seed >= 0 THEN seed ELSE printf('%u', seed) END AS seed,"
    "  samples, coalesce(present_spec, spec) AS spec,"
    "  " TUNE_ISO_TIME("created_us") " AS created_at,"
    "  " TUNE_ISO_TIME("finished_us") " AS finished_at,"
    "  scheduler, base_dir, provenance, decision_version, note, tags, given_up, ended_early"
    "  FROM experiment_rows;"
    "PRAGMA user_version = 16;";

constexpr const char* kMigrations[] = {
    kVersion1, kVersion2,  kVersion3,  kVersion4,  kVersion5,  kVersion6,  kVersion7,  kVersion8,
    kVersion9, kVersion10, kVersion11, kVersion12, kVersion13, kVersion14, kVersion15, kVersion16};

}  // namespace

std::span<const char* const> Migrations() { return kMigrations; }

}  // namespace tune
