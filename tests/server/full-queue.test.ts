import { expect, test } from 'vitest';
import { lockTeam, whileHeld } from '../support/postgres/locks.ts';
import { useService } from '../support/service/contract-service.ts';
import { eventBody } from '../support/stripe/events.ts';

const MAX_QUEUED = 3;
const service = useService({
  MAX_QUEUED_EVENTS: String(MAX_QUEUED),
  REQUEST_DEADLINE_MS: '60000',
  LOG_LEVEL: 'debug',
});

test('answers 503 at once to events beyond the limit of the queue, and stores the others', async () => {
  const { teamId, customerId } = await service.addTeam();
  const post = () => service.postSigned(eventBody({ customerId }));
  const answers: Promise<Response>[] = [];
  await whileHeld(service.database, lockTeam(teamId), async () => {
    answers.push(post());
    await service.process.logged({ msg: 'waiting to be tried again' });
    const many = Array.from({ length: MAX_QUEUED - 1 + 4 }, post);
    answers.push(...many);
    // These are answered while the lock is held.
    const refused = await Promise.all(
      Array.from({ length: 4 }, async (_, nth) => nthAnswered(many, nth)),
    );
    for (const response of refused) {
      expect(response.status).toBe(503);
      expect(response.headers.get('retry-after')).toBe('5');
    }
    const { id } = await service.addUser();
    const profile = await service.getUser(await service.cookieOf(id));
    expect(await profile.json()).toMatchObject({ id });
  });
  const statuses = (await Promise.all(answers)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(MAX_QUEUED);
  expect(statuses.filter((status) => status === 503)).toHaveLength(4);
  expect(await service.process.logged({ msg: 'request failed' })).toMatchObject({
    err: { code: 'QUEUE_FULL' },
  });
});

/** The answer that arrived as the nth of these. */
function nthAnswered(answers: readonly Promise<Response>[], nth: number): Promise<Response> {
  return new Promise((resolve) => {
    let count = 0;
    for (const answer of answers) {
      void answer.then((response) => {
        if (count === nth) resolve(response);
        count += 1;
      });
    }
  });
}
