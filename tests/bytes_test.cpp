// bytes_test.cpp - sizes and counts as people write them.
#include "core/bytes.hpp"

#include "catch.hpp"
#include "core/error.hpp"
#include "core/suggest.hpp"

#include <limits>
#include <string>

using namespace sweepsort;

TEST_CASE("sizes: one letter and KiB are powers of 1024, kB and MB are powers of 1000") {
  const auto bytes = [](const char* text) { return parse_bytes(text, "--memory").value; };
  CHECK(bytes("0") == 0);
  CHECK(bytes("4096") == 4096);
  CHECK(bytes("17B") == 17);
  CHECK(bytes("1K") == 1024);
  CHECK(bytes("4g") == 4ull << 30);
  CHECK(bytes("4GiB") == 4ull << 30);
  CHECK(bytes("1.5G") == 3ull << 29);
  CHECK(bytes("4GB") == 4'000'000'000);
  CHECK(bytes("4kB") == 4000);
  CHECK(bytes("1_000_000") == 1'000'000);
  CHECK(bytes("1e6") == 1'000'000);
  CHECK(bytes("2^20") == 1u << 20);
  CHECK(bytes("2T") == 2ull << 40);
  CHECK(bytes("18446744073709551615") == std::numeric_limits<uint64_t>::max());
}

TEST_CASE("counts: 1e9, 2^28, 2^32+3, 10M and underscores are exact") {
  const auto count = [](const char* text) { return parse_count(text, "--count"); };
  CHECK(count("0") == 0);
  CHECK(count("1_000_000") == 1'000'000);
  CHECK(count("1e9") == 1'000'000'000);
  CHECK(count("2.5e6") == 2'500'000);
  CHECK(count("2^28") == 1ull << 28);
  CHECK(count("2^32+3") == (1ull << 32) + 3);
  CHECK(count("2^31-1") == (1ull << 31) - 1);
  CHECK(count("2^63") == 1ull << 63);
  CHECK(count("10^6") == 1'000'000);
  CHECK(count("1^99999999999") == 1);
  CHECK(count("10M") == 10'000'000);
  CHECK(count("1.5k") == 1500);
  CHECK(count("18446744073709551615") == std::numeric_limits<uint64_t>::max());
}

TEST_CASE("what is no size or count is refused, and the message names the option and the text") {
  for (const char* text : {"",          "G",
                           "-1",        "+1",
                           "4X",        "4GG",
                           "4iB",       "1.5",
                           "1.0001K",   "18446744073709551616",
                           "16777216T", "1__0",
                           "_1",        "1_",
                           "1.",        ".5K",
                           "1e3K",      "2^64",
                           " 1",        "1 ",
                           "0x10",      "99999999999999999999999999999999999999999999999"}) {
    INFO(text);
    CHECK_THROWS_AS(parse_bytes(text, "--memory"), UsageError);
  }
  for (const char* text : {"", "e9", "1e", "1e20", "1.5", "2^", "2^64", "2^-1", "2^4+", "2^4-17", "2^63+2^63",
                           "-1", "1KiB", "1e-3", "2.5^2", "0.1e0", "1e99999999999999999999"}) {
    INFO(text);
    CHECK_THROWS_AS(parse_count(text, "--count"), UsageError);
  }
  try {
    parse_bytes("4X", "--memory");
    FAIL("4X was accepted");
  } catch (const UsageError& error) {
    CHECK(std::string(error.what()) == "--memory 4X: not a number of bytes below 2^64");
    CHECK_FALSE(error.hint().empty());
  }
}

TEST_CASE("sizes and counts print for people") {
  CHECK(format_bytes({0}) == "0 bytes");
  CHECK(format_bytes({1}) == "1 byte");
  CHECK(format_bytes({1023}) == "1023 bytes");
  CHECK(format_bytes({1024}) == "1.0 KiB");
  CHECK(format_bytes({1536ull << 20}) == "1.5 GiB");
  CHECK(format_bytes({(1ull << 20) - 1}) == "1.0 MiB");
  CHECK(format_bytes({std::numeric_limits<uint64_t>::max()}) == "16.0 EiB");
  CHECK(format_count(0) == "0");
  CHECK(format_count(999) == "999");
  CHECK(format_count(1000) == "1,000");
  CHECK(format_count(268435456) == "268,435,456");
}

TEST_CASE("a mistyped word proposes the nearest known one, a strange word proposes none") {
  constexpr std::string_view words[] = {"sort", "check", "generate", "info"};
  CHECK(suggest("srot", words) == "sort");
  CHECK(suggest("generaet", words) == "generate");
  CHECK(suggest("gen", words) == "generate");
  CHECK(suggest("SORT", words) == "sort");
  CHECK(suggest("chek", words) == "check");
  CHECK_FALSE(suggest("banana", words));
  CHECK_FALSE(suggest("", words));
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("ab", "ba") == 1);
}
