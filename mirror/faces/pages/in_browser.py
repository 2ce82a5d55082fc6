"""What runs in the browser itself: typed text that outlives a visit, suggestions, help with the SQL, the theme.

What is typed in a form comes to the server with the form's button, and not before. So the browser keeps it, for this
tab alone, until it is sent.
"""

import html
import json
from collections.abc import Sequence
from pathlib import Path

import streamlit as st

_KEPT = ("Your question", "Follow up", "SQL")  # the labels of the fields whose text is kept
OLD_PATH = "data"  # of a page that there is no more
_MOST_SUGGESTED = 6  # of words, and of questions
# A draft is {base, text}: what the field held before, and what was typed. Whenever it holds the base, it comes back.
_SCRIPT = (
    """
<div id="mirror-in-browser"></div>
<script>
(() => {
  const moved = /(.*\\/)OLD\\/?$/.exec(location.pathname);
  if (moved) {  // an address of the page that asked files and databases before Ask did
    location.replace(moved[1] + (/[?&](source|about)=/.test(location.search) ? location.search : '?about=file'));
    return;
  }
  if (window.mirrorInBrowser) return;
  window.mirrorInBrowser = true;
  const labels = LABELS;
  const isKept = (field) => field instanceof Element && labels.includes(field.getAttribute('aria-label'))
    && field.matches('input, textarea');
  const about = () => new URLSearchParams(location.search).get('source') || '';
  const name = (field) => `mirror-draft:${location.pathname}${about()}:${field.getAttribute('aria-label')}`;
  const draftOf = (key) => { try { return JSON.parse(sessionStorage.getItem(key)); } catch { return null; } };
  const read = (field) => draftOf(name(field));
  const keep = (field, draft) => {
    try { draft ? sessionStorage.setItem(name(field), JSON.stringify(draft)) : sessionStorage.removeItem(name(field)); }
    catch { /* a full or forbidden store keeps no drafts */ }
  };
  const bases = new WeakMap(), names = new WeakMap();
  const begin = (field) => {
    const draft = read(field);
    bases.set(field, draft && draft.text === field.value ? draft.base : field.value);
  };
  const type = (field, text) => {
    Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), 'value').set.call(field, text);
    field.dispatchEvent(new Event('input', {bubbles: true}));
  };
  const restore = () => document.querySelectorAll('[data-testid="stForm"] :is(input, textarea)').forEach((field) => {
    if (!isKept(field)) return;
    const draft = read(field), before = names.get(field), here = name(field);
    names.set(field, here);
    if (before && before !== here) {  // something else is asked about, in the same field
      const left = draftOf(before);
      if (left && left.text === field.value) {
        bases.set(field, left.base);
        type(field, left.base);
        if (draft) keep(field, draft);  // typing the base dropped it, and the field may not hold its base yet
      }
    }
    if (!draft || draft.base !== field.value) return;
    bases.set(field, draft.base);
    type(field, draft.text);
  });
  document.addEventListener('focusin', (e) => {
    if (!isKept(e.target)) return;
    begin(e.target);
    offer(e.target);
  });
  document.addEventListener('input', (e) => {
    if (!isKept(e.target)) return;
    offer(e.target);
    if (!bases.has(e.target)) bases.set(e.target, '');
    const base = bases.get(e.target), text = e.target.value;
    keep(e.target, text === base ? null : {base, text});
  });
  const offer = (field) => {
    const known = document.querySelector('.mirror-suggest');
    if (!known || field.getAttribute('aria-label') !== labels[0]) return;
    let list = document.getElementById('mirror-suggestions');
    if (!list) {
      list = document.createElement('datalist');
      list.id = 'mirror-suggestions';
      document.body.append(list);
    }
    field.setAttribute('list', list.id);
    const text = field.value, said = text.toLowerCase(), last = /[^\\s,]{2,}$/.exec(said);
    const begins = (word) => last && word.toLowerCase().startsWith(last[0]) && word.length > last[0].length;
    const held = (name) => JSON.parse(known.dataset[name] || '[]');
    const words = held('words').filter(begins).map((word) => text.slice(0, last.index) + word);
    const whole = held('questions').filter((q) => q.toLowerCase().includes(said) && q !== text);
    const offered = [...words.slice(0, MOST), ...whole.slice(0, MOST)];
    list.replaceChildren(...offered.map((value) => new Option(value, value)));
  };
  const formOf = (part) => part.closest('[data-testid="stForm"]');
  const buttons = (part) => formOf(part)?.querySelectorAll('button[kind$="FormSubmit"]') || [];
  const sent = (field) => { keep(field, null); bases.set(field, field.value); };
  document.addEventListener('keydown', (e) => {
    const sends = e.key === 'Enter' && (e.ctrlKey || e.metaKey || e.target.tagName === 'INPUT');
    if (sends && isKept(e.target) && buttons(e.target).length) sent(e.target);  // a form without buttons sends nothing
  }, true);
  document.addEventListener('click', (e) => {
    const button = e.target.closest('button');
    if (button && button.matches('.mirror-skip')) {
      const field = document.querySelector('textarea[aria-label="SQL"]');
      if (field) { field.focus(); field.scrollIntoView({block: 'center'}); }
    }
    const form = button && formOf(button);
    if (!form) return;
    if (button === buttons(form)[0]) form.querySelectorAll('input, textarea').forEach((f) => isKept(f) && sent(f));
  }, true);
  let pointed = '';
  const point = () => {
    const at = document.querySelector('.mirror-tour')?.dataset.at || '';
    const aim = at && at !== pointed && document.querySelector(at);
    if (aim) aim.scrollIntoView({block: 'center'});
    if (aim || !at) pointed = at;
  };
  // A link to the first page has no path: in a tab of its own it would lead to the page that it stands on.
  const lead = () => document.querySelectorAll('.stPageLink a:is([href=""], [href^="?"])').forEach((link) => {
    link.setAttribute('href', `./${link.getAttribute('href')}`);
  });
  let due = false;
  new MutationObserver(() => {
    if (due) return;
    due = true;
    requestAnimationFrame(() => { due = false; restore(); point(); lead(); });
  }).observe(document.body, {childList: true, subtree: true, attributeFilter: ['value', 'href']});
  let asked = '';
  setInterval(() => {  // the theme is a style sheet's: no event tells of it
    const app = document.querySelector('.stApp'), drawn = document.querySelector('.mirror-drawn')?.dataset.theme;
    const colour = app && drawn && getComputedStyle(app).backgroundColor.match(/\\d+/g);
    if (!colour) return;
    const theme = colour.slice(0, 3).reduce((sum, part) => sum + Number(part), 0) < 384 ? 'dark' : 'light';
    if (theme !== drawn && theme !== asked) document.querySelector('.st-key-redraw button')?.click();
    asked = theme === drawn ? '' : theme;
  }, 500);
  restore();
  lead();
})();
</script>
""".replace("LABELS", repr(list(_KEPT)))
    .replace("MOST", str(_MOST_SUGGESTED))
    .replace("OLD", OLD_PATH)
)
_SQL_FIELD = f"<script>{Path(__file__).with_name('sql_field.js').read_text(encoding='utf-8')}</script>"


def run() -> None:
    """Have the page do all this."""
    # Texts of ours alone: nothing from data or a person is in them.
    st.html(_SCRIPT + _SQL_FIELD, unsafe_allow_javascript=True)


def follow_theme() -> None:
    """Have the page, which ends here, drawn anew when it turns dark or light: charts have their colours from here."""
    st.button("Draw again", key="redraw")  # which nobody sees but the script
    st.html(f'<div class="mirror-drawn" hidden data-theme="{st.context.theme.type or ""}"></div>')


def show_way_to_sql() -> None:
    """A button that the keyboard finds right after the question; nobody else sees it."""
    st.html('<button type="button" class="mirror-skip">Go to the SQL</button>')


def suggest(questions: Sequence[str], words: Sequence[str]) -> None:
    """Have the box of the question suggest whole questions, and completions of the word that is being typed."""
    held = "".join(
        f' data-{name}="{html.escape(_as_json(texts))}"' for name, texts in (("questions", questions), ("words", words))
    )
    st.html(f'<div class="mirror-suggest" hidden{held}></div>')


def help_with_sql(names: Sequence[tuple[str, str]], sql: str = "", wrong: tuple[int, int] | None = None) -> None:
    """Have the field of the SQL complete names, each with a note, and mark what is wrong with a statement.

    Args:
        names: what may be completed, and what it is.
        sql: the statement that is wrong.
        wrong: from which character of it to which.
    """
    st.html(f'<div class="mirror-sql-names" hidden data-names="{html.escape(_as_json(names))}"></div>')
    if wrong:
        st.html(
            f'<div class="mirror-sql-mistake" hidden data-start="{wrong[0]}" data-end="{wrong[1]}" '
            f'data-sql="{html.escape(_as_json([sql]))}"></div>'
        )


def _as_json(texts: Sequence[str] | Sequence[tuple[str, str]]) -> str:
    """JSON without angle brackets: an attribute that seems to hold a tag is taken out of the page."""
    return json.dumps(texts).replace("<", "\\u003c").replace(">", "\\u003e")


def point_at(selector: str) -> None:
    """Have the page scroll once to what a CSS selector of ours names."""
    st.html(f'<div class="mirror-tour" hidden data-at="{html.escape(selector)}"></div>')
