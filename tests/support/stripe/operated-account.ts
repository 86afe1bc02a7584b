import {
  type ActionRequest,
  type ApplicationId,
  findActions,
  type Operator,
  openContext,
  perform,
  readTeam,
  type Subject,
} from 'instep/operate';
import { collect } from '../collect.ts';
import { atEndOfFile } from '../end-of-file.ts';
import { addTeam } from '../internals/rows.ts';
import { eventBody, received } from './events.ts';
import { openAccount } from './reconciled-account.ts';

export const teamOf = (id: ApplicationId) => ({ kind: 'team', id: String(id) }) as const;
export const customerOf = (id: string) => ({ kind: 'customer', id }) as const;
export const secondsAgo = (seconds: number) => Math.floor(Date.now() / 1_000) - seconds;

/** An account at Stripe, and what operators see and do about its teams, for the tests of a file. */
export async function openOperatedAccount() {
  const account = await openAccount();
  const { ingest, empty } = account;
  const { query } = account.database;
  const context = await openContext({ environment: account.environment });
  atEndOfFile(context.close);
  const operator: Operator = { name: 'user:7', how: 'application' };

  /** The result of one action. */
  async function act(request: ActionRequest, reason = '') {
    const { results } = await perform(context, { ...operator, reason }, [request]);
    return results[0];
  }

  return {
    account,
    context,
    query,
    operator,
    act,
    empty,
    newTeam: (name: string, customerId: string | null = null) =>
      addTeam(query, { name, customerId }),
    planOf: async (id: ApplicationId) => (await readTeam(context, id))?.plan,
    /** What operators did, the newest first. */
    recorded: async () => await collect(findActions(context).all()),
    /** Delivers an event, which waits for a team unless one has its customer. */
    async deliver(fields: Parameters<typeof eventBody>[0], receivedAtMs = Date.now()) {
      await ingest([received(eventBody(fields), receivedAtMs)]);
    },
    link: (subject: Subject, linkTo: string, expected: string | null = null, reason = '') =>
      act({ action: 'link', subject, linkTo, expectedCustomerId: expected }, reason),
    unlink: (id: ApplicationId, expected: string | null) =>
      act({ action: 'unlink', subject: teamOf(id), expectedCustomerId: expected }),
    dismiss: (subject: Subject, reason = '') => act({ action: 'dismiss', subject }, reason),
  };
}
