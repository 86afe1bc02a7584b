// A failed refresh is reported above the page until a later one succeeds.
const notice = document.querySelector('#notice');

document.addEventListener('htmx:afterRequest', (event) => {
  if (event.detail.successful) notice.replaceChildren();
});

for (const failure of ['htmx:sendError', 'htmx:timeout']) {
  document.addEventListener(failure, () => {
    const { content } = document.querySelector('#unreachable');
    notice.replaceChildren(content.cloneNode(true));
  });
}

// A hidden page is not refreshed, nor is a part in which the reader has opened details.
document.addEventListener('htmx:beforeRequest', (event) => {
  const { elt, requestConfig } = event.detail;
  const isRead = requestConfig.verb === 'get' && elt.querySelector('details[open]') !== null;
  if (document.hidden || isRead) event.preventDefault();
});
