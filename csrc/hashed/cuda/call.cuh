// What the device knows of one call of the hashed embedding bag: its ids and bags, and which slot
// holds which element.
#pragma once

#include <cstdint>
#include <type_traits>

#include "common/cuda/elements.cuh"
#include "hashed/hash.h"

namespace mirror::hashed::cuda {

using mirror::cuda::Element;
using mirror::cuda::kWarp;
using mirror::cuda::SumOf;
using mirror::cuda::with_element;

template <typename scalar_t>
using Sum = typename SumOf<scalar_t>::type;

// Slots of a small buffer take 32 bits, as the codes of winners do.
template <typename code_t>
using Slot = std::make_unsigned_t<code_t>;

// Checked arguments as in csrc/hashed/embedding_bag.h, which explains them, except for the values
// of ids and offsets: those are checked where they are read.
struct Call {
  HashKind hash;
  uint64_t seed;
  int64_t block, dim;
  uint64_t num_slots;
  uint64_t inverse;      // of num_slots, see rest_of
  uint64_t no_wrap;      // rows from here on take the formula of the reference hash as it stands
  uint64_t prime_slots;  // kPrime modulo num_slots

  const void* ids;         // (num_ids,)
  const int64_t* offsets;  // (num_offsets,) or null: `bag_size` ids a bag
  const void* sample_weights;
  const void* weight;
  const void* grad;
  int64_t* members;  // (num_bags,), ids that are not padding, where they are needed; else null
  int64_t num_ids, num_offsets, num_bags, bag_size;
  int64_t num_embeddings, padding;
  Element element;
  bool signs, long_ids, mean;
  bool narrow;  // codes take 32 bits
  int lanes;    // threads that work on one bag or id, a power of two
};

// --- ids and bags
// ---------------------------------------------------------------------------------

[[noreturn]] MIRROR_BOTH void refuse_id(const Call& call, int64_t position, int64_t id) {
  MIRROR_REFUSE(
      "hashed embedding: index %lld at position %lld is out of range: ids of this table run from 0 "
      "to %lld",
      static_cast<long long>(id), static_cast<long long>(position),
      static_cast<long long>(call.num_embeddings - 1));
}

[[noreturn]] MIRROR_BOTH void refuse_offsets(const Call& call, int64_t bag) {
  MIRROR_REFUSE(
      "hashed embedding: offsets must start at 0, never fall and not pass the %lld ids: bag %lld "
      "does not",
      static_cast<long long>(call.num_ids), static_cast<long long>(bag));
}

[[noreturn]] MIRROR_BOTH void refuse_winner(int64_t position, int64_t code, int64_t num_slots) {
  MIRROR_REFUSE("hashed embedding: winner %lld at position %lld is out of range for %lld slots",
                static_cast<long long>(code), static_cast<long long>(position),
                static_cast<long long>(num_slots));
}

MIRROR_BOTH int64_t checked_id(const Call& call, int64_t position) {
  const int64_t id = mirror::cuda::read_index(call.ids, call.long_ids, position);
  if (static_cast<uint64_t>(id) >= static_cast<uint64_t>(call.num_embeddings)) {
    refuse_id(call, position, id);
  }
  return id;
}

// Positions [begin, end) of the ids of a bag.
struct Bag {
  int64_t number, begin, end;
};

MIRROR_BOTH Bag bag_of(const Call& call, int64_t number) {
  if (call.offsets == nullptr)
    return {number, number * call.bag_size, (number + 1) * call.bag_size};
  const int64_t begin = call.offsets[number];
  const int64_t end = number + 1 < call.num_offsets ? call.offsets[number + 1] : call.num_ids;
  if (begin < 0 || begin > end || end > call.num_ids || (number == 0 && begin != 0)) {
    refuse_offsets(call, number);
  }
  return {number, begin, end};
}

// The bag that an id lies in; for one behind the last bag, num_bags.
MIRROR_BOTH Bag bag_around(const Call& call, int64_t position) {
  if (call.offsets == nullptr) return bag_of(call, position / call.bag_size);
  int64_t low = 0, high = call.num_bags;  // the last bag that does not begin behind it
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (call.offsets[middle] <= position ? low : high) = middle;
  }
  const Bag behind{call.num_bags, call.num_ids, call.num_ids};
  if (call.num_bags == 0) return behind;
  const Bag found = bag_of(call, low);
  if (position < found.begin || (position >= found.end && low + 1 < call.num_bags)) {
    refuse_offsets(call, low);
  }
  return position < found.end ? found : behind;
}

// The same for an id behind those of `bag`, in most cases in the bag that follows.
MIRROR_BOTH Bag bag_around(const Call& call, int64_t position, const Bag& bag) {
  if (bag.number >= 0 && bag.number + 1 < call.num_bags) {
    const Bag next = bag_of(call, bag.number + 1);
    if (next.begin <= position && position < next.end) return next;
  }
  return bag_around(call, position);
}

// What the mean of a bag divides by; 1 for a sum.
template <typename sum_t>
MIRROR_BOTH sum_t divisor_of(const Call& call, const Bag& bag) {
  if (!call.mean) return sum_t(1);
  const int64_t count = call.members ? call.members[bag.number] : bag.end - bag.begin;
  return static_cast<sum_t>(count > 1 ? count : 1);
}

// --- slots
// ----------------------------------------------------------------------------------------
//
// A thread keeps what its elements' dimensions add to the hash of a row in registers, and takes the
// hash of a row once for all of them. For the reference hash: with T = b * kDimFactor mod P,
// h(row, b) is h(row, 0) + T, less P where that reaches P, as long as the 64-bit sum does not wrap;
// slots follow by the same add and conditional subtract modulo num_slots. Threads that work on one
// row each take its hash: with the remainder by a product that is fewer instructions than their
// elements' loads take time, and needs no shared memory and no waiting.

// num modulo call.num_slots. The quotient by a product with floor((2^64 - 1) / num_slots) is too
// small by one at most.
MIRROR_BOTH uint64_t rest_of(const Call& call, uint64_t num) {
  const uint64_t rest = num - below(num, call.inverse) * call.num_slots;
  return rest >= call.num_slots ? rest - call.num_slots : rest;
}

// a + b modulo num_slots, both below it.
template <typename slot_t>
MIRROR_BOTH slot_t wrapped_sum(slot_t a, slot_t b, uint64_t num_slots) {
  const slot_t sum = a + b, less = sum - static_cast<slot_t>(num_slots);
  return less < sum ? less : sum;  // below num_slots the difference wraps
}

// Of a row. Reference hash: h(row, 0) and the slots that T is added to, without and with P taken
// away. mix64: mix(row + seed).
template <typename slot_t>
struct RowHash {
  uint64_t hash;
  slot_t slot, less_prime;
  bool plain;  // the formula as it stands, since the sum wraps
};

template <typename slot_t>
MIRROR_BOTH RowHash<slot_t> hash_row(const Call& call, int64_t id) {
  const uint64_t row = static_cast<uint64_t>(id);
  if (call.hash == HashKind::kMix64) return {mix64(row + call.seed), 0, 0, false};
  const uint64_t hash = reference_hash(row, 0);
  const uint64_t slot = rest_of(call, hash);
  const uint64_t away = call.prime_slots;
  return {hash, static_cast<slot_t>(slot),
          static_cast<slot_t>(slot >= away ? slot - away : slot - away + call.num_slots),
          row >= call.no_wrap};
}

// The slot of an element, and whether its sign is minus.
template <typename slot_t>
struct Found {
  slot_t slot;
  bool minus;
};

// What is known of a dimension, whatever the row.
template <typename slot_t>
struct Place {
  uint64_t hash;  // reference: from which h(row, 0) on P is reached; mix64: what is added
  slot_t slot;    // reference: T, and the place in the block; mix64: the latter

  Place() = default;

  MIRROR_BOTH Place(const Call& call, int64_t d) {
    const bool alone = call.block == 1;
    const uint64_t b = static_cast<uint64_t>(alone ? d : d / call.block);
    const uint64_t within = alone ? 0 : rest_of(call, static_cast<uint64_t>(d % call.block));
    if (call.hash == HashKind::kMix64) {
      hash = b * kGoldenRatio;
      slot = static_cast<slot_t>(within);
    } else {
      const uint64_t sum = b * kDimFactor % kPrime;
      hash = kPrime - sum;
      slot = wrapped_sum(static_cast<slot_t>(rest_of(call, sum)), static_cast<slot_t>(within),
                         call.num_slots);
    }
  }

  MIRROR_BOTH Found<slot_t> of(const Call& call, int64_t id, const RowHash<slot_t>& row,
                               int64_t d) const {
    if (call.hash == HashKind::kMix64) {
      const uint64_t mixed = mix64(row.hash + hash);
      const auto start = static_cast<slot_t>(below(mixed, call.num_slots));
      return {wrapped_sum(start, slot, call.num_slots), call.signs && (mixed & 1)};
    }
    if (row.plain) {
      const uint64_t start = rest_of(
          call, reference_hash(static_cast<uint64_t>(id), static_cast<uint64_t>(d / call.block)));
      const uint64_t within = rest_of(call, static_cast<uint64_t>(d % call.block));
      return {wrapped_sum(static_cast<slot_t>(start), static_cast<slot_t>(within), call.num_slots),
              false};
    }
    return {wrapped_sum(row.hash >= hash ? row.less_prime : row.slot, slot, call.num_slots), false};
  }
};

}  // namespace mirror::hashed::cuda
