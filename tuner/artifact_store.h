// Checkpoints and logs on disk: <db stem>.artifacts/<experiment>/<trial number>/.
#pragma once

#include <string>

#include "core/status.h"

namespace tune {

class ArtifactStore {
 public:
  virtual ~ArtifactStore() = default;
  // Removes a folder that a trial made; one that is gone already is no error. Paths outside of the
  // store are refused.
  virtual Status Remove(const std::string& path) = 0;
  // Whether there is such a folder in the store.
  virtual bool Has(const std::string& path) const = 0;
};

// Folders of this machine, under `root` (absolute).
class LocalArtifactStore final : public ArtifactStore {
 public:
  explicit LocalArtifactStore(std::string root) : root_(std::move(root)) {}
  Status Remove(const std::string& path) override;
  bool Has(const std::string& path) const override;

 private:
  bool IsWithin(const std::string& normal) const { return normal.starts_with(root_ + "/"); }

  std::string root_;
};

}  // namespace tune
