// Sends signed events and profile reads by every path at once. Like Stripe, a sender repeats an event until
// it gets a 200.

import { setTimeout as sleep } from 'node:timers/promises';
import { SignJWT } from 'jose';
import {
  createSubscriptionEvent,
  signedRequest,
} from '../../../packages/instep/dist/testing/index.js';
import { instepEnvironment } from './configuration.js';
import { CLIENT, INSTANCES } from './hosts.js';

const { AUTH_SECRET, STRIPE_WEBHOOK_SECRET } = instepEnvironment();

/** The name of the path through all instances. */
export const BEHIND_HAPROXY = 'all, behind HAProxy';

const PATHS = [
  ...INSTANCES.map(({ path, address }) => ({ path, url: `http://${address}:3000` })),
  { path: BEHIND_HAPROXY, url: `http://${CLIENT.address}:8080` },
];
export const PATH_NAMES = PATHS.map(({ path }) => path);

const SENDERS = 2;
const READERS = 2;
const TEAMS = 16;
const PRODUCTS = 3;
/** Longer than REQUEST_DEADLINE_MS. */
const ANSWER_TIMEOUT_MS = 6_000;
/** After each answer. Stripe would wait for hours before it repeats an event. */
const PAUSE_MS = 40;
/** One in this many events is sent twice. */
const REPEATED = 10;
const STATUSES = ['active', 'trialing', 'past_due', 'canceled', 'active', 'unpaid'];
const FIRST_SECOND = 1_700_000_000;

export const TEAM_CUSTOMERS = Array.from({ length: TEAMS }, (_, index) => `cus_cluster_${index}`);

/** Sends requests until `finish` is called. */
export async function startLoad({ userId }) {
  /** All events, in the order of Stripe's clock. */
  const events = [];
  const acknowledged = new Set();
  /** The number in each profile, and when its request began. */
  const reads = [];
  /** When each path responded with 200. */
  const answers = PATHS.map(({ path }) => ({ path, eventsAtMs: [], profilesAtMs: [] }));
  const headers = { cookie: await signIn(userId) };
  let isOver = false;

  function nextEvent() {
    const number = events.length + 1;
    const customerId = TEAM_CUSTOMERS[number % TEAMS];
    const event = createSubscriptionEvent({
      eventId: `evt_cluster_${number}`,
      createdSeconds: FIRST_SECOND + number,
      customerId,
      subscriptionId: `sub_${customerId}`,
      productId: `prod_${number % PRODUCTS}`,
      status: STATUSES[Math.floor(Math.random() * STATUSES.length)],
    });
    events.push(event);
    return event;
  }

  async function send(url, { eventsAtMs }) {
    while (!isOver) {
      const event = nextEvent();
      const copies = events.length % REPEATED === 0 ? 2 : 1;
      for (let copy = 1; copy <= copies; copy += 1) {
        let answer = null;
        while (answer === null) {
          const signed = signedRequest(event, STRIPE_WEBHOOK_SECRET);
          answer = await request(`${url}/api/stripe/webhook`, signed, eventsAtMs);
        }
        acknowledged.add(event.id);
      }
    }
  }

  async function read(url, { profilesAtMs }) {
    while (!isOver) {
      const startedAtMs = performance.now();
      const profile = await request(`${url}/api/user`, { headers }, profilesAtMs);
      if (profile !== null) reads.push({ number: Number(profile.name), startedAtMs });
    }
  }

  const running = PATHS.flatMap(({ url }, index) => [
    ...Array.from({ length: SENDERS }, () => send(url, answers[index])),
    ...Array.from({ length: READERS }, () => read(url, answers[index])),
  ]);
  return {
    events,
    acknowledged,
    answers,
    reads,
    async finish() {
      isOver = true;
      await Promise.all(running);
    },
  };
}

/** The body of a response with 200, whose time is noted; `null` for anything else, as for no profile. */
async function request(url, options, answersAtMs) {
  try {
    const signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS);
    const response = await fetch(url, { ...options, signal });
    const body = await response.json();
    if (response.status !== 200 || body === null) return null;
    answersAtMs.push(performance.now());
    return body;
  } catch {
    return null;
  } finally {
    await sleep(PAUSE_MS);
  }
}

async function signIn(userId) {
  const token = await new SignJWT({ user: { id: userId } })
    .setProtectedHeader({ alg: 'HS256' })
    .setExpirationTime('1 day')
    .sign(new TextEncoder().encode(AUTH_SECRET));
  return `session=${token}`;
}
