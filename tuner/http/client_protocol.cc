#include "tuner/http/client_protocol.h"

#include <charconv>
#include <optional>

#include "trial_runner/version.h"

namespace tune {
namespace {

// Nothing: it is no number.
std::optional<int> NumberIn(std::string_view said) {
  int number = 0;
  const auto [end, error] = std::from_chars(said.data(), said.data() + said.size(), number);
  const bool is_number = error == std::errc() && end == said.data() + said.size() && number > 0;
  return is_number ? std::optional(number) : std::nullopt;
}

std::string Spoken(int number) { return " speaks protocol " + std::to_string(number); }

std::string Ours() { return " (tune " + std::string(kProgramVersion) + ")"; }

}  // namespace

Status CheckClient(std::string_view said) {
  if (said.empty()) return OkStatus();
  const std::optional<int> number = NumberIn(said);
  if (number == kClientProtocol) return OkStatus();
  if (!number) {
    return FailedPrecondition(std::string(kProtocolHeader) + ": expected the number of a protocol");
  }
  const std::string both = "the head" + Ours() + Spoken(kClientProtocol) + ", and this client " +
                           std::to_string(*number);
  return FailedPrecondition(
      *number < kClientProtocol
          ? both + ": the client is older; install tune " + kProgramVersion + " on its machine"
          : both +
                ": the head is older; install the client's version of tune on the head's machine");
}

Status CheckHead(std::string_view said) {
  const std::optional<int> number = NumberIn(said);
  if (number == kClientProtocol) return OkStatus();
  if (!number) {
    return FailedPrecondition(
        "it names no protocol, and this client" + Ours() + Spoken(kClientProtocol) +
        ": the head is older, or it is none; install tune " + kProgramVersion + " on its machine");
  }
  const std::string both =
      "it" + Spoken(*number) + ", and this client" + Ours() + " " + std::to_string(kClientProtocol);
  return FailedPrecondition(
      *number < kClientProtocol
          ? both + ": the head is older; install tune " + kProgramVersion + " on its machine"
          : both + ": the client is older; install the head's version of tune here");
}

}  // namespace tune
