"""Questions in any wording about any table: spans with all their readings, pieces made of them, the cheapest query.

From outside: covers, cues, held, lexemes, linking, pieces, query_draft, reading, settle_measures, settle_places, times.
"""
