// An array in address space of its own: it grows where it is, and gives pages back when it shrinks.
#pragma once

#include <c10/util/Exception.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

namespace mirror::fiited {

// Elements are plain values. Elements that `resize` adds are zero. Room for `max_size` elements is
// reserved as addresses only; memory is taken by what is in use. What throws for want of memory has
// changed nothing.
template <typename T>
class Array {
 public:
  Array() = default;
  explicit Array(int64_t max_size) : max_size_(max_size) {}
  Array(Array&& other) noexcept { swap(other); }
  Array& operator=(Array&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Array() {
    if (data_) munmap(data_, reserved());
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](int64_t i) { return data_[i]; }
  const T& operator[](int64_t i) const { return data_[i]; }
  int64_t size() const { return size_; }
  int64_t bytes() const { return size_ * static_cast<int64_t>(sizeof(T)); }

  // Makes room for so many elements: `resize` to as many does not throw until one to fewer.
  void reserve(int64_t size) {
    TORCH_INTERNAL_ASSERT(size >= 0 && size <= max_size_);
    grow(size * sizeof(T));
  }
  // While room is kept, pages are given back, but not the right to have them again: `resize` to no
  // more than there was room for does not throw.
  void keep_room(bool keep) noexcept {
    keeps_room_ = keep;
    if (!keep) protect(round_up(size_ * sizeof(T) + kStep));
  }

  void resize(int64_t size) {
    TORCH_INTERNAL_ASSERT(size >= 0 && size <= max_size_);
    if (size < size_) {
      // What stays mapped must read as zeros when it is used again.
      std::memset(static_cast<void*>(data_ + size), 0, (size_ - size) * sizeof(T));
      shrink(round_up(size * sizeof(T)));
    } else {
      grow(size * sizeof(T));
      touched_ = std::max(touched_, round_up(size * sizeof(T)));
    }
    size_ = size;
  }

  void push_back(T value) {
    resize(size_ + 1);
    data_[size_ - 1] = value;
  }

 private:
  static constexpr int64_t kStep = 1 << 16;  // bytes by which it grows at least
  static constexpr int64_t kHuge = 16 << 20;

  static int64_t round_up(int64_t bytes) {
    static const int64_t page = sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) / page * page;
  }

  int64_t reserved() const { return std::max(round_up(max_size_ * sizeof(T)), round_up(1)); }

  void grow(int64_t bytes) {
    if (bytes <= usable_) return;
    if (!data_) {
      void* const start =
          mmap(nullptr, reserved(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      check(start != MAP_FAILED, reserved());
      data_ = static_cast<T*>(start);
      // Random look-ups in large arrays of small pages spend most of their time on addresses.
      if (reserved() >= kHuge) madvise(start, reserved(), MADV_HUGEPAGE);
    }
    const int64_t wanted =
        std::min(reserved(), round_up(std::max({bytes, usable_ + kStep, usable_ * 9 / 8})));
    check(mprotect(data_, wanted, PROT_READ | PROT_WRITE) == 0, wanted - usable_);
    usable_ = wanted;
  }

  // Gives back whole pages beyond `bytes` where they are many.
  void shrink(int64_t bytes) {
    const int64_t wanted = round_up(bytes + kStep);
    if (!keeps_room_) return protect(wanted);
    if (!is_much(touched_, wanted)) return;
    char* const start = reinterpret_cast<char*>(data_) + wanted;
    if (madvise(start, touched_ - wanted, MADV_DONTNEED) == 0) touched_ = wanted;
  }

  // Gives up room beyond `wanted` bytes where it is much.
  void protect(int64_t wanted) {
    if (!is_much(usable_, wanted)) return;
    char* const start = reinterpret_cast<char*>(data_) + wanted;
    if (madvise(start, usable_ - wanted, MADV_DONTNEED) != 0) return;
    if (mprotect(start, usable_ - wanted, PROT_NONE) == 0) usable_ = wanted;
    touched_ = std::min(touched_, wanted);
  }

  static bool is_much(int64_t bytes, int64_t wanted) {
    return bytes - wanted >= std::max(4 * kStep, bytes / 16);
  }

  static void check(bool done, int64_t bytes) {
    TORCH_CHECK_WITH(OutOfMemoryError, done, "out of memory: a FIITED table asked for ", bytes,
                     " bytes more");
  }

  void swap(Array& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(max_size_, other.max_size_);
    std::swap(usable_, other.usable_);
    std::swap(touched_, other.touched_);
    std::swap(keeps_room_, other.keeps_room_);
  }

  T* data_ = nullptr;
  int64_t size_ = 0;
  int64_t max_size_ = 0;
  int64_t usable_ = 0;   // bytes that may be written
  int64_t touched_ = 0;  // those of them that may have pages
  bool keeps_room_ = false;
};

// Gives back what the C library keeps of freed memory, for tables of which that would be a share
// worth the milliseconds that it takes.
inline void give_back_heap(int64_t table_bytes) {
#ifdef __GLIBC__
  if (table_bytes >= int64_t{64} << 20) malloc_trim(0);
#endif
}

}  // namespace mirror::fiited
