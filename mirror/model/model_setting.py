"""Whether the settings name a language model: asked of every question, so nothing of what talks to it is loaded."""

from db.settings import setting


def configured() -> bool:
    """Whether the settings name a model and a way to it. Local servers need no key."""
    return bool(setting("MIRROR_LLM_MODEL") and (setting("MIRROR_LLM_BASE_URL") or setting("OPENAI_API_KEY")))
