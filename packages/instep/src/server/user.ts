import type { ApplicationId } from '../core/application-id.ts';
import type { User } from '../core/user.ts';
import { withDeadline } from '../runtime/deadline.ts';
import { type ReadSession, sessionToken } from '../sessions/token.ts';
import { type Endpoint, headersWith, jsonResponse } from './http-message.ts';

type UserOptions = {
  readSession: ReadSession;
  /** The active user of this id, or `null`. */
  findUser: (userId: ApplicationId) => Promise<User | null>;
  includePasswordHash: boolean;
  requestDeadlineMs: number;
};

/** Caches and other sites must not show a profile to anybody else. */
const PRIVATE = headersWith({
  Vary: 'Cookie',
  'Cross-Origin-Resource-Policy': 'same-origin',
});

/** `GET /api/user` (docs/contract.md): the profile of the signed-in user, or `null`. */
export function userHandler(options: UserOptions): Endpoint {
  const { readSession, findUser, includePasswordHash, requestDeadlineMs } = options;

  async function findSignedIn(cookies: string | null): Promise<User | null> {
    const token = sessionToken(cookies);
    const userId = token === null ? null : await readSession(token);
    return userId === null ? null : await withDeadline(findUser(userId), requestDeadlineMs);
  }

  return async (request) => {
    const user = await findSignedIn(request.header('cookie'));
    const profile: Profile | null =
      includePasswordHash || user === null ? user : { ...user, passwordHash: undefined };
    return jsonResponse(profile, { headers: PRIVATE });
  };
}

/**
 * The response of `GET /api/user` for a signed-in user, as JSON. `deletedAt` is always `null`, because a
 * deleted user has no profile.
 */
export type Profile = Omit<User, 'passwordHash'> & {
  /** Missing with `PROFILE_PASSWORD_HASH=omit`. */
  readonly passwordHash?: string | undefined;
};
