// The tables and the views of the database. Tables are ours to change, by a migration; the views
// are a contract with people's scripts: columns may be added, never renamed.
//
// Migrations are numbered from 1, embedded, one transaction each; the database's user_version is
// the last one applied.
//
// Thread rule: as Database.
#pragma once

#include <cstdint>

#include "core/status.h"
#include "tuner/sqlite/database.h"

namespace tune {

// The user_version that this program writes.
int64_t SchemaVersion();

// The first versions that have what a reader can do without.
inline constexpr int64_t kOrdersSince = 3;              // order_rows and exploit_rows.
inline constexpr int64_t kLabelsSince = 10;             // experiments.note and tags.
inline constexpr int64_t kGivenUpSince = 12;            // experiments.given_up.
inline constexpr int64_t kChangesSince = 13;            // changes.
inline constexpr int64_t kDevicesOfAttemptsSince = 10;  // attempts.devices.
inline constexpr int64_t kEndedEarlySince = 16;         // experiments.ended_early.
inline constexpr int64_t kLeftStoragesSince = 15;       // left_storage_rows.

// Brings a database opened for writing up to date, and into WAL mode. kFailedPrecondition when a
// newer program wrote it.
Status Migrate(Database& database);

// For one opened for reading: kNotFound when nothing is in it yet, kFailedPrecondition when a newer
// program wrote it.
Status CheckSchema(Database& database);

// For one opened for reading, before anything is read: tables that an older program did not know
// are there, and empty, for this connection alone (orders and copies; what else is missing readers
// do without). Writes nothing to the database.
Status AddTablesOfLater(Database& database);

}  // namespace tune
