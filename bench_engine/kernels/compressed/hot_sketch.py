"""HotSketch: which ids gather the most score, in buckets of four, and which of them have a row of their own."""

import torch
from torch import Tensor, nn

SLOTS = 4  # of a bucket
BUCKET_BYTES = 3 * 4 * SLOTS  # of a bucket: id, score and row of each slot, in 4 bytes each
_NOBODY = -1
_OFTEN = 10  # scores are decayed when so many times buckets * threshold have come in


class HotSketch(nn.Module):
    """Scores of the ids that gather the most, in a fixed number of bytes (Zhang et al. 2024, arXiv:2312.03256).

    Id i belongs to bucket i mod w. A score is added to the id's slot; an id without one takes an empty slot, or that of
    the least score in its bucket, and inherits this score (SpaceSaving, Metwally et al. 2005), unless it is that of an
    id with a row. An id whose score was raised to the threshold gets a row, while there are any. As in the authors'
    code, when 10 * w * threshold has come in, scores shrink by `decay`, and ids below the threshold lose their rows.

    `buckets` is int32 (3, w, 4): ids, the bits of float32 scores, and rows counted from 1, 0 for none. It is all there
    is but for `received`, the bits of the float64 sum of what has come in since scores were decayed. As whole numbers
    they stay what they are when a model changes its type.

    Args:
        num_buckets: w, and the number of rows.
        threshold: least score of an id with a row.
        decay: factor in (0, 1].
    """

    def __init__(
        self, num_buckets: int, threshold: float, decay: float, device: torch.device | str | None = None
    ) -> None:
        super().__init__()
        self.threshold, self.decay = float(threshold), float(decay)
        buckets = torch.zeros(3, num_buckets, SLOTS, dtype=torch.int32, device=device)
        buckets[0] = _NOBODY
        self.buckets: Tensor
        self.received: Tensor
        self.register_buffer("buckets", buckets)
        self.register_buffer("received", torch.zeros(1, dtype=torch.int64, device=device))

    @property
    def num_buckets(self) -> int:
        """w."""
        return self.buckets.size(1)

    @property
    def ids(self) -> Tensor:
        """Id of each slot, (w, 4); -1 for none."""
        return self.buckets[0]

    @property
    def scores(self) -> Tensor:
        """Score of each slot, float32 (w, 4)."""
        return self.buckets[1].view(torch.float32)

    @property
    def rows(self) -> Tensor:
        """Row of each slot, counted from 1, (w, 4); 0 for none."""
        return self.buckets[2]

    def find(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """Rows counted from 1 (n,) int64, and scores (n,), of int64 ids; zeros for those that have none."""
        bucket = ids % self.num_buckets
        here = self.ids[bucket] == ids.unsqueeze(1)
        return (self.rows[bucket] * here).sum(1), (self.scores[bucket] * here).sum(1)

    @torch.no_grad()
    def insert(self, ids: Tensor, scores: Tensor) -> tuple[Tensor, Tensor]:
        """Add scores (n,) above 0 to distinct ids (n,) int64, n > 0: first to those that have a slot, then by id.

        Returns the ids that got rows by it and their rows, counted from 0, the highest score first.
        """
        if self.received.view(torch.float64).item() > _OFTEN * self.num_buckets * self.threshold:
            self._shrink()
        self.received.view(torch.float64).add_(scores.double().cumsum(0)[-1:])
        bucket = ids % self.num_buckets
        here = self.ids[bucket] == ids.unsqueeze(1)
        known = here.any(1)
        hit = bucket[known] * SLOTS + here[known].int().argmax(1)
        self.scores.view(-1)[hit] += scores[known].float()
        self._take_slots(ids[~known], scores[~known].float(), bucket[~known])
        return self._give_rows(hit)

    def _take_slots(self, ids: Tensor, scores: Tensor, bucket: Tensor) -> None:
        """Slots for ids that have none: one id of each bucket at a time, in the order of the ids."""
        order = ids.argsort()
        order = order[bucket[order].argsort(stable=True)]
        ids, scores, bucket = ids[order], scores[order], bucket[order]
        _, counts = bucket.unique_consecutive(return_counts=True)
        turn = torch.arange(len(ids), device=ids.device) - (counts.cumsum(0) - counts).repeat_interleave(counts)
        by_turn = turn.argsort(stable=True)
        for part in by_turn.split(turn.bincount().tolist()):
            places = bucket[part] * SLOTS + self.scores[bucket[part]].argmin(1)
            free = self.rows.view(-1)[places] == 0
            places, part = places[free], part[free]
            self.scores.view(-1)[places] += scores[part]
            self.ids.view(-1)[places] = ids[part].int()

    def _give_rows(self, hit: Tensor) -> tuple[Tensor, Tensor]:
        scores, rows = self.scores.view(-1)[hit], self.rows.view(-1)
        wanted = hit[(scores >= self.threshold) & (rows[hit] == 0)]
        wanted = wanted[self.scores.view(-1)[wanted].argsort(descending=True, stable=True)]
        taken = torch.zeros(self.num_buckets + 1, dtype=torch.bool, device=hit.device)
        taken[rows.long()] = True
        free = (~taken[1:]).nonzero().squeeze(1)
        count = min(len(wanted), len(free))
        rows[wanted[:count]] = (free[:count] + 1).int()
        return self.ids.view(-1)[wanted[:count]].long(), free[:count]

    def _shrink(self) -> None:
        self.scores.mul_(self.decay)
        self.rows[self.scores < self.threshold] = 0
        self.received.zero_()

    def extra_repr(self) -> str:
        """Buckets and numbers."""
        return f"{self.num_buckets}, threshold={self.threshold:g}, decay={self.decay:g}"
