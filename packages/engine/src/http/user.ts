import type { ApplicationId, User } from '../postgres/application.ts';
import type { Query } from '../postgres/database.ts';
import { readActiveUsers } from '../postgres/statements/users.ts';
import { Batcher } from '../runtime/batcher.ts';
import { withDeadline } from '../runtime/deadline.ts';
import { type HttpRequest, type HttpResponse, headersWith, jsonResponse } from './http-message.ts';
import { type SessionReader, sessionToken } from './session-token.ts';

type UserOptions = {
  sessions: Pick<SessionReader, 'read'>;
  query: Query;
  includePasswordHash: boolean;
  requestDeadlineMs: number;
};

/** Caches and other sites must not show a profile to anybody else. */
const PRIVATE_HEADERS = headersWith({
  Vary: 'Cookie',
  'Cross-Origin-Resource-Policy': 'same-origin',
});

const MAX_BATCH = 1_000;

/** One for each connection that the listener accepts. */
const MAX_QUEUED = 10_000;

/** `GET /api/user` (docs/contract.md): the profile of the signed-in user, or `null`. */
export class UserEndpoint {
  #options: UserOptions;
  /** Finds active users. Lookups that arrive during a query share the next one. */
  #users: Batcher<ApplicationId, User | null>;

  constructor(options: UserOptions) {
    this.#options = options;
    const { query } = options;
    this.#users = new Batcher({
      name: 'find users',
      run: (userIds) => findUsers(query, userIds),
      maxBatch: MAX_BATCH,
      maxQueued: MAX_QUEUED,
    });
  }

  async handle(request: HttpRequest): Promise<HttpResponse> {
    const user = await this.#findSignedIn(request.header('cookie'));
    const profile: Profile | null =
      this.#options.includePasswordHash || user === null
        ? user
        : { ...user, passwordHash: undefined };
    return jsonResponse(profile, { headers: PRIVATE_HEADERS });
  }

  async #findSignedIn(cookies: string | null): Promise<User | null> {
    const { sessions, requestDeadlineMs } = this.#options;
    const token = sessionToken(cookies);
    const session = token === null ? null : await sessions.read(token);
    if (session === null) return null;
    return await withDeadline(this.#users.add(session.userId), requestDeadlineMs);
  }
}

/** The active users with these ids, in their order; `null` for every other id. */
export async function findUsers(
  query: Query,
  userIds: readonly ApplicationId[],
): Promise<(User | null)[]> {
  const users = await readActiveUsers(query, [...new Set(userIds)]);
  // A token can hold a number for an id that the app stores as text: `instep session issue --user 42`.
  return userIds.map((id) => users.get(id) ?? users.get(String(id)) ?? null);
}

/**
 * The response of `GET /api/user` for a signed-in user, as JSON. `deletedAt` is always `null`, because a
 * deleted user has no profile.
 */
export type Profile = Omit<User, 'passwordHash'> & {
  /** Missing with `PROFILE_PASSWORD_HASH=omit`. */
  readonly passwordHash?: string | undefined;
};
