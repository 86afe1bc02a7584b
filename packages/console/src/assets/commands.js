// For the keyboard: rows, a menu of the pages and of what can be done here, and the help for keys.
const template = document.querySelector('#command-menu');
if (template !== null) document.body.append(template.content.cloneNode(true));
const menu = document.querySelector('.commands');
const help = document.querySelector('.keys');
const list = document.querySelector('#command-list');
const [input, single] = [menu?.querySelector('input'), document.querySelector('#single-keys')];

/** Speech input types letters, so keys without Ctrl can be turned off. */
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
  if (menu === null || event.isComposing || event.defaultPrevented) return;
  if ((ctrlKey || metaKey) && !altKey && key.toLowerCase() === 'k') {
    event.preventDefault();
    if (!document.querySelector('dialog[open]')) openMenu();
    return;
  }
  const isTyping =
    target.closest('input:not([type="checkbox"]), select, textarea, dialog') !== null;
  if (ctrlKey || metaKey || altKey || isTyping) return;
  if (key === 'Enter' && target.matches('tr')) target.querySelector('a[href]')?.click();
  if (!single.checked || !Object.hasOwn(KEYS, key)) return;
  event.preventDefault();
  KEYS[key](rowOf(target));
});

const textOf = (element) => element.textContent.trim().replace(/\s+/g, ' ');

function nameOf(element) {
  const name = textOf(element);
  const row = rowOf(element);
  if (row !== null) return `${name}: ${textOf(row.querySelector('a'))}`;
  if (element.closest('dialog') !== null) return `Go to ${name}`;
  if (element.matches('[download]')) return `Export ${name}`;
  return element.matches('.pager a') ? `Show ${name}` : name;
}

/** The buttons and links of the page, except those of rows: a row has those of the row with the focus. */
const DOABLE = 'button:not([type="button"]), a.button, a[download], .toolbar a, .pager a';

let commands = [];

function openMenu() {
  const row = rowOf(document.activeElement);
  const here = [...document.querySelectorAll(`main :is(${DOABLE})`)].filter(
    (one) => !one.disabled && one.checkVisibility() && [null, row].includes(rowOf(one)),
  );
  const elements = [...here, ...menu.querySelectorAll('nav a')];
  commands = elements.map((element) => ({ name: nameOf(element), run: () => element.click() }));
  input.value = '';
  showCommands();
  menu.showModal();
}

function search(text) {
  const box = document.querySelector('#search');
  box.value = text;
  box.form.requestSubmit();
}

function showCommands() {
  const text = input.value.trim();
  const words = text.toLowerCase().split(/\s+/);
  const found = commands.filter(({ name }) =>
    words.every((word) => name.toLowerCase().includes(word)),
  );
  if (text !== '') found.push({ name: `Search for “${text}”`, run: () => search(text) });
  list.replaceChildren(
    ...found.map(({ name, run }, index) => {
      const option = document.createElement('div');
      Object.assign(option, { id: `command-${index}`, role: 'option', textContent: name });
      option.addEventListener('click', () => {
        menu.close();
        run();
      });
      return option;
    }),
  );
  choose(0);
}

function choose(index) {
  const options = [...list.children];
  const chosen = options.at(index % options.length);
  for (const option of options) option.ariaSelected = String(option === chosen);
  chosen?.scrollIntoView({ block: 'nearest' });
  if (chosen === undefined) input.removeAttribute('aria-activedescendant');
  else input.setAttribute('aria-activedescendant', chosen.id);
}

input?.addEventListener('input', showCommands);
input?.addEventListener('keydown', (event) => {
  const chosen = list.querySelector('[aria-selected="true"]');
  const index = [...list.children].indexOf(chosen);
  if (event.key === 'ArrowDown') choose(index + 1);
  else if (event.key === 'ArrowUp') choose(index - 1);
  else if (event.key === 'Enter') chosen?.click();
  else return;
  event.preventDefault();
});

const helpButton = document.querySelector('#keys');
if (helpButton !== null && matchMedia('(hover: hover)').matches) {
  helpButton.hidden = false;
  helpButton.addEventListener('click', () => help.showModal());
}
