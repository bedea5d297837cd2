// key_text.cpp - keys as text.
#include "core/key_text.hpp"

#include <charconv>
#include <cstring>

namespace sweepsort {

std::string key_text(KeyType type, uint64_t bits) {
  return dispatch(type, [bits]<class Key>(std::type_identity<Key>) -> std::string {
    const auto low = static_cast<BitsOf<Key>>(bits);
    Key key;
    std::memcpy(&key, &low, sizeof key);
    if constexpr (std::is_floating_point_v<Key>) {
      if (key != key) return "nan";
      char text[64];
      return {text, std::to_chars(text, text + sizeof text, key).ptr};
    } else {
      return std::to_string(key);
    }
  });
}

}  // namespace sweepsort
