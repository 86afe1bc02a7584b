// For the keyboard: rows, and the help for keys.
const template = document.querySelector('#key-help');
if (template !== null) document.body.append(template.content.cloneNode(true));
const help = document.querySelector('.keys');
const single = document.querySelector('#single-keys');

/** Speech input types letters, so the keys can be turned off. */
if (single !== null) {
  single.checked = localStorage.getItem('single-keys') !== 'off';
  single.addEventListener('change', () =>
    localStorage.setItem('single-keys', single.checked ? 'on' : 'off'),
  );
}

const rowOf = (element) => element?.closest('main tbody tr') ?? null;

function moveRow(step) {
  const rows = [...document.querySelectorAll('main tbody tr:not(.group)')];
  const index = rows.indexOf(rowOf(document.activeElement));
  const row = index < 0 ? rows[0] : rows[index + step];
  if (row === undefined) return;
  row.tabIndex = -1;
  row.focus();
}

const KEYS = {
  j: () => moveRow(1),
  k: () => moveRow(-1),
  x: (row) => row?.querySelector('[type="checkbox"]')?.click(),
  '?': () => help.showModal(),
  '/': () => document.querySelector('#search').focus(),
};

document.addEventListener('keydown', (event) => {
  const { key, target, ctrlKey, metaKey, altKey } = event;
  if (help === null || event.isComposing || event.defaultPrevented) return;
  const isTyping =
    target.closest('input:not([type="checkbox"]), select, textarea, dialog') !== null;
  if (ctrlKey || metaKey || altKey || isTyping) return;
  if (key === 'Enter' && target.matches('tr')) target.querySelector('a[href]')?.click();
  if (!single.checked || !Object.hasOwn(KEYS, key)) return;
  event.preventDefault();
  KEYS[key](rowOf(target));
});

const helpButton = document.querySelector('#keys');
if (helpButton !== null && matchMedia('(hover: hover)').matches) {
  helpButton.hidden = false;
  helpButton.addEventListener('click', () => help.showModal());
}
