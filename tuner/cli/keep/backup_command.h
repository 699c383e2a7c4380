// `tune backup FILE`: a copy of the database and of what it needs to go on, also while a tuner
// writes. FILE is the database; <FILE stem>.artifacts holds each checkpoint that the copied rows
// call durable, the logs, what programs left in their trials' folders, and the folders that a head
// keeps of sweeps from other machines. `tune resume --db FILE` goes on with it.
//
// A checkpoint can be given up while it is copied. The database is then copied again, and what is
// new in it, until each durable row of the copy has its folder. Both get their names at the end;
// until then they are called FILE.partial and ....artifacts.partial, and the next backup to FILE
// replaces what a killed one left of them. A lock on the folder (flock(2)) tells such leavings from
// what another backup is writing. A tuner's keys are not copied: other machines are invited anew.
//
// Thread rule: one thread.
#pragma once

#include <functional>
#include <ostream>
#include <string>

namespace tune {

struct BackupOptions {
  std::string db_path;
  std::string file;
  // For tests: called when the database has been copied and its checkpoints have not.
  std::function<void()> between;
};

// Returns the exit status: 0; 1 when the copy failed (nothing of it stays); 2 with one line on
// `err`: FILE is there already, is being written, or cannot be.
int BackupCommand(const BackupOptions& options, std::ostream& out, std::ostream& err);

}  // namespace tune
