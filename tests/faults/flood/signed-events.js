// The signed requests of a flood. Plain JavaScript, because Node 20 runs no TypeScript in the
// processes that send them.
import { createHmac } from 'node:crypto';

const STATUSES = ['active', 'trialing', 'canceled', 'unpaid'];

/** Makes new events from a sample, with ids of their own. */
export function createSignedEvents({ url, secret, name, teams, firstSecond, sample }) {
  const { host } = new URL(url);
  let count = 0;
  return () => {
    count += 1;
    const customerId = `cus_${name}_${count % teams}`;
    const eventId = `evt_${name}_${count}`;
    const status = STATUSES[count % STATUSES.length];
    const subscription = {
      ...sample.data.object,
      id: `sub_${customerId}`,
      customer: customerId,
      status,
    };
    const body = JSON.stringify({
      ...sample,
      id: eventId,
      created: firstSecond + count,
      data: { object: subscription },
    });
    const timestamp = Math.floor(Date.now() / 1_000);
    const signature = createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex');
    const head = [
      'POST /api/stripe/webhook HTTP/1.1',
      `Host: ${host}`,
      `Stripe-Signature: t=${timestamp},v1=${signature}`,
      'Content-Type: application/json',
      // The body is ASCII.
      `Content-Length: ${body.length}`,
    ];
    const request = Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`, 'latin1');
    return { eventId, request };
  };
}
