// Where deleted sweeps kept their checkpoints in an object store. Their rows go in one step; what
// lies in the store does not, and stays known here until it is gone. A trigger of the schema writes
// these rows.
//
// Thread rule: as Database.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"
#include "core/time.h"
#include "tuner/sqlite/database.h"

namespace tune {

struct LeftStorage {
  std::string sweep;
  std::string storage;  // `checkpoint.storage`, "s3://bucket/prefix".
  Instant created_at;
  uint64_t seed = 0;
};

Result<std::vector<LeftStorage>> ReadLeftStorages(Database& database);
// Nothing of it is there any more, by its name, instant and seed.
Status ForgetLeftStorage(Database& database, const LeftStorage& left);

}  // namespace tune
