#include "messages/json_text.h"

#include <gtest/gtest.h>

using namespace gradus;
using nlohmann::ordered_json;

TEST(JsonText, IsTheValueOnOneLine) {
  ordered_json value = {{"b", {1, 2.5, nullptr, true}}, {"a", "\xC3\xA9\n"}};
  EXPECT_EQ(jsonText(value), "{\"b\":[1,2.5,null,true],\"a\":\"\xC3\xA9\\n\"}");
}

TEST(JsonText, IsIndentedWhereThatIsAskedFor) {
  EXPECT_EQ(jsonText(nlohmann::json{{"a", 1}}, 2), "{\n  \"a\": 1\n}");
}

TEST(JsonText, SaysBytesOfANameThatAreNotUtf8) {
  ordered_json value = {{"file", "c\xFF"}, {"k\xE9", {{"in", {"\xE9"}}}}};
  EXPECT_FALSE(isUtf8Json(value));
  std::string text = jsonText(value);
  EXPECT_EQ(text, R"({"file":"c\\xFF","k\\xE9":{"in":["\\xE9"]}})");
  EXPECT_EQ(ordered_json::parse(text)["file"], "c\\xFF");
}

TEST(JsonText, LeavesAloneWhatIsUtf8) {
  ordered_json value = {{"class", "l\\xE9ger"}}; // written so before
  EXPECT_EQ(ordered_json::parse(jsonText(value)), value);
  value["file"] = "\xFF";
  EXPECT_EQ(ordered_json::parse(jsonText(value))["class"], "l\\xE9ger");
}

TEST(JsonText, IsReadIfItIsNestedAsDeepAsAnythingWeWrite) {
  EXPECT_EQ(parsedJson(R"({"a": [1, "]]\"[["]})").dump(),
            R"({"a":[1,"]]\"[["]})");
  auto nested = [](int depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(parsedJson(nested(64)).is_array());
  EXPECT_TRUE(parsedJson(nested(65)).is_null());
  EXPECT_TRUE(parsedJson(nested(1 << 20)).is_null());
  // What is beside one another is not nested, and strings are no brackets.
  std::string flat = "[";
  for (int i = 0; i < 100; ++i)
    flat += "[],";
  EXPECT_TRUE(parsedJson(flat + "\"" + nested(99) + "\"]").is_array());
}

TEST(JsonText, IsNullWhereItIsNone) {
  for (const char *text : {"", "{", "nothing", "[1,]"})
    EXPECT_TRUE(parsedJson(text).is_null()) << text;
  EXPECT_TRUE(parsedJson<ordered_json>("]").is_null());
}

TEST(JsonText, HasTheWordsOfAMistakeWithoutTheNameOfAnException) {
  std::string words;
  try {
    (void)ordered_json(1).get<std::string>();
  } catch (const nlohmann::json::exception &error) {
    words = wordsOf(error);
  }
  EXPECT_EQ(words, "type must be string, but is number");
}
