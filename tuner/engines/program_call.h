// Calls of other programs that answer and end: ssh, sbatch, commands of the user's own.
//
// Thread rule: the calling thread waits; it must live as long as the calls.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "core/status.h"
#include "core/time.h"

namespace tune {

struct ProgramCall {
  std::vector<std::string> words;             // The program, looked for in PATH, and its arguments.
  std::vector<std::string> environment = {};  // "NAME=value", besides ours.
  std::string folder = {};                    // Where it runs; empty: where we do.
  std::string input = {};                     // What it reads; empty: nothing, or `input_path`.
  std::string input_path = {};
  Duration patience = Seconds(60);
};

struct CallAnswer {
  int exit_status = 0;   // 128 and the signal's number after one.
  std::string out = {};  // At most kProgramOutputMax bytes of each.
  std::string err = {};

  bool is_good() const { return exit_status == 0; }
  // The last line of what it said on standard error, else on standard output, else the status.
  std::string Reason() const;
};
inline constexpr size_t kProgramOutputMax = 8u << 20;

// In the order of `calls`, `at_once` of which run at a time. kNotFound: there is no such program.
// kUnavailable: it did not end within its patience, and was killed, or `is_cancelled` became true.
std::vector<Result<CallAnswer>> CallPrograms(const std::vector<ProgramCall>& calls, size_t at_once,
                                             const std::atomic<bool>& is_cancelled);
Result<CallAnswer> CallProgram(const ProgramCall& call, const std::atomic<bool>& is_cancelled);

// The last line with anything in it.
std::string LastLine(const std::string& text);

}  // namespace tune
