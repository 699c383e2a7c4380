// Where a worker hears that its machine is about to be taken away (`tune worker --notice SOURCE`).
//
//   ec2           the spot interruption notice of Amazon's instance metadata (IMDSv2); two minutes
//                 before. A rebalance recommendation is none. Address:
//                 AWS_EC2_METADATA_SERVICE_ENDPOINT, as AWS's SDKs have it
//   gce           `instance/preempted` of Google's metadata server; half a minute before. Address:
//                 GCE_METADATA_HOST, as Google's libraries have it
//   file:PATH     a file appears; its first line says why
//   command:TEXT  a shell command ends with status 0; the first line that it prints says why. Any
//                 other status: not yet, and it is run again
//
// Thread rule: ParseNotice and the texts are pure; a NoticeSource is one thread's.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "core/status.h"
#include "trial_runner/bucket/http_transport.h"

namespace tune {

enum class NoticeKind { kEc2, kGce, kFile, kCommand };

struct NoticeName {
  NoticeKind kind = NoticeKind::kEc2;
  std::string text = {};  // The path or the command.
};

// kInvalidArgument names what was read and the sources that there are.
Result<NoticeName> ParseNotice(std::string_view text);

// Why the machine goes, for people; nothing: it stays so far. An error: the source cannot be asked.
using NoticeLook = Result<std::optional<std::string>>;

// What EC2 says at spot/instance-action: {"action": "terminate", "time": "2026-11-29T08:22:00Z"}.
std::string DescribeInstanceAction(std::string_view json);

class NoticeSource {
 public:
  virtual ~NoticeSource() = default;
  // Once. A command is waited for until `stop` is requested.
  virtual NoticeLook Look(const std::stop_token& stop) = 0;
};

// `variable` reads the environment; `transport`: of ec2 and gce, else unused.
std::unique_ptr<NoticeSource> MakeNoticeSource(
    const NoticeName& name, const std::function<std::string(const char*)>& variable,
    std::shared_ptr<HttpTransport> transport);

}  // namespace tune
