// Shows times in the reader's zone. Without this script they stand there in UTC.
const inZone = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

function localize(root) {
  for (const time of root.querySelectorAll('time[datetime]')) {
    time.textContent = inZone.format(new Date(time.dateTime));
  }
}

localize(document);
document.addEventListener('htmx:load', (event) =>
  localize(event.detail.elt.parentNode ?? document),
);
