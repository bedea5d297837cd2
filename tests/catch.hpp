// catch.hpp - Catch2 2 (Debian 12) and 3 (Ubuntu 24.04) behind one name.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>

#include <string>

namespace Catch::Matchers {

/// The name that Catch2 3 uses; there, Contains() is about ranges.
inline auto ContainsSubstring(const std::string& text) { return Contains(text); }

}  // namespace Catch::Matchers
#endif
