// share/kubernetes/head.yaml as it stands, on a real Kubernetes: a head in a pod, as the account of
// its Role, whose workers are Jobs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "core/json.h"
#include "tests/e2e/curve_sweep.h"
#include "tests/e2e/free_ports.h"
#include "tests/e2e/program.h"
#include "tests/kubernetes/kube.h"

namespace tune::testing {
namespace {

constexpr char kJobs[] = "/apis/batch/v1/namespaces/tune/jobs";
constexpr char kPods[] = "/api/v1/namespaces/tune/pods";

// Where objects of a kind are made.
std::string PlaceOf(const std::string& kind) {
  if (kind == "Role") return "/apis/rbac.authorization.k8s.io/v1/namespaces/tune/roles";
  if (kind == "RoleBinding")
    return "/apis/rbac.authorization.k8s.io/v1/namespaces/tune/rolebindings";
  if (kind == "Deployment") return "/apis/apps/v1/namespaces/tune/deployments";
  std::string plural = kind + "s";
  for (char& c : plural) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return "/api/v1/namespaces/tune/" + plural;
}

class KubernetesHead : public ::testing::Test {
 protected:
  // The file, with an address that this machine has in the place of a Service's name, and workers
  // that fit on the nodes of tests.
  void Apply() {
    std::ifstream in(std::string(std::getenv("TUNE_SOURCE_DIR")) + "/share/kubernetes/head.yaml");
    std::string file{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    const auto replace = [&file](const std::string& from, const std::string& to) {
      ASSERT_NE(file.find(from), file.npos) << from;
      file.replace(file.find(from), from.size(), to);
    };
    replace("0.0.0.0:7443, address: tune-head:7443", "\"" + FreePlace() + "\"");
    replace("{cpus: 4}", "{cpus: 1}");
    Kube("POST", "/api/v1/namespaces", R"({"metadata": {"name": "tune"}})");
    Kube("POST", "/api/v1/persistentvolumes",
         R"({"metadata": {"name": "disk"}, "spec": {"capacity": {"storage": "20Gi"},
             "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/nowhere"}}})");
    FILE* const pipe =
        popen(("/usr/bin/python3 -c 'import json, sys, yaml\n"
               "for one in yaml.safe_load_all(open(sys.argv[1])): print(json.dumps(one))' " +
               folder_.Write("head.yaml", file))
                  .c_str(),
              "r");
    ASSERT_NE(pipe, nullptr);
    std::string text;
    char buffer[4096];
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, n);
    ASSERT_EQ(pclose(pipe), 0);
    int objects = 0;
    for (size_t begin = 0, end; (end = text.find('\n', begin)) != text.npos; begin = end + 1) {
      const std::string object = text.substr(begin, end - begin);
      const std::string kind = ParseJson(object)->Find("kind")->AsString();
      const std::string answer = Kube("POST", PlaceOf(kind), object);
      ASSERT_THAT(answer, ::testing::Not(::testing::HasSubstr("\"status\": \"Failure\"")));
      ++objects;
    }
    ASSERT_GE(objects, 7);
  }
  // The database on the claim.
  static std::string Database() {
    return std::string(std::getenv("TUNE_KUBE_FOLDER")) + "/pods/claims/tune-head/tune.db";
  }
  ProgramResult Tune(Rows arguments) {
    Rows all = {"--db", Database()};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return RunTune(folder_, all);
  }

  TestFolder folder_;
};

TEST_F(KubernetesHead, ItsRoleSufficesForASweepAndWhatItMadeGoesWithItsDeployment) {
  ASSERT_NE(std::getenv("TUNE_KUBE"), nullptr) << "run by with_kubernetes";
  Apply();
  while (!std::filesystem::exists(Database() + ".lock")) {
  }
  const std::string space = folder_.Write(
      "space.yaml", CurveSweep("    iterations: 20\n    seconds: 0.05\n",
                               "samples: 2\nfailure: {max_failures: 0, backoff: 0s}\n"));
  while (!Succeeded(Tune({"submit", space, "--name", "space"}))) {  // Its socket may come later.
  }
  const auto rows = [&](const std::string& sql) {
    return Query(folder_, sql, std::filesystem::relative(Database(), folder_.path()).string());
  };
  while (rows("select status from experiments") != Rows{"FINISHED"}) {
    const Rows pods = Listed(kPods, "tune-head-");
    ASSERT_EQ(pods.size(), 1u) << "the head ended";
  }
  EXPECT_EQ(rows("select count(*), min(status) from trials"), Rows{"2|TERMINATED"});
  const Rows jobs = Listed(kJobs, "tune-cloud-");
  ASSERT_FALSE(jobs.empty());
  // One whose Job somebody removes without its pod: the head finds the pod, and takes it back.
  Kube("DELETE", std::string(kJobs) + "/" + jobs[0] + "?propagationPolicy=Orphan");
  EXPECT_FALSE(Listed(kPods, jobs[0]).empty());
  EXPECT_TRUE(Succeeded(Tune({"submit", space, "--name", "again"})));
  while (rows("select status from experiments where name = 'again'") != Rows{"FINISHED"}) {
  }
  Kube("DELETE", PlaceOf("Deployment") + "/tune-head");
  while (!Listed(kJobs, "tune-cloud-").empty() || !Listed(kPods, "tune-head-").empty()) {
  }
}

}  // namespace
}  // namespace tune::testing
