// Shows times in the reader's zone. Without this script they are in UTC.
const full = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const partial = {
  clock: new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' }),
  minute: new Intl.DateTimeFormat(undefined, { timeStyle: 'short' }),
  weekday: new Intl.DateTimeFormat(undefined, {
    weekday: 'short',
    hour: 'numeric',
    minute: '2-digit',
  }),
  slot: new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' }),
};
const zone = new Intl.DateTimeFormat(undefined, { timeZoneName: 'short' })
  .formatToParts()
  .find(({ type }) => type === 'timeZoneName').value;

function showTimes() {
  for (const element of document.querySelectorAll('time[datetime], [data-at]')) {
    const format = partial[element.getAttribute('class')] ?? full;
    element.textContent = format.format(new Date(element.dataset.at ?? element.dateTime));
  }
  for (const element of document.querySelectorAll('.zone')) element.textContent = zone;
}

showTimes();
document.addEventListener('htmx:afterSwap', showTimes);
