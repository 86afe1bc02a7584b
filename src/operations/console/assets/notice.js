// What went wrong with a part of the page is said above it, until something goes well again.
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
