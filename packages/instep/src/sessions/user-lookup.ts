import type { ApplicationId } from '../core/application-id.ts';
import type { User } from '../core/user.ts';
import type { Query } from '../postgres/database.ts';
import { readActiveUsers } from '../postgres/statements/users.ts';
import { Batcher } from '../runtime/batcher.ts';

const MAX_BATCH = 1_000;

/**
 * Finds active users by id. Lookups that arrive during a query share the next one.
 *
 * @throws DatabaseUnavailable, or QueueFull when more than `maxQueued` wait
 */
export function createUserLookup(
  query: Query,
  maxQueued: number,
): (userId: ApplicationId) => Promise<User | null> {
  const batcher = new Batcher<ApplicationId, User | null>({
    name: 'find users',
    run: async (userIds) => {
      const users = await readActiveUsers(query, [...new Set(userIds)]);
      // A token can hold a number for an id that the app stores as text: `instep session issue --user 42`.
      return userIds.map((id) => users.get(id) ?? users.get(String(id)) ?? null);
    },
    maxBatch: MAX_BATCH,
    maxQueued,
  });
  return (userId) => batcher.add(userId);
}
