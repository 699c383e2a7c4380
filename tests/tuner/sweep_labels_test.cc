// What a person may write to a sweep.
#include "tuner/sweep_labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.h"

namespace tune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

LabelChange Tagging(const Tags& tags) {
  LabelChange change;
  change.tags = tags;
  return change;
}

TEST(Labels, ATagIsAKeyWithOrWithoutAValue) {
  EXPECT_THAT(*ReadTag("team=vision"), Pair("team", "vision"));
  EXPECT_THAT(*ReadTag("baseline"), Pair("baseline", ""));
  EXPECT_THAT(*ReadTag("run=a=b, c"), Pair("run", "a=b, c"));
  for (const char* const wrong : {"", "=vision", "a b=1", "a,b", "-x=1", "a\nb", "\xff=1"}) {
    EXPECT_EQ(ReadTag(wrong).status().code(), StatusCode::kInvalidArgument) << wrong;
    EXPECT_THAT(ReadTag(wrong).status().message(), HasSubstr("expected a key without spaces"));
  }
  EXPECT_EQ(ReadTag("a=" + std::string(257, 'x')).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ReadTag("a=two\nlines").status().code(), StatusCode::kInvalidArgument);
}

TEST(Labels, AChangeLeavesWhatItDoesNotName) {
  const SweepLabels before{"first try", {{"team", "vision"}, {"phase", "1"}}};
  LabelChange change = Tagging({{"phase", "2"}, {"late", ""}});
  change.untag = {"team"};
  const auto after = Changed(before, change);
  ASSERT_TRUE(after.ok()) << after.status().message();
  EXPECT_EQ(after->note, "first try");
  EXPECT_THAT(after->tags, ElementsAre(Pair("late", ""), Pair("phase", "2")));
  change = {};
  change.note = "";
  EXPECT_EQ(Changed(before, change)->note, "");
  EXPECT_EQ(Changed(before, change)->tags, before.tags);
}

TEST(Labels, AChangeThatCannotBeIsRefused) {
  const SweepLabels before{"", {{"team", "vision"}}};
  LabelChange change;
  change.untag = {"tem"};
  EXPECT_EQ(Changed(before, change).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(Changed(before, change).status().message(),
            "no tag is called 'tem'; there are team=vision");
  change.untag = {"team"};
  change.tags = {{"team", "nlp"}};
  EXPECT_EQ(Changed(before, change).status().code(), StatusCode::kInvalidArgument);
  Tags many;
  for (size_t i = 0; i < kTagsMax; ++i) many["t" + std::to_string(i)] = "";
  EXPECT_TRUE(Changed({}, Tagging(many)).ok());
  EXPECT_THAT(Changed(before, Tagging(many)).status().message(), HasSubstr("would have 51"));
  change = {};
  change.note = std::string(kNoteBytesMax + 1, 'x');
  EXPECT_THAT(Changed({}, change).status().message(), HasSubstr("read 10001 bytes"));
  change.note = "a\xff";
  EXPECT_EQ(Changed({}, change).status().code(), StatusCode::kInvalidArgument);
  change.note = "an escape: \x1b[2J";
  EXPECT_EQ(Changed({}, change).status().message(),
            "note: read '\\x1b' at byte 12, expected text without control characters");
}

TEST(Labels, AChangeAndTagsComeBackFromTheirText) {
  LabelChange change = Tagging({{"größe", "\"10\""}, {"b", ""}});
  change.note = "two\nlines";
  change.untag = {"c", "d"};
  LabelChange back;
  const Value object = EncodeLabelChange(change);
  for (const MapEntry& entry : object.AsMap()) {
    ASSERT_TRUE(ReadLabelChange(entry.key, entry.value, back).ok());
  }
  EXPECT_EQ(back, change);
  EXPECT_EQ(*DecodeTags(EncodeTags(change.tags)), change.tags);
  EXPECT_EQ(ReadLabelChange("tag", Value("a"), back).code(), StatusCode::kNotFound);
  for (const char* const key : {"note", "tags", "untag"}) {
    EXPECT_EQ(ReadLabelChange(key, Value(int64_t{1}), back).code(), StatusCode::kInvalidArgument);
  }
}

TEST(Labels, ArePrintedWithoutWhatMovesTheCursor) {
  const SweepLabels labels{"one\ttab\r\ntwo", {{"a", "1"}, {"b", ""}}};
  EXPECT_THAT(LabelLines("s", labels), ElementsAre("s: a=1 b", "  one\\ttab\\x0d", "  two"));
  EXPECT_THAT(LabelLines("s", {}), ElementsAre("s: no tags"));
}

}  // namespace
}  // namespace tune
