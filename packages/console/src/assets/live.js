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

// A hidden page is not refreshed until it is visible again.
document.addEventListener('visibilitychange', () => {
  if (document.hidden) return;
  markOutdated();
  for (const part of document.querySelectorAll(LIVE)) htmx.trigger(part, 'refresh');
});

document.addEventListener('htmx:beforeRequest', (event) => {
  if (document.hidden && event.detail.elt.closest(LIVE) !== null) event.preventDefault();
});
