// Colours, completion and the marked mistake of the fields labelled SQL. The field stays what it is, a textarea of the
// page: its text is drawn transparent over a copy in colours, and a list of names offers itself while one types.
(() => {
  if (window.mirrorSqlField) return;
  window.mirrorSqlField = true;
  const KEYWORDS = new Set(('select from where group by order limit offset having with as and or not in is null between '
    + 'like ilike case when then else end join left right inner outer full cross on using distinct union all except '
    + 'intersect over partition asc desc nulls first last true false cast filter qualify exists').split(' '));
  const FUNCTIONS = ['avg', 'count', 'sum', 'min', 'max', 'median', 'quantile_cont', 'stddev', 'round', 'abs', 'coalesce'];
  const PARTS = /(--[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|('(?:[^']|'')*'?)|("(?:[^"]|"")*"?)|(\b\d+(?:\.\d+)?(?:e[+-]?\d+)?\b)|([A-Za-z_]\w*)/gi;
  const MOST = 8;
  const isField = (part) => part instanceof HTMLTextAreaElement && part.getAttribute('aria-label') === 'SQL';
  const known = () => JSON.parse(document.querySelector('.mirror-sql-names')?.dataset.names || '[]');
  const copies = new WeakMap();

  const kindOf = (found, text, end) => {
    if (found[1]) return 'comment';
    if (found[2]) return 'text';
    if (found[3]) return '';
    if (found[4]) return 'number';
    if (KEYWORDS.has(found[5].toLowerCase())) return 'keyword';
    return /^\s*\(/.test(text.slice(end)) ? 'function' : '';
  };
  const span = (text, kind) => {
    if (!kind) return document.createTextNode(text);
    const made = document.createElement('span');
    made.className = `mirror-sql-${kind}`;
    made.textContent = text;
    return made;
  };
  const wrongIn = (text) => {
    const told = document.querySelector('.mirror-sql-mistake');
    if (!told || JSON.parse(told.dataset.sql)[0] !== text) return null;
    return {start: Number(told.dataset.start), end: Number(told.dataset.end)};
  };
  const colour = (field, copy) => {
    const text = field.value, nodes = [], wrong = wrongIn(text);
    const put = (start, end, kind) => {
      if (!wrong || wrong.end <= start || end <= wrong.start) {
        if (end > start) nodes.push(span(text.slice(start, end), kind));
        return;
      }
      const from = Math.max(start, wrong.start), to = Math.min(end, wrong.end);
      if (from > start) nodes.push(span(text.slice(start, from), kind));
      nodes.push(span(text.slice(from, to), 'wrong'));
      if (to < end) nodes.push(span(text.slice(to, end), kind));
    };
    let at = 0;
    for (const found of text.matchAll(PARTS)) {
      put(at, found.index, '');
      at = found.index + found[0].length;
      put(found.index, at, kindOf(found, text, at));
    }
    put(at, text.length, '');
    copy.replaceChildren(...nodes, document.createTextNode('\n'));
  };

  const plain = matchMedia('(forced-colors: active)');
  const draw = (field) => {
    if (plain.matches) return;
    let copy = copies.get(field);
    if (!copy || !copy.isConnected) {
      copy = document.createElement('div');
      copy.className = 'mirror-sql';
      copy.setAttribute('aria-hidden', 'true');
      field.parentElement.style.position = 'relative';
      field.parentElement.append(copy);
      copies.set(field, copy);
      field.addEventListener('scroll', () => { copy.scrollTop = field.scrollTop; });
      new ResizeObserver(() => fit(field, copy)).observe(field);
    }
    fit(field, copy);
    colour(field, copy);
    copy.scrollTop = field.scrollTop;
  };
  const fit = (field, copy) => {
    if (!field.isConnected) return;  // it has no style any more
    const style = getComputedStyle(field);
    for (const name of ['fontFamily', 'fontSize', 'lineHeight', 'letterSpacing', 'padding', 'tabSize'])
      copy.style[name] = style[name];
    Object.assign(copy.style, {left: `${field.offsetLeft + field.clientLeft}px`, color: style.color,
      top: `${field.offsetTop + field.clientTop}px`, width: `${field.clientWidth}px`, height: `${field.clientHeight}px`});
    const light = style.color.match(/\d+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0) > 384;
    copy.classList.toggle('mirror-sql-on-dark', light);
    field.classList.add('mirror-sql-field');
  };

  // -- completion

  let list = null;
  let asked = null;  // {field, start, end, chosen, moved}
  const close = () => {
    if (!asked) return;
    for (const name of ['aria-controls', 'aria-activedescendant']) asked.field.removeAttribute(name);
    asked = null;
    list.hidden = true;
  };
  const choose = (index) => {
    asked.chosen = index;
    [...list.children].forEach((option, i) => option.setAttribute('aria-selected', String(i === index)));
    asked.field.setAttribute('aria-activedescendant', `mirror-sql-option-${index}`);
    list.children[index].scrollIntoView({block: 'nearest'});
  };
  const take = (index) => {
    const {field, start, end} = asked, word = list.children[index].dataset.word;
    close();
    const quoted = word.startsWith('"'), text = field.value;  // a quote that is typed already is not typed again
    field.setRangeText(word, start - (quoted && text[start - 1] === '"'), end + (quoted && text[end] === '"'), 'end');
    field.dispatchEvent(new Event('input', {bubbles: true}));
    close();  // what was taken is not offered again
  };
  const caret = (field) => {
    const copy = copies.get(field), box = field.getBoundingClientRect();
    if (!copy) return {left: box.left, top: box.bottom};
    const walker = document.createTreeWalker(copy, NodeFilter.SHOW_TEXT);
    let left = asked.start, node = walker.nextNode();
    while (node && left > node.length) { left -= node.length; node = walker.nextNode(); }
    const range = document.createRange();
    range.setStart(node, Math.min(left, node.length));
    const at = range.getBoundingClientRect();
    return {left: at.left, top: at.bottom};
  };
  const offer = (field, always) => {
    close();
    const end = field.selectionStart;
    if (end !== field.selectionEnd) return;
    const word = /[A-Za-z_]\w*$/.exec(field.value.slice(0, end))?.[0] || '';
    if (!always && word.length < 2) return;
    const said = word.toLowerCase();
    const bare = (name) => name.replace(/^"/, '').toLowerCase();
    const words = [...known(), ...FUNCTIONS.map((name) => [name, 'function']),
      ...[...KEYWORDS].map((name) => [name.toUpperCase(), ''])];
    const fits = words.filter(([name]) => bare(name).startsWith(said) && name.length > word.length);
    const inside = words.filter(([name]) => said.length > 2 && bare(name).indexOf(said) > 0);
    const found = [...fits, ...inside].slice(0, MOST);
    if (!found.length || words.some(([name]) => name.toLowerCase() === said)) return;
    if (!list) {
      list = document.createElement('ul');
      list.id = 'mirror-sql-options';
      list.setAttribute('role', 'listbox');
      list.setAttribute('aria-label', 'Names');
      document.body.append(list);
    }
    list.replaceChildren(...found.map(([name, told], i) => {
      const option = document.createElement('li');
      option.id = `mirror-sql-option-${i}`;
      option.setAttribute('role', 'option');
      option.dataset.word = name;
      option.textContent = name;
      const note = document.createElement('small');
      note.textContent = told;
      option.append(note);
      option.addEventListener('mousedown', (e) => { e.preventDefault(); take(i); });
      return option;
    }));
    asked = {field, start: end - word.length, end, chosen: 0, moved: false};
    list.hidden = false;
    const at = caret(field), dark = copies.get(field)?.classList.contains('mirror-sql-on-dark');
    list.className = dark ? 'mirror-sql-on-dark' : '';
    list.style.left = `${Math.max(4, Math.min(at.left, innerWidth - list.offsetWidth - 8))}px`;
    list.style.top = `${Math.min(at.top + 2, innerHeight - list.offsetHeight - 4)}px`;
    field.setAttribute('aria-autocomplete', 'list');
    field.setAttribute('aria-controls', list.id);
    choose(0);
  };
  document.addEventListener('keydown', (e) => {
    if (!isField(e.target)) return;
    if (e.key === ' ' && e.ctrlKey) { e.preventDefault(); offer(e.target, true); return; }
    if (!asked) return;
    const count = list.children.length;
    const taken = {
      ArrowDown: () => { asked.moved = true; choose((asked.chosen + 1) % count); },
      ArrowUp: () => { asked.moved = true; choose((asked.chosen + count - 1) % count); },
      Escape: close,
      Tab: () => take(asked.chosen),
      Enter: () => take(asked.chosen),
    }[e.key];
    // Enter begins a line unless somebody has gone to a name; with Ctrl it runs the statement.
    const begins = e.key === 'Enter' && (!asked.moved || e.ctrlKey || e.metaKey);
    if (!taken || begins || e.shiftKey || e.altKey) { close(); return; }
    e.preventDefault();
    e.stopPropagation();
    taken();
  }, true);
  document.addEventListener('input', (e) => {
    if (!isField(e.target)) return;
    draw(e.target);
    if (e.inputType?.startsWith('insertText')) offer(e.target, false); else close();
  });
  document.addEventListener('focusout', (e) => isField(e.target) && close());
  document.addEventListener('scroll', (e) => asked && e.target !== list && close(), true);

  let due = false;
  const drawAll = () => { due = false; document.querySelectorAll('textarea[aria-label="SQL"]').forEach(draw); };
  new MutationObserver((changes) => {
    const ours = (part) => part instanceof Element && part.closest('.mirror-sql, #mirror-sql-options');
    if (due || changes.every((change) => ours(change.target))) return;
    due = true;
    requestAnimationFrame(drawAll);
  }).observe(document.body, {childList: true, subtree: true, attributeFilter: ['value', 'class']});
  drawAll();
})();
