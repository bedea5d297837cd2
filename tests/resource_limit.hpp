// resource_limit.hpp - less of a resource than the process had, for a while.
#pragma once

#include <sys/resource.h>

#include <stdexcept>

namespace sweepsort {

/// As long as this exists, the process may use no more than `most` of a resource (RLIMIT_...).
class ResourceLimit {
 public:
  using Resource = decltype(RLIMIT_AS);

  ResourceLimit(Resource resource, rlim_t most) : resource_(resource) {
    if (::getrlimit(resource, &before_) != 0) throw std::runtime_error("getrlimit failed");
    const rlimit less{most, before_.rlim_max};
    if (::setrlimit(resource, &less) != 0) throw std::runtime_error("setrlimit failed");
  }
  ResourceLimit(const ResourceLimit&) = delete;
  ResourceLimit& operator=(const ResourceLimit&) = delete;
  ~ResourceLimit() { ::setrlimit(resource_, &before_); }

 private:
  Resource resource_;
  rlimit before_{};
};

}  // namespace sweepsort
