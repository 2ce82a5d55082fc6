"""The pretrained layers that read a question's words in context, in torch, for training.

Their matrices are those of the file that all readers share; what training adds are thin ones beside them (LoRA).
"""

import numpy as np
import torch
from torch import Tensor, nn

from mirror.language.neural.text_encoder import HEADS, PARTS, WIDTH, base_weights, layers_of, unpacked

RANK = 16


class Adapted(nn.Module):
    """A linear layer whose matrix stays as it is, with what is learnt beside it."""

    weight: Tensor

    def __init__(self, weight: np.ndarray, bias: np.ndarray) -> None:
        super().__init__()
        self.register_buffer("weight", torch.from_numpy(weight).bfloat16(), persistent=False)
        self.bias = nn.Parameter(torch.from_numpy(bias))
        self.down = nn.Parameter(torch.randn(RANK, weight.shape[1]) / weight.shape[1] ** 0.5)
        self.up = nn.Parameter(torch.zeros(weight.shape[0], RANK))

    def forward(self, x: Tensor) -> Tensor:
        """(..., inputs) to (..., outputs)."""
        linear = nn.functional.linear
        return linear(x, self.weight, self.bias) + linear(linear(x, self.down), self.up)


class TextLayer(nn.Module):
    """Attention and two inner layers, each with a norm behind it."""

    def __init__(self, base: dict[str, np.ndarray], at: str) -> None:
        super().__init__()
        self.qkv, self.o, self.a, self.b = (
            Adapted(
                unpacked(base[f"{at}.{part}"], base[f"{at}.{part}.scale"]), base[f"{at}.{part}.bias"].astype(np.float32)
            )
            for part in PARTS
        )
        self.n1, self.n2 = (_norm(base, f"{at}.{name}") for name in ("n1", "n2"))
        self.drop = nn.Dropout(0.1)

    def forward(self, x: Tensor, seen: Tensor) -> Tensor:
        """(batch, pieces, WIDTH); `seen` (batch, 1, 1, pieces) is false where there is no piece."""
        q, k, v = self.qkv(x).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        # By hand: the gradient of torch's fused attention is slow on questions as short as these.
        weights = (q @ k.transpose(2, 3) / q.shape[3] ** 0.5).masked_fill(~seen, -torch.inf).softmax(-1)
        mixed = weights.to(v.dtype) @ v
        x = self.n1(x + self.drop(self.o(mixed.transpose(1, 2).flatten(2))))
        made: Tensor = self.n2(x + self.drop(self.b(nn.functional.gelu(self.a(x), approximate="tanh"))))
        return made


class TextLayers(nn.Module):
    """Pieces of a text to vectors; the vectors of single pieces stay as they are."""

    piece: Tensor
    place: Tensor

    def __init__(self) -> None:
        super().__init__()
        base = base_weights()
        pieces = torch.from_numpy(unpacked(base["piece"], base["piece.scale"]))
        self.register_buffer("piece", pieces, persistent=False)
        self.register_buffer("place", torch.from_numpy(np.float32(base["place"])), persistent=False)
        self.norm = _norm(base, "norm")
        self.layer = nn.ModuleList(TextLayer(base, f"layer.{i}") for i in range(layers_of(base)))
        self.drop = nn.Dropout(0.1)

    def forward(self, ids: Tensor, share: Tensor, seen: Tensor) -> Tensor:
        """Vectors of words.

        Args:
            ids: (batch, pieces).
            share: (batch, words, pieces), how much each piece counts in the mean of a word.
            seen: (batch, pieces), false where there is no piece.

        Returns:
            (batch, words, WIDTH).
        """
        with torch.autocast(ids.device.type, torch.bfloat16):
            x = self.drop(self.norm(self.piece[ids] + self.place[: ids.shape[1]]))
            for layer in self.layer:
                x = layer(x, seen[:, None, None])
        found: Tensor = share @ x.float()
        return found


def _norm(base: dict[str, np.ndarray], name: str) -> nn.LayerNorm:
    made = nn.LayerNorm(WIDTH, eps=1e-12)
    with torch.no_grad():
        made.weight.copy_(torch.from_numpy(np.float32(base[f"{name}.weight"])))
        made.bias.copy_(torch.from_numpy(np.float32(base[f"{name}.bias"])))
    return made
