// Shows times in the reader's zone or in UTC, as the reader chooses. Without this script they are in UTC.
const ownZone = new Intl.DateTimeFormat().resolvedOptions().timeZone;
const zoneButton = document.querySelector('#zone');
const TIME_FIELDS = 'input[type="datetime-local"]';

let isUtc = localStorage.getItem('zone') === 'UTC';

const FORMATS = {
  full: { dateStyle: 'medium', timeStyle: 'medium' },
  clock: { timeStyle: 'medium' },
  minute: { timeStyle: 'short' },
  weekday: { weekday: 'short', hour: 'numeric', minute: '2-digit' },
  slot: { dateStyle: 'medium', timeStyle: 'short' },
  age: { dateStyle: 'medium', timeStyle: 'short' },
};

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
  const timeZone = isUtc ? 'UTC' : ownZone;
  for (const element of document.querySelectorAll('time[datetime], [data-at]')) {
    const at = new Date(element.dataset.at ?? element.dateTime);
    const name = element.getAttribute('class');
    const text = (name === 'age' && ageOf(at)) || formatIn(timeZone, name).format(at);
    element.textContent = text.replace(SPACES_AT_END, '\u00a0');
    if (name === 'age') element.title = formatIn(timeZone, 'full').format(at);
  }
  for (const zone of document.querySelectorAll('.zone')) zone.textContent = timeZone;
}

const formats = new Map();

/** Creating a format takes longer than using it. */
function formatIn(timeZone, name) {
  const key = `${timeZone} ${name}`;
  if (!formats.has(key)) {
    const options = { ...(FORMATS[name] ?? FORMATS.full), timeZone };
    formats.set(key, new Intl.DateTimeFormat(undefined, options));
  }
  return formats.get(key);
}

/** The text of a field for times, as it is in the chosen zone. */
function fieldText(date) {
  const offsetMs = isUtc ? 0 : date.getTimezoneOffset() * 60_000;
  return new Date(date.getTime() - offsetMs).toISOString().slice(0, 16);
}

function parseField(text) {
  return new Date(isUtc ? `${text}Z` : text);
}

// Entered times keep their meaning when the zone changes.
function useZone(toUtc) {
  const fields = [...document.querySelectorAll(TIME_FIELDS)].filter(({ value }) => value !== '');
  const dates = fields.map(({ value }) => parseField(value));
  isUtc = toUtc;
  for (const [index, field] of fields.entries()) field.value = fieldText(dates[index]);
  if (zoneButton) zoneButton.textContent = isUtc ? `Use ${ownZone}` : 'Use UTC';
  showTimes();
}

// Fields come from the server in UTC, and are sent in UTC.
for (const field of document.querySelectorAll(TIME_FIELDS)) field.value = field.defaultValue;
const chosen = isUtc;
isUtc = true;
useZone(chosen);

document.addEventListener('formdata', ({ target, formData }) => {
  for (const { name, value } of target.querySelectorAll(TIME_FIELDS)) {
    if (value !== '') formData.set(name, parseField(value).toISOString().slice(0, 16));
  }
});

if (zoneButton && ownZone !== 'UTC') {
  zoneButton.hidden = false;
  zoneButton.addEventListener('click', () => {
    useZone(!isUtc);
    localStorage.setItem('zone', isUtc ? 'UTC' : 'own');
  });
}

document.addEventListener('htmx:afterSwap', showTimes);
setInterval(showTimes, 30_000);
