// From the address of a pad or element to what is known of it; found without locking on every push.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

namespace sg::trace {

/// Open addressing with a fixed number of places. Find and Erase never lock; Insert locks other
/// inserts out. Values live as long as the table's owner says; the table does not own them.
class ObjectTable {
 public:
  static constexpr size_t kPlaces = size_t{1} << 17;

  /// nullptr: not there.
  void* Find(const void* object) const {
    for (size_t probe = 0, at = Hash(object); probe < kMostProbes; ++probe, at = Next(at)) {
      const void* key = places_[at].key.load(std::memory_order_acquire);
      if (key == object) return places_[at].value;
      if (key == nullptr) return nullptr;
    }
    return nullptr;
  }

  /// False when there is no room near the object's place. REQUIRES: not there.
  bool Insert(const void* object, void* value) {
    const std::lock_guard lock(insert_);
    for (size_t probe = 0, at = Hash(object); probe < kMostProbes; ++probe, at = Next(at)) {
      const void* key = places_[at].key.load(std::memory_order_relaxed);
      // Nobody looks for an object that is gone: its place may be used again.
      if (key != nullptr && key != &kGone) continue;
      places_[at].value = value;
      places_[at].key.store(object, std::memory_order_release);
      return true;
    }
    return false;
  }

  /// The object is gone; its address may be another one's soon.
  void Erase(const void* object) {
    for (size_t probe = 0, at = Hash(object); probe < kMostProbes; ++probe, at = Next(at)) {
      const void* key = places_[at].key.load(std::memory_order_acquire);
      if (key == nullptr) return;
      if (key == object) {
        places_[at].key.store(&kGone, std::memory_order_release);
        return;
      }
    }
  }

 private:
  static constexpr size_t kMostProbes = 64;
  static constexpr char kGone = 0;
  static size_t Hash(const void* object) {
    constexpr unsigned kBits = 17;
    static_assert(kPlaces == size_t{1} << kBits);
    return static_cast<size_t>(reinterpret_cast<uintptr_t>(object) * 0x9e3779b97f4a7c15u >>
                               (64 - kBits));
  }
  static size_t Next(size_t at) { return (at + 1) % kPlaces; }

  struct Place {
    std::atomic<const void*> key{nullptr};
    void* value = nullptr;
  };
  std::unique_ptr<Place[]> places_ = std::make_unique<Place[]>(kPlaces);
  std::mutex insert_;
};

}  // namespace sg::trace
