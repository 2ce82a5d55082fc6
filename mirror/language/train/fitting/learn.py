"""Fits the second reader: first to WikiSQL's questions, then to the wordings; checkpoints, so that it can go on."""

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mirror.language.neural.action_language import ActionLanguage
from mirror.language.neural.text_encoder import base_vocabulary
from mirror.language.train.data.example import Example
from mirror.language.train.fitting.batches import Arrays, arrays_of, batches
from mirror.language.train.fitting.model import ReadingNetwork
from mirror.language.train.fitting.pretrained import TextLayers

_log = logging.getLogger(__name__)
BATCH, PEAK, WARM_UP, DECAY, CLIP = 48, 1e-3, 200, 0.01, 1.0


@dataclass(frozen=True)
class Part:
    """One part of the training.

    Attributes:
        name: what it is called in the log and in checkpoints.
        examples: what it learns.
        epochs: how often it sees them.
        forget: the share of words that are hidden each time.
        least_kept: a batch sees from this share of the items on to all of them.
    """

    name: str
    examples: Sequence[Example]
    epochs: int
    forget: float = 0.12
    least_kept: float = 1.0


class Learner:
    """A network, its optimizer and where they are kept between epochs."""

    def __init__(
        self,
        vocabulary: dict[str, int],
        folder: Path,
        language: ActionLanguage,
        seed: int = 0,
        in_context: bool = False,
        device: str = "cpu",
    ) -> None:
        """With `in_context` the words of a question are read by pretrained layers too, which learn further."""
        torch.manual_seed(seed)
        self.vocabulary, self._folder, self._language = vocabulary, folder, language
        self._text = base_vocabulary() if in_context else None
        self.network = ReadingNetwork(len(vocabulary) + 2, language, TextLayers() if in_context else None).to(device)
        self._device = device
        self._optimizer = torch.optim.AdamW(self.network.parameters(), lr=PEAK, weight_decay=DECAY)
        folder.mkdir(parents=True, exist_ok=True)

    def begin_with(self, path: Path, language: ActionLanguage) -> None:
        """Start from what the network of another language has learnt, as far as both share words and shapes."""
        with np.load(path, allow_pickle=False) as held:
            theirs = {name: torch.from_numpy(held[name].astype(np.float32)) for name in held.files[1:]}
            words = str(held["vocabulary"]).split("\n")
        known = {word: i + 2 for i, word in enumerate(words)}
        vocabulary = {0: 0, 1: 1, **{i: known[w] for w, i in self.vocabulary.items() if w in known}}
        shared = {i: language.word_at[w] for w, i in self._language.word_at.items() if w in language.word_at}
        pointed = {len(self._language.words) + i: len(language.words) + language.pointer_at[kind]
                   for kind, i in self._language.pointer_at.items() if kind in language.pointer_at}  # fmt: skip
        rows = {"word.weight": vocabulary, "action.weight": shared | pointed, "out.weight": shared, "out.bias": shared}
        own = self.network.state_dict()
        with torch.no_grad():
            for name, weights in theirs.items():
                if name in rows:
                    own[name][list(rows[name])] = weights[list(rows[name].values())]
                elif own[name].shape == weights.shape:
                    own[name].copy_(weights)
                else:  # more features than there were
                    own[name][:, : weights.shape[1]] = weights

    def fit(self, part: Part, held_out: Sequence[Example] = ()) -> None:
        """Learn a part, going on behind the last epoch that was kept."""
        arrays = [arrays_of(e, self.vocabulary, self._language, self._text) for e in part.examples]
        checked = [arrays_of(e, self.vocabulary, self._language, self._text) for e in held_out]
        total = part.epochs * math.ceil(len(arrays) / BATCH)
        for epoch in range(self._resumed(part), part.epochs):
            loss = self._epoch(arrays, part, epoch, total)
            exact = f", {self.exact(checked):.1%} of {len(checked)} held out are exact" if checked else ""
            _log.info("%s: epoch %d of %d, loss %.3f%s", part.name, epoch + 1, part.epochs, loss, exact)
            self._keep(part, epoch + 1)

    def _epoch(self, arrays: Sequence[Arrays], part: Part, epoch: int, total: int) -> float:
        step, losses = epoch * math.ceil(len(arrays) / BATCH), []
        self.network.train()
        for batch in batches(arrays, BATCH, part.forget, epoch, part.least_kept, self._text):
            rate = min(1.0, (step + 1) / WARM_UP) * max(0.02, 0.5 * (1 + math.cos(math.pi * step / total)))
            for group in self._optimizer.param_groups:
                group["lr"] = PEAK * rate
            loss = self._loss(batch)
            self._optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), CLIP)
            self._optimizer.step()
            losses.append(loss.item())
            step += 1
        return float(np.mean(losses))

    def _loss(self, batch: dict[str, Tensor]) -> Tensor:
        batch = self._there(batch)
        logits, wanted = self.network(batch), batch["wanted"]
        said = wanted >= 0
        return torch.nn.functional.cross_entropy(logits[said], wanted[said])

    def _there(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        return {name: tensor.to(self._device) for name, tensor in batch.items()}

    def exact(self, arrays: Sequence[Arrays]) -> float:
        """The share of examples whose every action comes first, given those before it."""
        self.network.eval()
        right = 0
        with torch.no_grad():
            for batch in map(self._there, batches(arrays, BATCH, 0.0, 0, text=self._text)):
                wanted = batch["wanted"]
                right += int(((self.network(batch).argmax(-1) == wanted) | (wanted < 0)).all(1).sum())
        return right / max(1, len(arrays))

    # -- what is kept ----------------------------------------------------------------------------------------------

    def _path(self, part: Part) -> Path:
        return self._folder / f"{part.name}.pt"

    def _keep(self, part: Part, epochs: int) -> None:
        held = {"network": self.network.state_dict(), "optimizer": self._optimizer.state_dict(), "epochs": epochs}
        temporary = self._path(part).with_suffix(".part")
        torch.save(held, temporary)
        temporary.replace(self._path(part))

    def _resumed(self, part: Part) -> int:
        """How many epochs of a part are there already."""
        if not self._path(part).is_file():
            return 0
        held: dict[str, Any] = torch.load(self._path(part), weights_only=True)
        self.network.load_state_dict(held["network"])
        self._optimizer.load_state_dict(held["optimizer"])
        return int(held["epochs"])

    def write(self, path: Path) -> None:
        """The weights as half-precision numbers, with the vocabulary, as `second.network` loads them."""
        weights = {name: w.cpu().numpy().astype(np.float16) for name, w in self.network.state_dict().items()}
        words = sorted(self.vocabulary, key=lambda word: self.vocabulary[word])
        temporary = path.with_suffix(".part.npz")
        np.savez(temporary, vocabulary=np.array("\n".join(words)), **weights)
        temporary.replace(path)
