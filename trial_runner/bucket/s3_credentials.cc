// Where credentials come from.
#include <utility>

#include "core/json.h"
#include "trial_runner/bucket/s3_settings.h"
#include "trial_runner/s3_address.h"

namespace tune {
namespace {

constexpr Duration kBeforeExpiry = Seconds(300);
constexpr Duration kMetadataSilence = Seconds(2);  // Where there is none, nobody answers.
constexpr Duration kGiverSilence = Seconds(10);
constexpr char kContainerHost[] = "http://169.254.170.2";
constexpr char kMachineHost[] = "http://169.254.169.254";

std::string Between(std::string_view text, std::string_view begin, std::string_view end) {
  const size_t from = text.find(begin);
  if (from == std::string_view::npos) return "";
  const size_t to = text.find(end, from + begin.size());
  if (to == std::string_view::npos) return "";
  return std::string(text.substr(from + begin.size(), to - from - begin.size()));
}

std::string WithoutEndOfLine(std::string text) {
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  return text;
}

Status NotGiven(const std::string& place, const S3Reply& reply) {
  const std::string text =
      "credentials: " + place + " gives none: " +
      (reply.http_status == 0 ? reply.broken : "HTTP " + std::to_string(reply.http_status));
  const bool may_pass = reply.http_status == 0 || reply.http_status >= 500;
  return may_pass ? Unavailable(text) : InvalidArgument(text);
}

}  // namespace

S3CredentialSource::S3CredentialSource(AwsSurroundings surroundings, S3Settings settings,
                                       std::shared_ptr<HttpTransport> transport, const Clock& clock)
    : surroundings_(std::move(surroundings)),
      settings_(std::move(settings)),
      transport_(std::move(transport)),
      clock_(clock) {}

Result<S3Credentials> S3CredentialSource::Get(const std::stop_token& stop) {
  const std::lock_guard lock(mutex_);
  const bool is_fresh =
      held_ && (!held_->expires || clock_.Now() + kBeforeExpiry < *held_->expires);
  if (is_fresh) return held_->credentials;
  Result<Held> found = Find(stop);
  if (found.ok()) {
    held_ = *std::move(found);
  } else if (!held_ || !held_->expires || clock_.Now() >= *held_->expires) {
    return found.status();
  }
  return held_->credentials;
}

void S3CredentialSource::Forget() {
  const std::lock_guard lock(mutex_);
  held_.reset();
}

std::string S3CredentialSource::Setting(const char* variable, const char* name) const {
  std::string text = surroundings_.variable(variable);
  if (!text.empty()) return text;
  const auto found = settings_.of_profile.find(name);
  return found == settings_.of_profile.end() ? "" : found->second;
}

Result<S3CredentialSource::Held> S3CredentialSource::Find(const std::stop_token& stop) {
  if (auto held = OfVariables()) return *std::move(held);
  if (auto held = OfProfile()) return *std::move(held);
  for (const auto of : {&S3CredentialSource::OfWebIdentity, &S3CredentialSource::OfContainer,
                        &S3CredentialSource::OfMachine}) {
    TUNE_ASSIGN_OR_RETURN(auto held, (this->*of)(stop));
    if (held) return *std::move(held);
  }
  return InvalidArgument(
      "there are no credentials for s3://: neither AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY nor "
      "the profile '" +
      settings_.profile + "' in ~/.aws, a web identity, a container's or a machine's role has any");
}

std::optional<S3CredentialSource::Held> S3CredentialSource::OfVariables() const {
  const auto& variable = surroundings_.variable;
  const S3Credentials credentials = {variable("AWS_ACCESS_KEY_ID"),
                                     variable("AWS_SECRET_ACCESS_KEY"),
                                     variable("AWS_SESSION_TOKEN")};
  if (credentials.access_key.empty() || credentials.secret_key.empty()) return std::nullopt;
  return Held{credentials};
}

std::optional<S3CredentialSource::Held> S3CredentialSource::OfProfile() const {
  const auto at = [this](const char* name) { return Setting("", name); };
  const S3Credentials credentials = {at("aws_access_key_id"), at("aws_secret_access_key"),
                                     at("aws_session_token")};
  if (credentials.access_key.empty() || credentials.secret_key.empty()) return std::nullopt;
  return Held{credentials};
}

// sts:AssumeRoleWithWebIdentity, which needs no signature.
S3CredentialSource::Found S3CredentialSource::OfWebIdentity(const std::stop_token& stop) {
  const std::string token_file = Setting("AWS_WEB_IDENTITY_TOKEN_FILE", "web_identity_token_file");
  const std::string role = Setting("AWS_ROLE_ARN", "role_arn");
  if (token_file.empty() || role.empty()) return std::optional<Held>();
  const std::string token = WithoutEndOfLine(surroundings_.file(token_file));
  if (token.empty()) {
    return InvalidArgument("AWS_WEB_IDENTITY_TOKEN_FILE: " + token_file + " cannot be read");
  }
  std::string session = Setting("AWS_ROLE_SESSION_NAME", "role_session_name");
  if (session.empty()) session = "tune";
  std::string endpoint = surroundings_.variable("AWS_ENDPOINT_URL_STS");
  if (endpoint.empty()) endpoint = "https://sts." + settings_.region + ".amazonaws.com";
  const std::string form = CanonicalQuery({{"Action", "AssumeRoleWithWebIdentity"},
                                           {"Version", "2011-06-15"},
                                           {"RoleArn", role},
                                           {"RoleSessionName", session},
                                           {"WebIdentityToken", token}});
  HttpExchange exchange{
      "POST", endpoint + "/", {{"Content-Type", "application/x-www-form-urlencoded"}}, form};
  exchange.silence = kGiverSilence;
  const S3Reply reply = transport_->Do(exchange, stop);
  if (reply.http_status != 200) {
    const S3Error error = JudgeS3Reply(reply);
    return S3ErrorStatus(error, reply, "assume the role " + role + " by web identity",
                         clock_.Now());
  }
  Held held;
  held.credentials = {Between(reply.body, "<AccessKeyId>", "</AccessKeyId>"),
                      Between(reply.body, "<SecretAccessKey>", "</SecretAccessKey>"),
                      Between(reply.body, "<SessionToken>", "</SessionToken>")};
  held.expires = ParseS3Time(Between(reply.body, "<Expiration>", "</Expiration>"));
  if (held.credentials.secret_key.empty()) return NotGiven(endpoint, reply);
  return std::optional(held);
}

S3CredentialSource::Found S3CredentialSource::OfContainer(const std::stop_token& stop) {
  const auto& variable = surroundings_.variable;
  const std::string relative = variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  const std::string full = variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (relative.empty() && full.empty()) return std::optional<Held>();
  HttpExchange exchange{"GET", relative.empty() ? full : kContainerHost + relative};
  std::string token = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  if (const std::string file = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"); !file.empty()) {
    token = surroundings_.file(file);
  }
  token = WithoutEndOfLine(token);
  if (!token.empty()) exchange.headers.emplace_back("Authorization", token);
  exchange.is_local = true;
  exchange.silence = kGiverSilence;
  const S3Reply reply = transport_->Do(exchange, stop);
  if (reply.http_status != 200) return NotGiven(exchange.url, reply);
  TUNE_ASSIGN_OR_RETURN(Held held, ReadJson(reply.body, exchange.url));
  return std::optional(std::move(held));
}

// IMDSv2: a token first.
S3CredentialSource::Found S3CredentialSource::OfMachine(const std::stop_token& stop) {
  if (surroundings_.variable("AWS_EC2_METADATA_DISABLED") == "true") return std::optional<Held>();
  std::string host = Setting("AWS_EC2_METADATA_SERVICE_ENDPOINT", "ec2_metadata_service_endpoint");
  if (host.empty()) host = kMachineHost;
  while (host.ends_with('/')) host.pop_back();
  HttpExchange exchange{
      "PUT", host + "/latest/api/token", {{"X-aws-ec2-metadata-token-ttl-seconds", "21600"}}};
  exchange.is_local = true;
  exchange.silence = kMetadataSilence;
  const S3Reply token = transport_->Do(exchange, stop);
  if (token.http_status != 200) return std::optional<Held>();  // This is no such machine.
  exchange.method = "GET";
  exchange.headers = {{"X-aws-ec2-metadata-token", token.body}};
  exchange.silence = kGiverSilence;
  const std::string roles = host + "/latest/meta-data/iam/security-credentials/";
  exchange.url = roles;
  const S3Reply role = transport_->Do(exchange, stop);
  if (role.http_status == 404) return std::optional<Held>();  // It has no role.
  if (role.http_status != 200) return NotGiven(roles, role);
  exchange.url = roles + role.body.substr(0, role.body.find_first_of("\r\n"));
  const S3Reply reply = transport_->Do(exchange, stop);
  if (reply.http_status != 200) return NotGiven(exchange.url, reply);
  TUNE_ASSIGN_OR_RETURN(Held held, ReadJson(reply.body, exchange.url));
  return std::optional(std::move(held));
}

// {"AccessKeyId": ..., "SecretAccessKey": ..., "Token": ..., "Expiration": ...}
Result<S3CredentialSource::Held> S3CredentialSource::ReadJson(const std::string& json,
                                                              const std::string& place) {
  const Result<Value> value = ParseJson(json);
  const auto at = [&value](std::string_view name) -> std::string {
    if (!value.ok() || !value->is_map()) return "";
    const Value* const found = value->Find(name);
    return found != nullptr && found->is_string() ? found->AsString() : "";
  };
  Held held{{at("AccessKeyId"), at("SecretAccessKey"), at("Token")}, ParseS3Time(at("Expiration"))};
  if (held.credentials.access_key.empty() || held.credentials.secret_key.empty()) {
    return InvalidArgument("credentials: the answer of " + place + " has none");
  }
  return held;
}

}  // namespace tune
