// What a user's program and the process that runs it say to each other: lines of JSON over a Unix
// stream socket, which TUNE_SOCKET names ('@' before a name in Linux's abstract namespace).
//
// The program, any number of connections, one line at a time on each:
//   {"protocol": 1, "report": {"metrics": {"val_loss": 0.5}, "iteration": 3,
//                              "checkpoint": "/home/me/model.pt"}}
//       `iteration` and `checkpoint` may be absent: iterations count on from the last one. A metric
//       that is no number is written "NaN", "Infinity" or "-Infinity". A checkpoint is a file or a
//       folder, copied before the answer.
// The answer, when the report is durable and decided:
//   {"answer": "continue", "iteration": 3}     go on
//   {"answer": "stop", "iteration": 3}         end; SIGTERM follows after a while
//   {"error": "..."}                           the report was not taken, and why; nothing changed
// What could not be made a report of (`tune report acc=2,7`) is told, so that a person hears of it,
// and answered with the error:
//   {"protocol": 1, "refused": "acc: read '2,7', expected a number"}
//
// A program of `serve: true` ends a trial with a request for the next one, as another does with
// status 0. The answer comes when there is one, with all variables of the environment whose names
// begin with TUNE_, in place of those of the trial before. The connection ends when there is none.
//   {"protocol": 1, "next": true, "note": "..."}
//       `note` may be absent: a line for a person, what may be wrong with the trial's value.
//   {"trial": {"TUNE_TRIAL": "4", "TUNE_CONFIG": "/...", ...}}
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/metric.h"
#include "core/status.h"

namespace tune {

inline constexpr int64_t kProgramProtocol = 1;
inline constexpr int64_t kProgramIterationMax = int64_t{1} << 53;  // What all readers of JSON hold.

struct ProgramReport {
  Metrics metrics;
  std::optional<int64_t> iteration;
  std::string checkpoint;  // Absolute path; empty: none.
};

// Lines without their '\n'. Errors say what was read and what was expected.
Result<ProgramReport> ParseProgramReport(std::string_view line);
struct ProgramAnswer {
  bool stops = false;
  int64_t iteration = 0;
};
Result<ProgramAnswer> ParseProgramAnswer(std::string_view line);

// Of a line that tells of a report that could not be made; nothing: the line is another one.
std::optional<std::string> ReadRefusal(std::string_view line);

// The request for the next trial, and its note; nothing where the line is no such request.
struct NextRequest {
  std::string note = {};
};
std::optional<NextRequest> ParseNextRequest(std::string_view line);

// Lines end with '\n'.
std::string EncodeNextTrial(const std::map<std::string, std::string>& variables);
std::string EncodeProgramReport(const ProgramReport& report);
std::string EncodeRefusal(std::string_view error);
std::string EncodeProgramAnswer(const ProgramAnswer& answer);
std::string EncodeProgramError(std::string_view error);

}  // namespace tune
