// For the keyboard: rows, the search, and the help for keys.
const help = document.querySelector('.keys');
const single = document.querySelector('#single-keys');

// A device without a mouse usually has no keyboard either.
if (help !== null && matchMedia('(hover: hover)').matches) {
  help.hidden = false;
  single.checked = localStorage.getItem('single-keys') !== 'off';
  single.addEventListener('change', () =>
    localStorage.setItem('single-keys', single.checked ? 'on' : 'off'),
  );
  document.querySelector('#search').placeholder += ' ( / )';
}

const rowOf = (element) => element?.closest('main tbody tr') ?? null;

function moveRow(step) {
  const rows = [...document.querySelectorAll('main tbody tr')];
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
  '/': () => document.querySelector('#search').focus(),
};

document.addEventListener('keydown', (event) => {
  const { key, target, ctrlKey, metaKey, altKey } = event;
  if (event.isComposing || event.defaultPrevented || ctrlKey || metaKey || altKey) return;
  if (target.closest('input:not([type="checkbox"]), select, textarea') !== null) return;
  if (key === 'Enter' && target.matches('tr')) target.querySelector('a[href]')?.click();
  if (single?.checked !== true || !Object.hasOwn(KEYS, key)) return;
  event.preventDefault();
  KEYS[key](rowOf(target));
});
