import type { ApplicationId } from '../core/application-id.ts';
import type { User } from '../queries/users.ts';
import { withDeadline } from '../runtime/deadline.ts';
import { sessionToken } from '../sessions/cookie.ts';
import type { ReadSession } from '../sessions/session-reader.ts';
import { type Endpoint, headersWith, jsonResponse } from './http-message.ts';

type UserOptions = {
  readonly readSession: ReadSession;
  /** The active user of this id, or `null`. */
  readonly findUser: (userId: ApplicationId) => Promise<User | null>;
  readonly includePasswordHash: boolean;
  readonly requestDeadlineMs: number;
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
    return jsonResponse(user && toProfile(user, includePasswordHash), { headers: PRIVATE });
  };
}

/** The response of `GET /api/user` for a signed-in user, as JSON. */
export type Profile = {
  /** A number, unless your table has ids of another type. */
  readonly id: number | string;
  readonly name: string | null;
  readonly email: string;
  /** Missing with `PROFILE_PASSWORD_HASH=omit`. */
  readonly passwordHash?: string | undefined;
  readonly role: string;
  /** Times are in ISO 8601. */
  readonly createdAt: string;
  readonly updatedAt: string;
  /** Always `null`: a deleted user has no profile. */
  readonly deletedAt: string | null;
};

/** The contract's fields, in its order. */
function toProfile(user: User, includePasswordHash: boolean): Profile {
  return {
    id: user.id,
    name: user.name,
    email: user.email,
    passwordHash: includePasswordHash ? user.passwordHash : undefined,
    role: user.role,
    createdAt: user.createdAt,
    updatedAt: user.updatedAt,
    deletedAt: user.deletedAt,
  };
}
