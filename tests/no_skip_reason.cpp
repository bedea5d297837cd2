// no_skip_reason.cpp - tests that run everywhere.
#include "skip_reason.hpp"

namespace sweepsort {

std::string skip_reason() { return {}; }

}  // namespace sweepsort
