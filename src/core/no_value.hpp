// no_value.hpp - "no value": the value type of a sort of keys alone.
#pragma once

namespace sweepsort {

struct NoValue {};

}  // namespace sweepsort
