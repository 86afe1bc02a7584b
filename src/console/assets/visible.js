// A page that nobody sees asks for nothing.
document.addEventListener('htmx:beforeRequest', (event) => {
  if (document.hidden) event.preventDefault();
});
