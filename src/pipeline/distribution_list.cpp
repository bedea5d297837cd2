// distribution_list.cpp - the list of distributions for users of the library.
#include "datasets/distributions.hpp"
#include "sweepsort.hpp"

#include <algorithm>
#include <iterator>

namespace sweepsort {
namespace {

DistributionInfo info(const Distribution& distribution) {
  DistributionInfo result{.name = std::string(distribution.name),
                          .summary = std::string(distribution.summary),
                          .plot = std::string(distribution.plot)};
  std::copy_if(all_key_types.begin(), all_key_types.end(), std::back_inserter(result.types),
               distribution.suits);
  // The plots in the tables start with a line break, so that they line up in the source.
  if (result.plot.starts_with('\n')) result.plot.erase(0, 1);
  return result;
}

}  // namespace

std::vector<DistributionInfo> distributions() {
  std::vector<DistributionInfo> list;
  for (const Distribution& distribution : all_distributions()) list.push_back(info(distribution));
  for (const Distribution& distribution : more_distributions) {
    list.push_back(info(distribution));
    list.back().plot.clear();  // these are variants of a distribution in the table
  }
  return list;
}

}  // namespace sweepsort
