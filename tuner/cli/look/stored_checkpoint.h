// A checkpoint of an object store that a command needs on this disk.
//
// Thread rule: one thread; each call waits for the store.
#pragma once

#include <string>
#include <utility>

#include "core/status.h"

namespace tune {

// One that a row names by its URL comes to `parent`/`name`, verified. kNotFound: it is not there;
// kDataLoss: it is damaged there; kUnavailable: the store cannot be reached.
Status BringStored(const std::string& url, const std::string& parent, const std::string& name);

// The same for as long as this lives, in a folder of its own; where the store has it no longer,
// what a backup brought of it (`copy`).
class StoredHere {
 public:
  static Result<StoredHere> Of(const std::string& url, const std::string& copy);
  StoredHere(StoredHere&& other) noexcept
      : folder_(std::exchange(other.folder_, {})), path_(std::move(other.path_)) {}
  StoredHere& operator=(StoredHere&&) = delete;
  ~StoredHere();
  const std::string& path() const { return path_; }

 private:
  explicit StoredHere(std::string folder)
      : folder_(std::move(folder)), path_(folder_ + "/checkpoint") {}

  std::string folder_;
  std::string path_;
};

}  // namespace tune
