// key_json.cpp - numbers as numbers.
#include "cli/key_json.hpp"

#include <charconv>
#include <cmath>

namespace sweepsort::cli {

using Json = nlohmann::ordered_json;

Json key_json(const std::string& text, KeyType type) {
  const auto parsed = [&]<class Number>(Number value) -> Json {
    const char* end = text.data() + text.size();
    const auto result = std::from_chars(text.data(), end, value);
    if (text.empty()) return {};
    return result.ec == std::errc() && result.ptr == end ? Json(value) : Json(text);
  };
  if (is_floating(type)) {
    const Json value = parsed(double{});
    return value.is_number() && !std::isfinite(value.get<double>()) ? Json(text) : value;
  }
  return is_signed(type) ? parsed(int64_t{}) : parsed(uint64_t{});
}

}  // namespace sweepsort::cli
