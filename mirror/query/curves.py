"""What can be asked of training curves."""

from mirror.query.errors import Refusal
from mirror.query.spec import QuerySpec
from mirror.schema import catalog
from mirror.schema.profile import Profile
from mirror.schema.views import KNOWN_COLUMNS

BENCHMARK = "training"


def check(spec: QuerySpec, profile: Profile) -> None:
    """Raise Refusal where a curve is asked for that there is none of, or a column that curves do not have."""
    asked = next((f.values for f in spec.filters if f.column == "metric" and f.operator in ("=", "in")), ())
    if missing := [str(name) for name in asked if name not in profile.curves]:
        known = ", ".join(catalog.entry(name).label for name in profile.curves) or "nothing yet"
        label = catalog.entry(missing[0]).label
        raise Refusal(f"No training has recorded {label} step by step; recorded are {known}.")
    columns = (*spec.dimensions, *(f.column for f in spec.filters))
    if unknown := [c for c in columns if c not in KNOWN_COLUMNS["curves"]]:
        label = catalog.entry(unknown[0]).label
        raise Refusal(f"Training curves are not told apart by {label}: leave it out, or ask with SQL.")
