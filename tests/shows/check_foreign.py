"""Checks databases and questions of the foreign evaluation before they are taken in, or counts those that are there.

python -m tests.shows.check_foreign FOLDER   # NAME.sql beside NAME.yaml, as mirror/evaluation/foreign_databases.py says
python -m tests.shows.check_foreign          # those of the repository; of sealed ones ids and numbers alone
python -m tests.shows.check_foreign --seal FOLDER
"""

import sys
import tempfile
from collections import Counter
from pathlib import Path

from mirror.evaluation.foreign_databases import (
    ForeignDatabase,
    ForeignError,
    ForeignGolds,
    databases,
    opened,
    seal,
)
from mirror.evaluation.questions import QuestionError, foreign_questions
from mirror.evaluation.same_rows import difference

MOST_ROWS = 300


def problems(database: ForeignDatabase) -> tuple[list[str], Counter[str]]:
    """What is wrong with a database and its questions, by id, and how many questions of each kind it has."""
    found: list[str] = []
    try:
        questions = foreign_questions(database)
    except QuestionError as error:
        return [str(error)], Counter()
    with ForeignGolds(database) as golds, tempfile.TemporaryDirectory() as folder:
        golds.write(Path(folder))
        for question in questions:
            for gold in question.golds:
                try:
                    table = golds.table(gold.sql)
                except ForeignError as error:
                    found.append(f"{question.id}: {error}")
                    continue
                if not 1 <= len(table.rows) <= MOST_ROWS:
                    found.append(f"{question.id}: a gold has {len(table.rows)} rows")
                elif all(cell is None for row in table.rows for cell in row):
                    found.append(f"{question.id}: a gold has nothing but NULL")
                elif not gold.top and (why := difference(gold, table, table)):
                    found.append(f"{question.id}: a gold does not meet itself{'' if database.sealed else f': {why}'}")
    return found, Counter(q.category for q in questions)


def main() -> int:
    given = sys.argv[1:]
    if given[:1] == ["--seal"]:
        print("sealed:", ", ".join(seal(Path(given[1]))))
        return 0
    found = opened(Path(given[0])) if given else databases()
    wrong, total = 0, Counter[str]()
    for database in found:
        try:
            told, kinds = problems(database)
        except ForeignError as error:
            told, kinds = [str(error)], Counter()
        wrong += len(told)
        total += kinds
        print(database.name, database.form, "sealed" if database.sealed else "open", dict(sorted(kinds.items())))
        for line in told:
            print("  ", line)
    print(f"{len(found)} databases, {sum(total.values())} questions {dict(sorted(total.items()))}, {wrong} problems")
    return 1 if wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ForeignError as error:
        sys.exit(str(error))
