// Live parts refresh themselves. One that can't be refreshed turns grey and says so.
const notice = document.querySelector('#notice');
const LIVE = '[data-interval-seconds]';

// A refresh replaces the element, so its age is that of its data.
const shownAtMs = new WeakMap();

function markOutdated() {
  for (const part of document.querySelectorAll(LIVE)) {
    if (!shownAtMs.has(part)) shownAtMs.set(part, Date.now());
    const ageMs = Date.now() - shownAtMs.get(part);
    const isOld = ageMs > 2_000 * part.dataset.intervalSeconds + 2_000;
    if (isOld) part.classList.add('outdated');
  }
}

markOutdated();
setInterval(markOutdated, 500);

document.addEventListener('htmx:afterRequest', ({ detail }) => {
  if (detail.successful) notice.replaceChildren();
  else detail.elt.closest(LIVE)?.classList.add('outdated');
});

for (const failure of ['htmx:sendError', 'htmx:timeout']) {
  document.addEventListener(failure, () => {
    const { content } = document.querySelector('#unreachable');
    notice.replaceChildren(content.cloneNode(true));
  });
}

// A hidden page is not refreshed until it is visible again.
document.addEventListener('visibilitychange', () => {
  if (document.hidden) return;
  markOutdated();
  for (const part of document.querySelectorAll(LIVE)) htmx.trigger(part, 'refresh');
});

// Nor is a part in which the reader selects text.
document.addEventListener('htmx:beforeRequest', (event) => {
  const part = event.detail.elt.closest(LIVE);
  const selection = document.getSelection();
  const isSelected = selection.type === 'Range' && selection.containsNode(part ?? notice, true);
  if (part && (document.hidden || isSelected)) event.preventDefault();
});

// Details stay open, scrolled to where they were.
let open = [];

document.addEventListener('htmx:beforeSwap', ({ detail }) => {
  open = [...detail.target.querySelectorAll('details[open][id]')].map(
    ({ id, lastElementChild }) => ({
      id,
      scrollTop: lastElementChild.scrollTop,
    }),
  );
});

document.addEventListener('htmx:afterSwap', () => {
  for (const { id, scrollTop } of open) {
    const details = document.getElementById(id);
    if (details === null) continue;
    details.open = true;
    details.lastElementChild.scrollTop = scrollTop;
  }
});
