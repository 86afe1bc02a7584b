import { createSubscriptionEvent } from 'instep/testing';
import { expect, test } from 'vitest';
import { createEventRetrieval, parseEvent } from '../support/internals/stripe.ts';
import { serve } from '../support/network/local-server.ts';
import { API_KEY } from '../support/secrets/test-secrets.ts';

const EVENT = createSubscriptionEvent({ customerId: 'cus_1' });
const receipt = { receivedAtMs: 0, nonce: () => '' };

function notificationIn(context: unknown) {
  const body = { id: 'evt_2', type: 'v1.customer.subscription.updated', context };
  const event = parseEvent(JSON.stringify(body), receipt);
  if (event.kind !== 'notification') throw new RangeError(event.kind);
  return event;
}

async function retrieveFrom(answer: object) {
  const contexts: unknown[] = [];
  const url = await serve((request, response) => {
    contexts.push(request.headers['stripe-context']);
    response.end(JSON.stringify(answer));
  });
  const retrieveEvent = createEventRetrieval({ secretKey: API_KEY, baseUrl: new URL(url) });
  const retrieve = (context: unknown) => retrieveEvent(notificationIn(context), receipt);
  return { retrieve, contexts };
}

test('an event of another account is retrieved in the context of that account', async () => {
  const { retrieve, contexts } = await retrieveFrom({ ...EVENT, snapshot_event: 'evt_1' });
  await retrieve('acct_1/acct_2');
  expect(contexts).toEqual(['acct_1/acct_2', 'acct_1/acct_2']);
});

test.each([null, undefined, 'a\r\nb: c', 7, ''])(
  'the context %j names no account',
  async (context) => {
    const { retrieve, contexts } = await retrieveFrom({ ...EVENT, snapshot_event: 'evt_1' });
    await retrieve(context);
    expect(contexts).toEqual([undefined, undefined]);
  },
);

test.each([
  ['neither the id of an event nor of a subscription', {}],
  ["a subscription that can't be read", { related_object: { id: 'sub_1' } }],
  ['an event of another type', { type: 'invoice.paid', snapshot_event: 'evt_1' }],
])('a response with %s is a failure', async (_, answer) => {
  const { retrieve } = await retrieveFrom(answer);
  await expect(retrieve(null)).rejects.toMatchObject({ code: 'STRIPE_API_FAILED' });
});
