import { randomBytes } from 'node:crypto';
import type { Config } from '../../config/config.ts';
import type { ApplicationId } from '../../core/application-id.ts';
import type { Query } from '../../postgres/database.ts';
import { addTeam } from '../../postgres/statements/teams.ts';
import { addUser } from '../../postgres/statements/users.ts';
import { issueSession, SESSION_COOKIE } from '../../sessions/token.ts';

/** The signed-in user and her team. */
export type SignedInTeam = {
  /** Makes the ids of one demo unique in its database. */
  readonly suffix: string;
  readonly teamId: ApplicationId;
  readonly customerId: string;
  readonly cookie: string;
};

const DAY_MS = 24 * 60 * 60 * 1_000;

export async function addSignedInTeam(
  query: Query,
  { authSecrets }: Config,
): Promise<SignedInTeam> {
  const suffix = randomBytes(3).toString('hex');
  const customerId = `cus_${suffix}`;
  const { id: userId } = await addUser(query, {
    name: 'Ada',
    email: `ada.${suffix}@example.com`,
    passwordHash: '!',
    role: 'owner',
  });
  const teamId = await addTeam(query, { name: `Ada's team ${suffix}`, customerId });
  const lifetime = { nowMs: Date.now(), lifetimeMs: DAY_MS };
  const token = await issueSession(userId, authSecrets[0], lifetime);
  return { suffix, teamId, customerId, cookie: `${SESSION_COOKIE}=${token}` };
}
