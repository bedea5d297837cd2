// key_json.hpp - a printed key as a JSON value.
#pragma once

#include "core/key_type.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace sweepsort::cli {

/// A number; null for empty text, text for what JSON has no number for (nan, inf).
nlohmann::ordered_json key_json(const std::string& text, KeyType type);

}  // namespace sweepsort::cli
