// Workers on machines that are reached over SSH, one on each, by Debian's openssh client and the
// user's own configuration of it. Nothing of ours has to be there: the worker's programs are
// copied.
//
// Thread rule: engine.h.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/engines/cluster_file.h"
#include "tuner/engines/engine.h"

namespace tune {

struct SshPlaces {
  std::string program_dir;  // Of tune's programs, here.
  std::string folder;       // Here, for the archive of programs; it is there.
};

std::unique_ptr<Engine> MakeSshEngine(const PoolSpec& pool, const SshPlaces& places,
                                      const std::string& prefix);

// ---- for tests

// What the other machine says when it is asked what it is.
struct SshProbe {
  std::string machine;  // uname -m.
  std::string libc;     // getconf GNU_LIBC_VERSION.
  bool has_programs = false;
};
std::optional<SshProbe> ParseSshProbe(std::string_view text);

}  // namespace tune
