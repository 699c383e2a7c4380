// Where a worker hears that its machine is about to be taken away.
#include "trial_runner/worker/notice_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "trial_runner/worker/notice_watch.h"

namespace tune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kToken[] = "PUT http://host/latest/api/token";
constexpr char kAction[] = "GET http://host/latest/meta-data/spot/instance-action";
constexpr char kPreempted[] = "GET http://meta/computeMetadata/v1/instance/preempted";

// A metadata server that answers each request with the next of its replies, the last one for ever.
class ScriptedMetadata final : public HttpTransport {
 public:
  S3Reply Do(const HttpExchange& exchange, const std::stop_token&) override {
    const std::string request = exchange.method + " " + exchange.url;
    asked.push_back(request);
    for (const auto& [name, value] : exchange.headers) asked.back() += " " + name + ": " + value;
    EXPECT_TRUE(exchange.is_local) << "no proxy is asked";
    std::vector<S3Reply>& left = replies[request];
    if (left.empty()) return {0, "nobody is there"};
    const S3Reply reply = left.front();
    if (left.size() > 1) left.erase(left.begin());
    return reply;
  }
  std::map<std::string, std::vector<S3Reply>> replies;
  std::vector<std::string> asked;
};

S3Reply Status(int http_status) { return S3Reply{http_status}; }
S3Reply Body(const std::string& text) {
  S3Reply reply{200};
  reply.body = text;
  return reply;
}

class NoticeSourceTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "tune_notice_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<NoticeSource> Make(const std::string& text) {
    const Result<NoticeName> name = ParseNotice(text);
    EXPECT_TRUE(name.ok()) << name.status().message();
    const std::map<std::string, std::string> variables = {
        {"AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://host/"}, {"GCE_METADATA_HOST", "meta"}};
    return MakeNoticeSource(
        *name,
        [variables](const char* variable) {
          const auto found = variables.find(variable);
          return found == variables.end() ? "" : found->second;
        },
        metadata_);
  }
  // What one look finds: the reason, "not yet", or the error.
  static std::string Look(NoticeSource& source) {
    const NoticeLook look = source.Look({});
    return !look.ok() ? "error: " + look.status().message() : look->value_or("not yet");
  }
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name)) << text;
  }

  std::string folder_;
  std::shared_ptr<ScriptedMetadata> metadata_ = std::make_shared<ScriptedMetadata>();
};

TEST_F(NoticeSourceTest, AnotherSourceIsRefusedWithThoseThatThereAre) {
  for (const char* const text : {"", "aws", "EC2", "file:", "command:", "/tmp/notice"}) {
    EXPECT_EQ(
        ParseNotice(text).status().message(),
        std::string("--notice: read '") + text + "', expected ec2, gce, file:PATH or command:TEXT");
  }
}

TEST_F(NoticeSourceTest, Ec2IsAskedWithATokenAndTellsActionAndTime) {
  metadata_->replies[kToken] = {Body("secret")};
  metadata_->replies[kAction] = {
      Status(404), Body(R"({"action": "terminate", "time": "2026-11-29T08:22:00Z"})")};
  const auto source = Make("ec2");
  EXPECT_EQ(Look(*source), "not yet");
  EXPECT_EQ(Look(*source), "EC2 takes this spot machine back: terminate at 2026-11-29T08:22:00Z");
  const std::string action = std::string(kAction) + " X-aws-ec2-metadata-token: secret";
  EXPECT_THAT(metadata_->asked,
              ElementsAre(std::string(kToken) + " X-aws-ec2-metadata-token-ttl-seconds: 21600",
                          action, action))
      << "a recommendation to rebalance is not asked for";
}

TEST_F(NoticeSourceTest, ATokenOfEc2ThatIsOverIsReplaced) {
  metadata_->replies[kToken] = {Body("first"), Body("second")};
  metadata_->replies[kAction] = {Status(401), Status(404)};
  const auto source = Make("ec2");
  EXPECT_EQ(Look(*source), "not yet");
  EXPECT_EQ(Look(*source), "not yet");
  EXPECT_THAT(metadata_->asked.back(), HasSubstr("second"));
}

TEST_F(NoticeSourceTest, AMachineThatIsNotOfThatCloudSaysSo) {
  EXPECT_EQ(Look(*Make("ec2")),
            "error: http://host/latest/api/token does not tell: nobody is there");
  metadata_->replies[kPreempted] = {Status(500)};
  EXPECT_EQ(Look(*Make("gce")),
            "error: http://meta/computeMetadata/v1/instance/preempted does not tell: HTTP 500");
}

TEST_F(NoticeSourceTest, AnActionThatCannotBeReadIsANoticeAllTheSame) {
  EXPECT_EQ(DescribeInstanceAction("soon"), "EC2 takes this spot machine back");
  EXPECT_EQ(DescribeInstanceAction(R"({"action": "hibernate"})"),
            "EC2 takes this spot machine back: hibernate");
}

TEST_F(NoticeSourceTest, GceTellsThatItPreempts) {
  metadata_->replies[kPreempted] = {Body("FALSE"), Body("TRUE\n")};
  const auto source = Make("gce");
  EXPECT_EQ(Look(*source), "not yet");
  EXPECT_EQ(Look(*source), "GCE preempts this machine");
  EXPECT_THAT(metadata_->asked.back(), HasSubstr(" Metadata-Flavor: Google"));
}

TEST_F(NoticeSourceTest, AFileThatAppearsIsANoticeAndSaysWhy) {
  const auto source = Make("file:" + Path("notice"));
  EXPECT_EQ(Look(*source), "not yet");
  Write("notice", "");
  EXPECT_EQ(Look(*source), Path("notice") + " is there");
  Write("notice", "the rack is moved\nat noon\n");
  EXPECT_EQ(Look(*source), Path("notice") + " is there: the rack is moved");
}

TEST_F(NoticeSourceTest, ACommandTellsByItsStatus) {
  EXPECT_EQ(Look(*Make("command:echo not yet; exit 1")), "not yet");
  EXPECT_EQ(Look(*Make("command:kill -9 $$")), "not yet");
  EXPECT_EQ(Look(*Make("command:echo; true")), "the command of --notice ended with status 0");
  EXPECT_EQ(Look(*Make("command:test -d " + folder_ + " && echo the price rose; true")),
            "the price rose");
}

TEST_F(NoticeSourceTest, ACommandThatWaitsIsEndedWithItsWorker) {
  const auto source = Make("command:echo $$ > " + Path("pid") + "; exec sleep 3600");
  std::stop_source stop;
  std::jthread ends_it([&] {
    while (std::filesystem::exists(Path("pid")) == false ||
           std::filesystem::file_size(Path("pid")) == 0) {
      std::this_thread::yield();
    }
    stop.request_stop();
  });
  const NoticeLook look = source->Look(stop.get_token());
  ASSERT_TRUE(look.ok());
  EXPECT_EQ(*look, std::nullopt);
  std::string pid;
  std::ifstream(Path("pid")) >> pid;
  EXPECT_FALSE(std::filesystem::exists("/proc/" + pid));
}

// ---- the watch

TEST_F(NoticeSourceTest, AWatchTellsOnceAndComplainsOnceOfASourceThatIsAway) {
  metadata_->replies[kPreempted] = {Status(500), Status(503), Body("FALSE"), Body("TRUE")};
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> said;
  const auto add = [&](const std::string& text) {
    const std::lock_guard lock(mutex);
    said.push_back(text);
    changed.notify_all();
  };
  const NoticeWatch watch(Make("gce"), {add, add});
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return said.size() == 3; });
  EXPECT_THAT(said, ElementsAre("--notice: http://meta/computeMetadata/v1/instance/preempted does "
                                "not tell: HTTP 500; it is asked again and again",
                                "--notice: the source answers again", "GCE preempts this machine"));
}

}  // namespace
}  // namespace tune
