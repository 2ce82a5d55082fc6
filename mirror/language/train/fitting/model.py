"""The second reader's network in torch, for training; `mirror.language.neural.network` runs the same one in numpy."""

import torch
from torch import Tensor, nn

from mirror.language.neural.action_language import ActionLanguage
from mirror.language.neural.items import KINDS, MOST_TOKENS, RELATIONS
from mirror.language.neural.likeness import axes
from mirror.language.neural.text_encoder import WIDTH as TEXT_WIDTH
from mirror.language.train.fitting.pretrained import TextLayers

WIDTH, HEADS, ENCODER_LAYERS, DECODER_LAYERS, INNER = 128, 4, 3, 2, 320
NOTHING = -1e9


class Attention(nn.Module):
    """Attention of several heads, with a bias for each relation."""

    def __init__(self, relations: int = 0) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.bias = nn.Embedding(relations, HEADS) if relations else None
        if self.bias is not None:
            nn.init.zeros_(self.bias.weight)
            self.alike = nn.Parameter(torch.ones(HEADS))

    def forward(
        self, x: Tensor, memory: Tensor, hidden: Tensor, related: Tensor | None = None, alike: Tensor | None = None
    ) -> Tensor:
        """`hidden` is true where nothing may be seen: (batch, 1 or queries, keys); `related` is added to scores."""
        batch, queries, _ = x.shape
        q, k, v = (
            layer(y).view(batch, y.shape[1], HEADS, -1).transpose(1, 2)
            for layer, y in ((self.q, x), (self.k, memory), (self.v, memory))
        )
        scores = q @ k.transpose(2, 3) / (WIDTH // HEADS) ** 0.5
        if related is not None and alike is not None:
            scores = scores + related + self.alike[:, None, None] * alike[:, None]
        weights = scores.masked_fill(hidden[:, None], NOTHING).softmax(-1)
        mixed: Tensor = self.o((weights @ v).transpose(1, 2).reshape(batch, queries, WIDTH))
        return mixed


class Inner(nn.Module):
    """Two layers, place by place."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(WIDTH, INNER), nn.Linear(INNER, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        """(..., WIDTH)."""
        made: Tensor = self.b(torch.relu(self.a(x)))
        return made


class EncoderLayer(nn.Module):
    """Items look at one another."""

    def __init__(self) -> None:
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attend, self.inner = Attention(len(RELATIONS)), Inner()
        self.drop = nn.Dropout(0.1)

    def forward(self, x: Tensor, hidden: Tensor, related: Tensor, alike: Tensor) -> Tensor:
        """(batch, items, WIDTH)."""
        y = self.n1(x)
        x = x + self.drop(self.attend(y, y, hidden, related, alike))
        added: Tensor = x + self.drop(self.inner(self.n2(x)))
        return added


class DecoderLayer(nn.Module):
    """Actions look at those before them and at the items."""

    def __init__(self) -> None:
        super().__init__()
        self.n1, self.n2, self.n3 = (nn.LayerNorm(WIDTH) for _ in range(3))
        self.own, self.across, self.inner = Attention(), Attention(), Inner()
        self.drop = nn.Dropout(0.1)

    def forward(self, x: Tensor, memory: Tensor, later: Tensor, hidden: Tensor) -> Tensor:
        """(batch, steps, WIDTH)."""
        y = self.n1(x)
        x = x + self.drop(self.own(y, y, later))
        x = x + self.drop(self.across(self.n2(x), memory, hidden))
        added: Tensor = x + self.drop(self.inner(self.n3(x)))
        return added


class ReadingNetwork(nn.Module):
    """Items to actions."""

    def __init__(self, vocabulary: int, language: ActionLanguage, text: TextLayers | None = None) -> None:
        super().__init__()
        self.text = text
        self.context = nn.Linear(TEXT_WIDTH, WIDTH) if text else None
        actions = len(language.words) + len(language.pointers)
        self.word = nn.Embedding(vocabulary, WIDTH, padding_idx=0)
        self.kind = nn.Embedding(len(KINDS), WIDTH)
        self.feature = nn.Linear(len(language.features), WIDTH, bias=False)
        self.meaning = nn.Linear(axes(), WIDTH, bias=False)
        self.place = nn.Embedding(MOST_TOKENS + 1, WIDTH)
        self.action = nn.Embedding(actions + 1, WIDTH)
        self.step = nn.Embedding(language.most_actions + 1, WIDTH)
        self.pointed = nn.Linear(WIDTH, WIDTH)
        self.encoder = nn.ModuleList(EncoderLayer() for _ in range(ENCODER_LAYERS))
        self.decoder = nn.ModuleList(DecoderLayer() for _ in range(DECODER_LAYERS))
        self.n_encoder, self.n_decoder = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.drop = nn.Dropout(0.1)
        self.out = nn.Linear(WIDTH, len(language.words))
        self.point, self.key = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        for table in (self.word, self.kind, self.place, self.action, self.step):
            nn.init.normal_(table.weight, std=0.1)
        with torch.no_grad():
            self.word.weight[0] = 0

    def encode(self, batch: dict[str, Tensor]) -> Tensor:
        """(batch, items, WIDTH)."""
        words = self.word(batch["words"])
        count = (batch["words"] > 0).sum(-1, keepdim=True).clamp(min=1)
        x = (
            words.sum(2) / count
            + self.kind(batch["kinds"])
            + self.feature(batch["features"])
            + self.place(batch["places"])
            + self.meaning(batch["vectors"])
        )
        if self.text is not None and self.context is not None:
            said = self.context(self.text(batch["pieces"], batch["share"], batch["seen"]))
            is_word = (
                batch["places"][:, : said.shape[1], None] < MOST_TOKENS
            )  # a shorter question has other items there
            x = torch.cat([x[:, : said.shape[1]] + said * is_word, x[:, said.shape[1] :]], 1)
        x = self.drop(x)
        hidden = batch["hidden"][:, None]
        # What relations add in all layers is looked up at once, which takes a third of the time.
        table = torch.cat([self.get_parameter(f"encoder.{i}.attend.bias.weight") for i in range(ENCODER_LAYERS)], 1)
        related = nn.functional.embedding(batch["relations"], table).permute(0, 3, 1, 2).split(HEADS, 1)
        for layer, added in zip(self.encoder, related, strict=True):
            x = layer(x, hidden, added, batch["alike"])
        normed: Tensor = self.n_encoder(x)
        return normed

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        """Logits of each step: (batch, steps, words + items), NOTHING where an action is not allowed."""
        memory = self.encode(batch)
        steps = batch["before"].shape[1]
        pointed = self.pointed(memory)
        at = batch["before_item"]
        taken = torch.gather(pointed, 1, at.clamp(min=0)[..., None].expand(-1, -1, WIDTH))
        x = self.action(batch["before"]) + taken * (at >= 0)[..., None] + self.step.weight[:steps]
        x = self.drop(x)
        later = torch.ones(steps, steps, dtype=torch.bool, device=x.device).triu(1)[None]
        hidden = batch["hidden"][:, None]
        for layer in self.decoder:
            x = layer(x, memory, later, hidden)
        x = self.n_decoder(x)
        words = self.out(x)
        items = self.point(x) @ self.key(memory).transpose(1, 2) / WIDTH**0.5
        words = words.masked_fill(~batch["allowed_words"], NOTHING)
        # (batch, steps, kinds) x (batch, items, kinds) -> whether an item may be pointed at
        may = batch["allowed_kinds"].float() @ batch["classes"].float().transpose(1, 2) > 0
        return torch.cat([words, items.masked_fill(~may, NOTHING)], -1)
