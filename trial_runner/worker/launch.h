// Starting a program: its files, its group, its limits, and the reason where it does not start.
//
// Thread rule: one thread, which must live as long as the process shall.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/posix/file_descriptor.h"
#include "core/status.h"

namespace tune {

struct LaunchOptions {
  std::string path;                      // As it stands: no search.
  std::vector<std::string> arguments;    // With the program's name first.
  std::vector<std::string> environment;  // "NAME=value"; all of it.
  std::string folder;                    // To begin in; empty: ours.
  // Its standard input and output, its standard error (-1: where its output goes), and what becomes
  // its file descriptor 3 (-1: nothing).
  // Borrowed; all above 10 (MovedUp). Nothing else is open in it.
  int input = -1;
  int output = -1;
  int error = -1;
  int socket = -1;
  int cgroup_procs = -1;      // Where it writes itself into a cgroup; -1: it stays in ours.
  std::vector<int64_t> cpus;  // That it may run on; empty: as we may.
  bool has_own_group = false;
};

// Its pid. It gets SIGKILL when the thread that started it ends, is offered to the system to be
// ended first when memory is short, and finds the default signal handlers and the limit of
// descriptors that we were started with. kNotFound and kInvalidArgument, without its path: the
// program or its folder is not there, or may not be run. Other errors: as StartFailure.
Result<int> Launch(const LaunchOptions& options);

// A copy far above the numbers that a child fills, so that filling one closes none of the others.
Result<FileDescriptor> MovedUp(FileDescriptor fd);

// What an errno means for a start. kResourceExhausted: there is no room for one more just now (of
// descriptors, processes or memory); it may well succeed later.
Status StartFailure(int error);

}  // namespace tune
