// suggest.hpp - "did you mean": the known word that is closest to a mistyped one.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sweepsort {

/// The number of insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b`,
/// ignoring case (optimal string alignment distance). Three rows suffice, because a swap looks back two rows.
inline size_t edit_distance(std::string_view a, std::string_view b) {
  const auto same = [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  };
  std::vector<size_t> two_back(b.size() + 1), previous(b.size() + 1), current(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) previous[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      current[j] =
          std::min({previous[j] + 1, current[j - 1] + 1, previous[j - 1] + !same(a[i - 1], b[j - 1])});
      const bool swapped = i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]);
      if (swapped) current[j] = std::min(current[j], two_back[j - 2] + 1);
    }
    two_back.swap(previous);
    previous.swap(current);
  }
  return previous[b.size()];
}

/// The candidate to propose for `word`, if one is close. An unfinished word proposes a candidate that starts
/// with it; a typing error proposes one that differs in at most a third of the word's letters. The first of
/// equally close ones wins.
inline std::optional<std::string_view> suggest(std::string_view word,
                                               std::span<const std::string_view> candidates) {
  if (word.empty() || word.size() > 64)
    return std::nullopt;  // the time grows with the product of the lengths
  std::optional<std::string_view> best;
  size_t best_distance = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
    const bool unfinished = word.size() >= 2 && candidate.starts_with(word);
    const size_t distance = unfinished ? 0 : edit_distance(word, candidate);
    if (distance >= best_distance || distance >= candidate.size()) continue;
    best = candidate;
    best_distance = distance;
  }
  return best;
}

/// A hint for an unknown `word`: "did you mean NEAREST?", or `otherwise` if no candidate is close.
inline std::string suggestion_hint(std::string_view word, std::span<const std::string_view> candidates,
                                   const std::string& otherwise) {
  const auto nearest = suggest(word, candidates);
  return nearest ? "did you mean " + std::string(*nearest) + "?" : otherwise;
}

}  // namespace sweepsort
