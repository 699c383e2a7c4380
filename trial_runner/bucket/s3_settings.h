// Where an object store is and by which credentials it is asked, in the order in which AWS's SDKs
// look ("Credential provider chain", "Service-specific endpoints", AWS SDKs and Tools reference):
// variables, the profile of ~/.aws/config and ~/.aws/credentials, a web identity, the container's
// address, the machine's (IMDSv2).
//
// Thread rule: ReadS3Settings and ParseAwsFile are pure; S3CredentialSource any thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "core/clock.h"
#include "core/status.h"
#include "core/time.h"
#include "trial_runner/bucket/http_transport.h"
#include "trial_runner/bucket/s3_signature.h"

namespace tune {

// The environment and the files that are read; empty: not there.
struct AwsSurroundings {
  std::function<std::string(const char* variable)> variable;
  std::function<std::string(const std::string& path)> file;
};
AwsSurroundings RealAwsSurroundings();

// {section: {name: value}}; nested values as "s3.addressing_style". In ~/.aws/config sections are
// called "profile NAME".
using AwsFile = std::map<std::string, std::map<std::string, std::string>>;
AwsFile ParseAwsFile(std::string_view text);

struct S3Settings {
  std::string endpoint;  // "http://127.0.0.1:9000"; empty: Amazon's of the region.
  std::string region;
  bool is_virtual_host = false;  // https://bucket.host/key, not https://host/bucket/key.
  std::string ca_file;
  std::string profile;  // Its name.
  // The profile's own keys, or of where else credentials come from.
  std::map<std::string, std::string> of_profile;
};
// kInvalidArgument: AWS_PROFILE names none that there is, or an endpoint is no address.
Result<S3Settings> ReadS3Settings(const AwsSurroundings& surroundings);

// Asks again when they are about to expire.
class S3CredentialSource {
 public:
  S3CredentialSource(AwsSurroundings surroundings, S3Settings settings,
                     std::shared_ptr<HttpTransport> transport, const Clock& clock);

  // kInvalidArgument: there are none, with all places that were looked at; kUnavailable: who gives
  // them cannot be reached.
  Result<S3Credentials> Get(const std::stop_token& stop);
  // The store says that they are expired.
  void Forget();

 private:
  struct Held {
    S3Credentials credentials;
    std::optional<Instant> expires = {};
  };
  using Found = Result<std::optional<Held>>;  // Nothing: they are not there.
  Result<Held> Find(const std::stop_token& stop);
  std::optional<Held> OfVariables() const;
  std::optional<Held> OfProfile() const;
  Found OfWebIdentity(const std::stop_token& stop);
  Found OfContainer(const std::stop_token& stop);
  Found OfMachine(const std::stop_token& stop);
  static Result<Held> ReadJson(const std::string& json, const std::string& place);
  std::string Setting(const char* variable, const char* name) const;

  const AwsSurroundings surroundings_;
  const S3Settings settings_;
  const std::shared_ptr<HttpTransport> transport_;
  const Clock& clock_;
  std::mutex mutex_;
  std::optional<Held> held_;
};

}  // namespace tune
