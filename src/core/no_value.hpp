// no_value.hpp - the value type of a sort of keys alone.
#pragma once

namespace sweepsort {

struct NoValue {};

}  // namespace sweepsort
