#include "frontends/json_text.h"

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

TEST(JsonText, HasTheWordsOfAMistakeWithoutTheNameOfAnException) {
  std::string words;
  try {
    (void)ordered_json(1).get<std::string>();
  } catch (const nlohmann::json::exception &error) {
    words = wordsOf(error);
  }
  EXPECT_EQ(words, "type must be string, but is number");
}
