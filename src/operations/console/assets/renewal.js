// A page that nobody sees is not renewed, and no part of it in which somebody has opened something.
document.addEventListener('htmx:beforeRequest', (event) => {
  const { elt, requestConfig } = event.detail;
  const isRead = requestConfig.verb === 'get' && elt.querySelector('details[open]') !== null;
  if (document.hidden || isRead) event.preventDefault();
});
