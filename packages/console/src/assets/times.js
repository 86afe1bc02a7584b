// Shows times in the reader's zone. Without this script they are in UTC.
const ownZone = new Intl.DateTimeFormat().resolvedOptions().timeZone;

/** A format for each way to show a time. */
const formats = Object.fromEntries(
  Object.entries({
    full: { dateStyle: 'medium', timeStyle: 'medium' },
    clock: { timeStyle: 'medium' },
    minute: { timeStyle: 'short' },
    age: { dateStyle: 'medium', timeStyle: 'short' },
  }).map(([name, options]) => [name, new Intl.DateTimeFormat(undefined, options)]),
);

/** The reader's clock can differ from the server's. */
const skewMs = Date.now() - document.querySelector('[data-now-ms]').dataset.nowMs;

/** How long ago a time was; `null` when that was more than a day. */
function ageOf(at) {
  const seconds = Math.max(0, Math.round((Date.now() - skewMs - at) / 1_000));
  if (seconds >= 86_400) return null;
  if (seconds < 120) return `${seconds} s ago`;
  return seconds < 7_200
    ? `${Math.round(seconds / 60)} min ago`
    : `${Math.round(seconds / 3_600)} h ago`;
}

/** Those before and within "AM" or "p. m.": a line must not break there. */
const SPACES_AT_END = /\s(?=\D*$)/g;

function showTimes() {
  for (const element of document.querySelectorAll('time[datetime], [data-at]')) {
    const at = new Date(element.dataset.at ?? element.dateTime);
    const name = element.getAttribute('class');
    const text = (name === 'age' && ageOf(at)) || (formats[name] ?? formats.full).format(at);
    element.textContent = text.replace(SPACES_AT_END, '\u00a0');
  }
  for (const zone of document.querySelectorAll('.zone')) zone.textContent = ownZone;
}

showTimes();
document.addEventListener('htmx:afterSwap', showTimes);
setInterval(showTimes, 30_000);

// Fields for times come from the server in UTC, and are sent in UTC.
const TIME_FIELDS = 'input[type="datetime-local"]';
const minuteOf = (ms) => new Date(ms).toISOString().slice(0, 16);

for (const field of document.querySelectorAll(TIME_FIELDS)) {
  if (field.defaultValue === '') continue;
  const at = new Date(`${field.defaultValue}Z`);
  field.value = minuteOf(at.getTime() - at.getTimezoneOffset() * 60_000);
}

document.addEventListener('formdata', ({ target, formData }) => {
  for (const { name, value } of target.querySelectorAll(TIME_FIELDS)) {
    if (value !== '') formData.set(name, minuteOf(new Date(value)));
  }
});
