// A process that posts signed events without a pause, and immediately resends each one that is not answered
// 200. Started by events.ts; plain JavaScript, because Node 20 runs no TypeScript.
import { connect } from 'node:net';
import { createSignedEvents } from './signed-events.js';

const options = JSON.parse(process.argv[2] ?? '');
const { url, connections } = options;
/** The number of profiles requested between two events, and the user's cookie. */
const { profilesPerEvent = 0, cookie = '' } = options;
/** The flood ends with the first of these limits. */
const { durationMs = Number.POSITIVE_INFINITY, requests = Number.POSITIVE_INFINITY } = options;
const { host, hostname, port } = new URL(url);
/** How often the process reports its progress. */
const PROGRESS = 10_000;
const HEAD_END = '\r\n\r\n';

const accepted = [];
const acceptedMs = [];
const refusedMs = [];
const odd = [];
let profiles = 0;
let sent = 0;
let broken = 0;
let endsAtMs = Number.POSITIVE_INFINITY;
const isEnough = () => Date.now() >= endsAtMs || sent >= requests;

const nextEvent = createSignedEvents(options);
const askForProfile = `GET /api/user HTTP/1.1\r\nHost: ${host}\r\nCookie: ${cookie}${HEAD_END}`;

async function sendOn() {
  while (!isEnough()) {
    await sendOnOneConnection();
    if (!isEnough()) broken += 1;
  }
}

/** Sends one request after the other, until the limit or the end of the connection. */
function sendOnOneConnection() {
  return new Promise((resolve) => {
    const socket = connect({ port: Number(port), host: hostname, noDelay: true });
    let event = nextEvent();
    let received = '';
    let sentAtMs = 0;
    let profilesLeft = profilesPerEvent;
    const send = () => {
      if (isEnough()) return socket.destroy();
      sent += 1;
      if (sent % PROGRESS === 0) process.send?.({ progress: sent });
      sentAtMs = performance.now();
      socket.write(profilesLeft > 0 ? askForProfile : event.request);
    };
    const onData = (piece) => {
      received += piece;
      const end = received.indexOf(HEAD_END);
      const length = Number(/content-length: (\d+)/i.exec(received)?.[1] ?? 0);
      if (end < 0 || received.length < end + HEAD_END.length + length) return;
      const status = received.slice(9, 12);
      const tookMs = performance.now() - sentAtMs;
      if (profilesLeft > 0) {
        profilesLeft -= 1;
        if (status === '200' && !received.endsWith('null')) profiles += 1;
        else odd.push(received);
      } else if (status === '200') {
        profilesLeft = profilesPerEvent;
        acceptedMs.push(tookMs);
        accepted.push(event.eventId);
        event = nextEvent();
      } else if (status === '503' && /^retry-after: \d/im.test(received)) refusedMs.push(tookMs);
      else if (status !== '408') odd.push(received.slice(0, end));
      received = '';
      send();
    };
    socket.setEncoding('latin1').on('connect', send).on('data', onData);
    // A starved server closes connections early; the sender opens another one.
    socket.on('error', () => socket.destroy()).on('close', () => resolve());
  });
}

endsAtMs = Date.now() + durationMs;
await Promise.all(Array.from({ length: connections }, sendOn));
process.send?.({ accepted, acceptedMs, refusedMs, profiles, odd, broken });
