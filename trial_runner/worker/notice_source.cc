#include "trial_runner/worker/notice_source.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "core/json.h"
#include "core/posix/file_descriptor.h"
#include "core/posix/read_bytes.h"
#include "trial_runner/worker/launch.h"

namespace tune {
namespace {

constexpr char kEc2Address[] = "http://169.254.169.254";
constexpr char kGceHost[] = "metadata.google.internal";
constexpr Duration kMetadataPatience = Seconds(2);
constexpr int kStopLookMs = 100;
constexpr size_t kReasonBytesMax = 200;

std::string FirstLine(std::string_view text) {
  return std::string(text.substr(0, std::min(text.find_first_of("\r\n"), kReasonBytesMax)));
}

Status NoAnswer(const std::string& url, const S3Reply& reply) {
  return Unavailable(
      url + " does not tell: " +
      (reply.http_status == 0 ? reply.broken : "HTTP " + std::to_string(reply.http_status)));
}

class Ec2Notice final : public NoticeSource {
 public:
  Ec2Notice(std::string address, std::shared_ptr<HttpTransport> transport)
      : address_(std::move(address)), transport_(std::move(transport)) {
    while (address_.ends_with('/')) address_.pop_back();
  }

  NoticeLook Look(const std::stop_token& stop) override {
    if (token_.empty()) {
      const HttpExchange ask =
          Exchange("PUT", "/latest/api/token", {{"X-aws-ec2-metadata-token-ttl-seconds", "21600"}});
      const S3Reply reply = transport_->Do(ask, stop);
      if (reply.http_status != 200) return NoAnswer(ask.url, reply);
      token_ = reply.body;
    }
    const HttpExchange ask = Exchange("GET", "/latest/meta-data/spot/instance-action",
                                      {{"X-aws-ec2-metadata-token", token_}});
    const S3Reply reply = transport_->Do(ask, stop);
    if (reply.http_status == 200) return std::optional(DescribeInstanceAction(reply.body));
    if (reply.http_status == 401) token_.clear();  // It is over; the next look has a fresh one.
    if (reply.http_status == 404 || reply.http_status == 401) return std::optional<std::string>();
    return NoAnswer(ask.url, reply);
  }

 private:
  HttpExchange Exchange(const char* method, const char* path, S3Pairs headers) const {
    HttpExchange exchange{method, address_ + path, std::move(headers)};
    exchange.is_local = true;
    exchange.silence = kMetadataPatience;
    return exchange;
  }

  std::string address_;
  const std::shared_ptr<HttpTransport> transport_;
  std::string token_;
};

class GceNotice final : public NoticeSource {
 public:
  GceNotice(const std::string& host, std::shared_ptr<HttpTransport> transport)
      : transport_(std::move(transport)) {
    exchange_.method = "GET";
    exchange_.url = "http://" + host + "/computeMetadata/v1/instance/preempted";
    exchange_.headers = {{"Metadata-Flavor", "Google"}};
    exchange_.is_local = true;
    exchange_.silence = kMetadataPatience;
  }

  NoticeLook Look(const std::stop_token& stop) override {
    const S3Reply reply = transport_->Do(exchange_, stop);
    if (reply.http_status != 200) return NoAnswer(exchange_.url, reply);
    if (FirstLine(reply.body) != "TRUE") return std::optional<std::string>();
    return std::optional<std::string>("GCE preempts this machine");
  }

 private:
  HttpExchange exchange_;
  const std::shared_ptr<HttpTransport> transport_;
};

class FileNotice final : public NoticeSource {
 public:
  explicit FileNotice(std::string path) : path_(std::move(path)) {}

  NoticeLook Look(const std::stop_token&) override {
    std::error_code error;
    if (!std::filesystem::exists(path_, error)) return std::optional<std::string>();
    const std::string line = FirstLine(ReadBytes(path_));
    return std::optional(path_ + " is there" + (line.empty() ? "" : ": " + line));
  }

 private:
  const std::string path_;
};

class CommandNotice final : public NoticeSource {
 public:
  explicit CommandNotice(std::string text) : text_(std::move(text)) {}

  NoticeLook Look(const std::stop_token& stop) override {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return Unavailable("no pipe");
    const FileDescriptor to_read(ends[0]);
    TUNE_ASSIGN_OR_RETURN(FileDescriptor output, MovedUp(FileDescriptor(ends[1])));
    TUNE_ASSIGN_OR_RETURN(const FileDescriptor input,
                          MovedUp(FileDescriptor(open("/dev/null", O_RDONLY | O_CLOEXEC))));
    LaunchOptions launch;
    launch.path = "/bin/sh";
    launch.arguments = {"/bin/sh", "-c", text_};
    for (char** variable = environ; *variable != nullptr; ++variable) {
      launch.environment.emplace_back(*variable);
    }
    launch.input = input.get();
    launch.output = output.get();
    launch.has_own_group = true;
    TUNE_ASSIGN_OR_RETURN(const int pid, Launch(launch));
    output.Close();
    return Follow(pid, to_read.get(), stop);
  }

 private:
  static NoticeLook Follow(int pid, int output, const std::stop_token& stop) {
    std::string said;
    int status = 0;
    pid_t ended = 0;
    while (ended == 0 && !stop.stop_requested()) {
      pollfd ready = {output, POLLIN, 0};
      poll(&ready, 1, kStopLookMs);
      // A program that closed its output may still run.
      if ((ready.revents & (POLLHUP | POLLERR)) != 0) poll(nullptr, 0, 10);
      char buffer[4096];
      ssize_t count = 0;
      ended = waitpid(pid, &status, WNOHANG);
      while ((count = read(output, buffer, sizeof buffer)) > 0) {
        if (said.size() < sizeof buffer) said.append(buffer, static_cast<size_t>(count));
      }
    }
    if (ended == 0) {
      kill(-pid, SIGKILL);
      waitpid(pid, nullptr, 0);
      return std::optional<std::string>();
    }
    // Where the worker has ended it with a trial's processes, it is run again.
    const bool is_notice = ended == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!is_notice) return std::optional<std::string>();
    const std::string line = FirstLine(said);
    return std::optional<std::string>(line.empty() ? "the command of --notice ended with status 0"
                                                   : line);
  }

  const std::string text_;
};

}  // namespace

Result<NoticeName> ParseNotice(std::string_view text) {
  constexpr std::string_view kFile = "file:";
  constexpr std::string_view kCommand = "command:";
  if (text == "ec2") return NoticeName{NoticeKind::kEc2};
  if (text == "gce") return NoticeName{NoticeKind::kGce};
  if (text.starts_with(kFile) && text.size() > kFile.size()) {
    return NoticeName{NoticeKind::kFile, std::string(text.substr(kFile.size()))};
  }
  if (text.starts_with(kCommand) && text.size() > kCommand.size()) {
    return NoticeName{NoticeKind::kCommand, std::string(text.substr(kCommand.size()))};
  }
  return InvalidArgument("--notice: read '" + std::string(text) +
                         "', expected ec2, gce, file:PATH or command:TEXT");
}

std::string DescribeInstanceAction(std::string_view json) {
  const Result<Value> value = ParseJson(json);
  const auto at = [&value](std::string_view name) -> std::string {
    if (!value.ok() || !value->is_map()) return "";
    const Value* const found = value->Find(name);
    return found != nullptr && found->is_string() ? FirstLine(found->AsString()) : "";
  };
  const std::string action = at("action");
  const std::string time = at("time");
  return "EC2 takes this spot machine back" + (action.empty() ? "" : ": " + action) +
         (time.empty() ? "" : " at " + time);
}

std::unique_ptr<NoticeSource> MakeNoticeSource(
    const NoticeName& name, const std::function<std::string(const char*)>& variable,
    std::shared_ptr<HttpTransport> transport) {
  const auto or_else = [&variable](const char* its_name, const char* text) {
    const std::string said = variable(its_name);
    return said.empty() ? std::string(text) : said;
  };
  switch (name.kind) {
    case NoticeKind::kEc2:
      return std::make_unique<Ec2Notice>(or_else("AWS_EC2_METADATA_SERVICE_ENDPOINT", kEc2Address),
                                         std::move(transport));
    case NoticeKind::kGce:
      return std::make_unique<GceNotice>(or_else("GCE_METADATA_HOST", kGceHost),
                                         std::move(transport));
    case NoticeKind::kFile:
      return std::make_unique<FileNotice>(name.text);
    case NoticeKind::kCommand:
      return std::make_unique<CommandNotice>(name.text);
  }
  return nullptr;
}

}  // namespace tune
