// Shows times in the reader's zone. Without this script they are in UTC.
const inZone = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const clockInZone = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });

function showTimesInZone() {
  for (const time of document.querySelectorAll('time[datetime]')) {
    const format = time.className === 'clock' ? clockInZone : inZone;
    time.textContent = format.format(new Date(time.dateTime));
  }
}

showTimesInZone();
document.addEventListener('htmx:afterSwap', showTimesInZone);
