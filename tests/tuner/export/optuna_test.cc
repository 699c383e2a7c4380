#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tuner/export/exported_sweep.h"
#include "tuner/export/optuna_distribution.h"

namespace tune {
namespace {

OptunaDistribution Distribution(const std::string& domain) {
  const Result<Value> json = ParseJson(domain);
  const Result<Domain> parsed = Domain::Parse(*json);
  EXPECT_TRUE(parsed.ok()) << domain << ": " << parsed.status().message();
  return OptunaDistribution(*parsed);
}

std::string Float(const std::string& step, const std::string& low, const std::string& high,
                  const std::string& log) {
  return R"({"name": "FloatDistribution", "attributes": {"step": )" + step + R"(, "low": )" + low +
         R"(, "high": )" + high + R"(, "log": )" + log + "}}";
}
std::string Int(const std::string& step, const std::string& low, const std::string& high,
                const std::string& log) {
  return R"({"name": "IntDistribution", "attributes": {"step": )" + step + R"(, "low": )" + low +
         R"(, "high": )" + high + R"(, "log": )" + log + "}}";
}

TEST(OptunaDistributions, EachDomainHasItsOwn) {
  EXPECT_EQ(Distribution(R"({"uniform":[0,0.5]})").ToJson(0.25),
            Float("null", "0.0", "0.5", "false"));
  EXPECT_EQ(Distribution(R"({"loguniform":[1e-5,0.1]})").ToJson(0.01),
            Float("null", "1e-05", "0.1", "true"));
  EXPECT_EQ(Distribution(R"({"quniform":[0,1,0.1]})").ToJson(0.3),
            Float("0.1", "0.0", "1.0", "false"));
  EXPECT_EQ(Distribution(R"({"qloguniform":[0.1,10,0.1]})").ToJson(0.3),
            Float("null", "0.1", "10.0", "true"));
  // The high end is exclusive here, inclusive there.
  EXPECT_EQ(Distribution(R"({"randint":[1,10]})").ToJson(3), Int("1", "1", "9", "false"));
  EXPECT_EQ(Distribution(R"({"lograndint":[1,10]})").ToJson(3), Int("1", "1", "9", "true"));
  EXPECT_EQ(Distribution(R"({"qrandint":[8,64,8]})").ToJson(16), Int("8", "8", "64", "false"));
  EXPECT_EQ(Distribution(R"({"qlograndint":[8,64,8]})").ToJson(16), Int("1", "8", "64", "true"));
  EXPECT_EQ(Distribution(R"({"choice":["a",2,null,true]})").ToJson(0),
            R"({"name": "CategoricalDistribution", "attributes": {"choices": ["a",2,null,true]}})");
}

TEST(OptunaDistributions, AValueOutsideMakesRoomForItself) {
  const OptunaDistribution uniform = Distribution(R"({"quniform":[0,1,0.5]})");
  EXPECT_EQ(uniform.ToJson(3), Float("null", "0.0", "3.0", "false"));
  EXPECT_EQ(uniform.InternalValue(Value("text")), std::nullopt);
  EXPECT_EQ(Distribution(R"({"loguniform":[1,2]})").InternalValue(Value(0.0)), std::nullopt);
}

TEST(OptunaDistributions, ChoicesAreStoredByTheirPlace) {
  const OptunaDistribution choice = Distribution(R"({"choice":[1,[3,4],true]})");
  EXPECT_EQ(choice.InternalValue(Value(true)), 2.0);
  EXPECT_EQ(choice.InternalValue(Value(1.0)), 0.0);
  EXPECT_EQ(choice.InternalValue(*ParseJson("[3,4]")), 1.0);
  EXPECT_EQ(choice.ExternalValue(*ParseJson("[3,4]")), Value("[3,4]"));
  EXPECT_EQ(choice.InternalValue(Value(5)), std::nullopt);
}

class OptunaTest : public ::testing::Test {
 protected:
  // The study as Optuna reads it; null where there is none.
  Value Read(const std::string& spec) {
    {
      const std::unique_ptr<SqliteStore> store = OpenStore(folder_ / "tune.db");
      WriteExportedSweep(*store, "food", spec);
    }
    const ExportAnswer answer = Export(folder_, "optuna", {folder_ / "out"});
    EXPECT_EQ(answer.exit_status, 0) << answer.err;
    const PythonAnswer read = RunPython("read_study.py", (folder_ / "out/optuna.db") + " food");
    has_optuna_ = HasPython() && read.exit_status != 77;
    if (has_optuna_) {
      EXPECT_EQ(read.exit_status, 0) << read.text;
    }
    return read.json;
  }

  TempFolder folder_{/*in_memory=*/true};
  bool has_optuna_ = false;
};

TEST_F(OptunaTest, OptunaReadsTheStudyAndGoesOnWithIt) {
  const Value study = Read(ExportedSpec());
  if (!has_optuna_) GTEST_SKIP() << "there is no python3-optuna to read it with";
  EXPECT_EQ(ToJson(At(study, "directions")), R"(["MAXIMIZE"])");
  EXPECT_EQ(At(study, "best"), Value(0));
  const Value rows = At(study, "rows");  // Null where there is no pandas.
  EXPECT_TRUE(rows.is_null() || rows == Value(5));

  const Value complete = At(study, "trials/0");
  EXPECT_EQ(At(complete, "state"), Value("COMPLETE"));
  EXPECT_EQ(ToJson(At(complete, "params")),
            R"({"batch_size":32,"lr":0.1,"optimizer/kind":"adam"})");
  EXPECT_EQ(ToJson(At(complete, "values")), "[0.75]");
  EXPECT_EQ(ToJson(At(complete, "intermediate")), R"({"1":0.5,"2":0.75})");
  EXPECT_EQ(At(complete, "distributions/lr"),
            Value("FloatDistribution(high=1.0, log=True, low=0.01, step=None)"));
  EXPECT_EQ(At(complete, "attributes/stop_reason"), Value("max_t"));
  EXPECT_EQ(At(complete, "attributes/config/augment"), Value(true));
  EXPECT_EQ(At(complete, "attributes/metrics/test_accuracy"), Value(0.7));
  EXPECT_EQ(At(complete, "start"), Value("2026-11-21 09:30:05.125000"));
  EXPECT_EQ(At(complete, "complete"), Value("2026-11-21 09:30:20.125000"));

  EXPECT_EQ(At(study, "trials/1/state"), Value("PRUNED"));
  EXPECT_EQ(At(study, "trials/2/state"), Value("FAIL"));
  EXPECT_EQ(ToJson(At(study, "trials/2/intermediate")), R"({"1":"nan"})");
  EXPECT_EQ(At(study, "trials/3/state"), Value("RUNNING"));
  EXPECT_EQ(At(study, "trials/4/state"), Value("WAITING"));
  // The one that waited, and a new one.
  EXPECT_EQ(ToJson(At(study, "after")),
            R"(["COMPLETE","PRUNED","FAIL","RUNNING","COMPLETE","COMPLETE"])");
}

TEST_F(OptunaTest, SeveralObjectivesAreSeveralDirections) {
  const Value study = Read(R"({"name":"food","metric":["val_accuracy","val_loss"],)"
                           R"("mode":["max","min"],)" +
                           std::string(kSpaceJson) + "}");
  if (!has_optuna_) GTEST_SKIP() << "there is no python3-optuna to read it with";
  EXPECT_EQ(ToJson(At(study, "directions")), R"(["MAXIMIZE","MINIMIZE"])");
  EXPECT_EQ(ToJson(At(study, "trials/0/values")), "[0.75,0.25]");
  EXPECT_EQ(ToJson(At(study, "best")), "[0]");
}

}  // namespace
}  // namespace tune
