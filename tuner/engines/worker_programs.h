// The worker's programs with the libraries that they need, as one archive for machines that have
// nothing of them but a C library.
//
// Thread rule: any thread; those that pack wait for each other.
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <utility>

#include "core/status.h"

namespace tune {

struct WorkerPrograms {
  std::string archive;        // A tar file.
  std::string hash;           // Of what is in it.
  std::string machine;        // As `uname -m` says, such as "x86_64".
  std::pair<int, int> glibc;  // The least version that they run with.
};

// Makes the archive in `folder`, once for each content. The libraries lie in lib/, where
// the programs look first.
Result<WorkerPrograms> PackWorkerPrograms(const std::string& program_dir, const std::string& folder,
                                          const std::atomic<bool>& is_cancelled);

// The highest version GLIBC_x.y that a program's or library's bytes name; {0, 0}: none.
std::pair<int, int> GlibcNeeded(std::string_view bytes);

// Whether a machine that answers `uname -m` and `getconf GNU_LIBC_VERSION` with these can run them.
Status CheckMachine(const WorkerPrograms& programs, const std::string& machine,
                    const std::string& libc);

}  // namespace tune
