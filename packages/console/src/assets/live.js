// Live parts refresh themselves. One whose data is too old turns gray and says so.
const notice = document.querySelector('#notice');
const LIVE = '[data-max-age-seconds]';

// A refresh replaces the element, so its age is that of its data.
const shownAtMs = new WeakMap();

function markOutdated() {
  for (const part of document.querySelectorAll(LIVE)) {
    if (!shownAtMs.has(part)) shownAtMs.set(part, Date.now());
    const ageMs = Date.now() - shownAtMs.get(part);
    if (ageMs > 1_000 * part.dataset.maxAgeSeconds) part.classList.add('outdated');
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

function refreshAll() {
  for (const part of document.querySelectorAll(LIVE)) htmx.trigger(part, 'refresh');
}

// A hidden page is not refreshed until it is visible again.
document.addEventListener('visibilitychange', () => {
  if (document.hidden) return;
  markOutdated();
  refreshAll();
});

// Nor is a part in which the reader has selected text.
function isHeld(part) {
  const selection = document.getSelection();
  return selection.type === 'Range' && selection.containsNode(part, true);
}

document.addEventListener('selectionchange', () => {
  for (const part of document.querySelectorAll(LIVE)) {
    if (isHeld(part)) part.classList.add('held');
    else if (part.classList.contains('held')) {
      part.classList.remove('held');
      htmx.trigger(part, 'refresh');
    }
  }
});

document.addEventListener('htmx:beforeRequest', (event) => {
  const part = event.detail.elt.closest(LIVE);
  if (part !== null && (document.hidden || isHeld(part))) event.preventDefault();
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
