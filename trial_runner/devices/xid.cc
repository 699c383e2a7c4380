#include "trial_runner/devices/xid.h"

#include <array>
#include <utility>

namespace tune {

std::string_view FatalXid(uint64_t xid) {
  static constexpr std::array<std::pair<uint64_t, std::string_view>, 13> kFatal = {{
      {46, "it stopped processing"},
      {48, "a double bit error of its memory"},
      {62, "its micro-controller halted"},
      {64, "a broken row of its memory could not be replaced"},
      {79, "it has fallen off the bus"},
      {95, "an uncontained error of its memory"},
      {109, "it did not change from one program to another in time"},
      {110, "a security fault"},
      {119, "its system processor (GSP) does not answer"},
      {120, "an error of its system processor (GSP)"},
      {140, "an unrecovered error of its memory"},
      {143, "it could not be initialized"},
      {158, "a fatal timeout"},
  }};
  for (const auto& [number, words] : kFatal) {
    if (number == xid) return words;
  }
  return "";
}

}  // namespace tune
