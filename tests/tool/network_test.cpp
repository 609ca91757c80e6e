// What --network says.

#include "tool/network.h"

#include <gmock/gmock.h>

using namespace gradus::cli;
using testing::HasSubstr;

namespace {

/// What the words make of the option; an error's words for wrong ones.
std::string parse(const std::string &words, gradus::runtime::Network &network) {
  CLI::App app;
  addNetworkOption(app, network, "The network");
  try {
    app.parse(words);
  } catch (const CLI::ParseError &error) {
    return error.what();
  }
  return "";
}

} // namespace

TEST(Network, HasARateAndALatency) {
  gradus::runtime::Network network;
  EXPECT_EQ(parse("--network 25GB/s,5us", network), "");
  EXPECT_EQ(network.bytesPerSecond, 25e9);
  EXPECT_EQ(network.latency, std::chrono::microseconds(5));
  EXPECT_EQ(parse("--network 10Gb/s", network), "");
  EXPECT_EQ(network.bytesPerSecond, 1.25e9);
  EXPECT_EQ(network.latency.count(), 0);
}

TEST(Network, IsToldInWords) {
  nlohmann::ordered_json json =
      networkJson({1.25e9, std::chrono::microseconds(20)});
  EXPECT_EQ(json.dump(), R"({"bytes_per_s":1250000000.0,"us_latency":20.0})");
  EXPECT_EQ(networkText(json), "1.25 GB/s, 20.0 us");
}

TEST(Network, HasUnitsOfBytesBitsAndTimes) {
  for (auto [text, rate] : {std::pair("1GB/s", 1e9),
                            {"1.5MB/s", 1.5e6},
                            {"2kB/s", 2e3},
                            {"8Gb/s", 1e9},
                            {"8Mb/s", 1e6},
                            {"8kb/s", 1e3}})
    EXPECT_EQ(networkOf(text)->bytesPerSecond, rate) << text;
  for (auto [text, nanoseconds] : {std::pair("1GB/s,70ns", 70),
                                   {"1GB/s,1.5us", 1500},
                                   {"1GB/s,2ms", 2000000},
                                   {"1GB/s,0us", 0}})
    EXPECT_EQ(networkOf(text)->latency.count(), nanoseconds) << text;
}

TEST(Network, IsRefusedInOtherWords) {
  gradus::runtime::Network network;
  for (const char *wrong :
       {"5us", "25GB/s,5", "0GB/s", "-1GB/s", "25GB", "1GB/s,1us,1us", "GB/s",
        "1GB/s,-1us", "0.9kB/s", "infGB/s", "nanGB/s"}) {
    EXPECT_FALSE(networkOf(wrong)) << wrong;
    EXPECT_THAT(parse(std::string("--network=") + wrong, network),
                HasSubstr("--network: expected a rate of 1kB/s or more and a "
                          "latency, such as "
                          "25GB/s,5us or 10Gb/s; found " +
                          std::string(wrong)));
  }
}
