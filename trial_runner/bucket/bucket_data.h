// Data that lie in an object store: what there is below a prefix, and a copy of it in a machine's
// cache, which all of its processes share.
//
//   <cache>/data/<hash>/...   whole, by the listing's hash: of the address and of each object's
//                             name, size and ETag. Read-only files; who uses it holds it
//                             (core/posix/kept_folders.h)
//   <cache>/data/<hash of the address>.part/
//                             on its way; one process at a time fetches it, and goes on from what
//                             another one left there
//
// What a program changes in the cache without changing a size is not noticed.
//
// An object is asked for under the condition that it still is what was listed (If-Match). Where it
// is not, the prefix is listed again, and what did not change is kept.
//
// Thread rule: any thread, any number of processes.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/posix/file_descriptor.h"
#include "core/status.h"
#include "trial_runner/bucket/s3_client.h"
#include "trial_runner/sweep_info.h"

namespace tune {

struct DataListing {
  struct Object {
    std::string path;  // Below the prefix; of a single object its name.
    S3Object object;
  };
  std::vector<Object> objects;  // By path.
  bool is_one = false;          // The prefix is the key of one object.
  int64_t bytes = 0;
  std::string hash;  // Of the store's address, the key, and of all paths, sizes and ETags.
  DataSeen seen;     // Its hash is of the paths, sizes and ETags alone: the same from anywhere.
};

// `key`: of one object, or what stands before "/" in those of many. kNotFound: there is none;
// kFailedPrecondition: their names cannot be those of files.
Result<DataListing> ListData(S3Client& client, const std::string& key, const std::stop_token& stop);

struct DataProgress {
  int64_t files = 0, files_in_all = 0;
  int64_t bytes = 0, bytes_in_all = 0;
};

struct BroughtData {
  std::string path;     // The file, or the folder.
  DataSeen seen;        // The listing's.
  FileDescriptor hold;  // It stays as long as this is open.
};

struct DataNews {
  std::function<void(const DataProgress&)> on_progress;  // After each object, on any thread.
  std::function<void(const std::string&)> on_line;       // For a person.
};

// What came is shown to be what the store has by its ETag (etag.h), or comes twice.
//
// Errors of ListData; kResourceExhausted: no room; kInternal: of this disk; kUnavailable: it may
// work later, or `stop` was requested.
Result<BroughtData> BringData(S3Client& client, const std::string& key, const std::string& cache,
                              const DataNews& news, const std::stop_token& stop);

}  // namespace tune
