// distribution_list.cpp - the list of distributions as the library's users see it.
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
  // The tables' plots start with a line break, so that they stand straight in the source.
  if (result.plot.starts_with('\n')) result.plot.erase(0, 1);
  return result;
}

}  // namespace

std::vector<DistributionInfo> distributions() {
  std::vector<DistributionInfo> list;
  for (const Distribution& distribution : all_distributions()) list.push_back(info(distribution));
  for (const Distribution& distribution : more_distributions) {
    list.push_back(info(distribution));
    list.back().plot.clear();  // variants of one in the table
  }
  return list;
}

}  // namespace sweepsort
