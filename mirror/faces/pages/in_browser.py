"""What runs in the browser itself: typed text that outlives a visit elsewhere, and a way from the question to the SQL.

What is typed in a form comes to the server with the form's button, and not before. So the browser keeps it, for this
tab alone, until it is sent.
"""

import streamlit as st

_KEPT = ("Your question", "Follow up", "SQL")  # the labels of the fields whose text is kept
# A draft is {base, text}: what the field held before, and what was typed. Whenever it holds the base, it comes back.
_SCRIPT = """
<div id="mirror-in-browser"></div>
<script>
(() => {
  if (window.mirrorInBrowser) return;
  window.mirrorInBrowser = true;
  const labels = LABELS;
  const isKept = (field) => field instanceof Element && labels.includes(field.getAttribute('aria-label'))
    && field.matches('input, textarea');
  const name = (field) => `mirror-draft:${location.pathname}:${field.getAttribute('aria-label')}`;
  const read = (field) => { try { return JSON.parse(sessionStorage.getItem(name(field))); } catch { return null; } };
  const keep = (field, draft) => {
    try { draft ? sessionStorage.setItem(name(field), JSON.stringify(draft)) : sessionStorage.removeItem(name(field)); }
    catch { /* a full or forbidden store keeps no drafts */ }
  };
  const bases = new WeakMap();
  const begin = (field) => {
    const draft = read(field);
    bases.set(field, draft && draft.text === field.value ? draft.base : field.value);
  };
  const type = (field, text) => {
    Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), 'value').set.call(field, text);
    field.dispatchEvent(new Event('input', {bubbles: true}));
  };
  const restore = () => document.querySelectorAll('[data-testid="stForm"] :is(input, textarea)').forEach((field) => {
    const draft = isKept(field) && read(field);
    if (!draft || draft.base !== field.value) return;
    bases.set(field, draft.base);
    type(field, draft.text);
  });
  document.addEventListener('focusin', (e) => isKept(e.target) && begin(e.target));
  document.addEventListener('input', (e) => {
    if (!isKept(e.target)) return;
    if (!bases.has(e.target)) bases.set(e.target, '');
    const base = bases.get(e.target), text = e.target.value;
    keep(e.target, text === base ? null : {base, text});
  });
  const sent = (field) => { keep(field, null); bases.set(field, field.value); };
  document.addEventListener('keydown', (e) => {
    const sends = e.key === 'Enter' && (e.ctrlKey || e.metaKey || e.target.tagName === 'INPUT');
    if (sends && isKept(e.target)) sent(e.target);
  }, true);
  document.addEventListener('click', (e) => {
    const button = e.target.closest('button');
    if (button && button.matches('.mirror-skip')) {
      const field = document.querySelector('textarea[aria-label="SQL"]');
      if (field) { field.focus(); field.scrollIntoView({block: 'center'}); }
    }
    const form = button && button.closest('[data-testid="stForm"]');
    if (!form) return;
    const sending = form.querySelectorAll('button[kind$="FormSubmit"]');
    if (button === sending[0]) form.querySelectorAll('input, textarea').forEach((f) => isKept(f) && sent(f));
  }, true);
  let due = false;
  new MutationObserver(() => {
    if (due) return;
    due = true;
    requestAnimationFrame(() => { due = false; restore(); });
  }).observe(document.body, {childList: true, subtree: true, attributeFilter: ['value']});
  restore();
})();
</script>
""".replace("LABELS", repr(list(_KEPT)))


def run() -> None:
    """Have the page do all this."""
    st.html(_SCRIPT, unsafe_allow_javascript=True)  # a text of ours alone: nothing from data or a person is in it


def show_way_to_sql() -> None:
    """A button that the keyboard finds right after the question; nobody else sees it."""
    st.html('<button type="button" class="mirror-skip">Go to the SQL</button>')
