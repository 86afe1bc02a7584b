// `/` moves the focus to the search box.
document.addEventListener('keydown', (event) => {
  const isTyping = event.target.closest('input, select, textarea') !== null;
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || isTyping) return;
  const field = document.querySelector('#search');
  if (field === null) return;
  event.preventDefault();
  field.focus();
});

// Buttons that copy need a secure context, and this script.
for (const button of document.querySelectorAll('[data-copy]')) {
  button.hidden = navigator.clipboard === undefined;
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = 'Copied';
  });
}
