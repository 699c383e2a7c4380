// What gives machines to a pool: Slurm, Kubernetes, SSH, or commands of one's own. Machines are
// known by the names that we give them.
//
// Thread rule: one thread at a time; calls may take long. CallOff() and Cancel() from any thread.
#pragma once

#include <string>
#include <vector>

#include "core/status.h"

namespace tune {

enum class MachineState {
  kPending,  // The engine has it, and has not started it.
  kRunning,
  kEnded,  // It is over, however it ended; the reason says how.
};

struct Machine {
  std::string name;
  MachineState state = MachineState::kRunning;
  std::string reason = {};  // The engine's own word, such as "Priority"; may be empty.
  bool is_reached = true;   // Else this is what was known of it before its host fell silent.
};

// What a worker is started with.
struct WorkerInvitation {
  std::string connect;     // HOST:PORT.
  std::string token_path;  // A file of mode 0600.
};

// The failures of all of them, by their codes: kUnavailable: the engine was not reached or did not
// answer, and whether it did what it was asked is not known; kResourceExhausted: a quota is
// reached; anything else: it refused, with its own words.
class Engine {
 public:
  virtual ~Engine() = default;

  // Asks for one worker for each name; names are consecutive numbers behind one prefix. Asked
  // again, a name is not made twice. By name: how it went.
  virtual std::vector<Status> Ask(const std::vector<std::string>& names,
                                  const WorkerInvitation& invitation) = 0;
  // All machines whose names begin with the prefix of this cluster and pool.
  virtual Result<std::vector<Machine>> List() = 0;
  // Ends them, at once. No error for what is not there.
  virtual Status GiveBack(const std::vector<std::string>& names) = 0;
  // The last lines of what its worker said; empty: none can be had.
  virtual std::string LogTail(const std::string& name) = 0;

  // Nothing more is wanted: calls of Ask that go on end soon with kUnavailable, and so do later
  // ones.
  virtual void CallOff() = 0;
  // The same of all calls.
  virtual void Cancel() = 0;
};

}  // namespace tune
