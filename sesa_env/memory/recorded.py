"""The embedder of a bank: the one that wrote it, since cosines between two embedders' vectors mean nothing."""

from sesa_env.errors import StoreError
from sesa_env.memory.card import card_text
from sesa_env.memory.embed import Embedder, make_embedder
from sesa_env.memory.store import BankStore

FOR_NEW_BANKS = "hash"
"""Who embeds in a new bank if nobody else is named: it needs no model and no download."""


def settle_embedder(store: BankStore, wanted: Embedder | None, *, reembed: bool) -> Embedder:
    """Decides who embeds, and records it in a new bank.

    Args:
        store: the bank's file.
        wanted: an embedder; None takes the recorded one, and "hash" in a new bank.
        reembed: True embeds all cards anew where another embedder wrote the bank.

    Returns:
        The embedder.

    Raises:
        ConfigError: the recorded embedder cannot be had here.
        StoreError: another embedder wrote the bank.
    """
    written = store.meta("embedder")
    embedder = wanted or make_embedder(written or FOR_NEW_BANKS)
    if written is None:
        store.set_meta({"embedder": embedder.name, "dimension": str(embedder.dimension)})
    elif (written, store.meta("dimension")) != (embedder.name, str(embedder.dimension)):
        if not reembed:
            raise StoreError(
                f"{store.path} was written with the embedder {written!r} ({store.meta('dimension')} dimensions), not with "
                f"{embedder.name!r} ({embedder.dimension}); open it with embedder={written!r}, or with reembed=True to embed "
                "all its cards anew"
            )
        _embed_anew(store, embedder)
    return embedder


def _embed_anew(store: BankStore, embedder: Embedder) -> None:
    cards = [card for card, _ in store.cards(run="")]
    vectors = embedder.embed_cards([card_text(card) for card in cards])
    stones = embedder.embed_cards([stone.text for stone in store.tombstones()])
    by_id = dict(zip((card.id for card in cards), vectors, strict=True))
    store.reembed(embedder.name, str(embedder.dimension), by_id, list(stones))
