// Forms: what is sent by the Enter key, by a button for several rows, and once.

// In a row with a field, the Enter key presses the row's button.
document.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || event.isComposing) return;
  if (!event.target.matches('td input[type="text"]')) return;
  event.preventDefault();
  event.target.closest('tr').querySelector('[name="one"]').click();
});

// A button for several rows needs a selected one that it applies to.
function updateToolbar() {
  for (const button of document.querySelectorAll('.toolbar [name="action"]')) {
    const row = `td > :checked[data-actions~="${button.value}"]`;
    button.disabled = document.querySelector(row) === null;
  }
}
document.addEventListener('change', updateToolbar);
addEventListener('pageshow', updateToolbar);

// A form that changes something is sent once, and shows that it is on its way.
document.addEventListener('submit', (event) => {
  const { target: form, submitter } = event;
  if (form.method !== 'post') return;
  if (form.classList.contains('sending')) event.preventDefault();
  form.classList.add('sending');
  submitter?.setAttribute('aria-busy', 'true');
});

// Back in the history, the form can be sent again.
addEventListener('pageshow', () => {
  for (const form of document.querySelectorAll('.sending')) form.classList.remove('sending');
  for (const button of document.querySelectorAll('[aria-busy]'))
    button.removeAttribute('aria-busy');
});
