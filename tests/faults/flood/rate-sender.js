// A process that posts signed events at a fixed rate, regardless of the answers. It sends refused
// events again later, in place of new ones. Started by events.ts; plain JavaScript, because Node 20
// runs no TypeScript.
import { connect } from 'node:net';
import { createSignedEvents } from './signed-events.js';

const options = JSON.parse(process.argv[2] ?? '');
const { url, connections, durationMs, ratePerSecond } = options;
const { hostname: host, port } = new URL(url);
const TICK_MS = 1;
const PREPARED = 2_000;
/** Shorter than the keep-alive time of the server. */
const KEPT_MS = 5_000;
/** How long the server can take for the last answers. */
const LAST_ANSWER_MS = 10_000;

const nextEvent = createSignedEvents(options);
/** Requests that were refused or got no answer; at first, requests that are signed in advance. */
const again = Array.from({ length: PREPARED }, nextEvent);
/** Connections without a pending answer; the most recently used one comes first. */
const idle = [];
const accepted = [];
const acceptedMs = [];
const refusedMs = [];
const odd = [];
let sent = 0;
let unsent = 0;
let inFlight = 0;
let open = 0;
let broken = 0;

/** Answers are small, so all connections share one read buffer. */
const buffer = Buffer.allocUnsafe(65_536);

function openConnection() {
  const connection = { socket: null, event: null, sentAtMs: 0, answeredAtMs: 0, received: '' };
  const onData = (length) => {
    connection.received += buffer.latin1Slice(0, length);
    // Each answer is a JSON object, and no header contains a brace.
    if (connection.received.endsWith('}')) settle(connection);
    return true;
  };
  const onread = { buffer, callback: onData };
  connection.socket = connect({ host, port: Number(port), noDelay: true, onread });
  connection.socket
    .on('error', () => connection.socket.destroy())
    .on('close', () => {
      open -= 1;
      if (connection.event === null) idle.splice(idle.indexOf(connection), 1);
      else {
        broken += 1;
        inFlight -= 1;
        again.push(connection.event);
      }
    });
  open += 1;
  return connection;
}

function takeIdle() {
  const last = idle.at(-1);
  return last && performance.now() - last.answeredAtMs < KEPT_MS ? idle.pop() : undefined;
}

/** Sends an event on a connection without a pending answer. Without one, skips the event. */
function send() {
  const connection = takeIdle() ?? (open < connections ? openConnection() : undefined);
  if (connection === undefined) {
    unsent += 1;
    return;
  }
  connection.event = again.pop() ?? nextEvent();
  connection.sentAtMs = performance.now();
  connection.socket.write(connection.event.request);
  inFlight += 1;
  sent += 1;
}

function settle(connection) {
  const { event, received, sentAtMs } = connection;
  connection.answeredAtMs = performance.now();
  const tookMs = connection.answeredAtMs - sentAtMs;
  connection.received = '';
  connection.event = null;
  inFlight -= 1;
  idle.push(connection);
  if (received.startsWith('HTTP/1.1 200 ')) {
    acceptedMs.push(tookMs);
    accepted.push(event.eventId);
    return;
  }
  again.push(event);
  if (received.startsWith('HTTP/1.1 503 ') && received.includes('\r\nRetry-After: ')) {
    refusedMs.push(tookMs);
  } else odd.push(received);
}

const startedAtMs = performance.now();
const timer = setInterval(() => {
  const elapsedMs = performance.now() - startedAtMs;
  const due = (Math.min(elapsedMs, durationMs) * ratePerSecond) / 1_000;
  while (sent + unsent < due) send();
  const isOver = elapsedMs >= durationMs;
  if (isOver && (inFlight === 0 || elapsedMs >= durationMs + LAST_ANSWER_MS)) finish();
}, TICK_MS);

function finish() {
  clearInterval(timer);
  const seen = { accepted, acceptedMs, refusedMs, broken, odd };
  process.send?.({ ...seen, sent, unsent, unanswered: inFlight }, () => process.exit());
}
