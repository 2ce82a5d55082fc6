// Plans of the parallel ops are texts: what is kept of each, by its text.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace mirror {

// FNV-1a: the same in every process, unlike std::hash.
inline uint64_t text_hash(std::string_view text) {
  uint64_t hash = 14695981039346656037ULL;
  for (const unsigned char c : text) hash = (hash ^ c) * 1099511628211ULL;
  return hash;
}

// Any number of threads may ask; a reference stays valid.
template <typename Plan>
class PlanCache {
 public:
  // What `parse(text)`, a std::unique_ptr, returned the first time.
  template <typename Parse>
  const Plan& get(std::string_view text, const Parse& parse) {
    {
      const std::shared_lock lock(mutex_);
      if (const auto found = plans_.find(text); found != plans_.end()) return *found->second;
    }
    std::unique_ptr<Plan> plan = parse(text);
    const std::unique_lock lock(mutex_);
    return *plans_.try_emplace(std::string(text), std::move(plan)).first->second;
  }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };

  std::shared_mutex mutex_;
  std::unordered_map<std::string, std::unique_ptr<Plan>, Hash, std::equal_to<>> plans_;
};

}  // namespace mirror
