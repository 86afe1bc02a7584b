// Shows times in the reader's zone. Without this script they stand there in UTC.
const inZone = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

function showTimesInZone() {
  for (const time of document.querySelectorAll('time[datetime]')) {
    time.textContent = inZone.format(new Date(time.dateTime));
  }
}

showTimesInZone();
document.addEventListener('htmx:afterSwap', showTimesInZone);
