// Increases a number in the user's profile on the primary. The number shows how old a profile is that Instep
// returns.
import { setTimeout as sleep } from 'node:timers/promises';
import { query } from './database.js';

const PAUSE_MS = 200;

export async function addUser() {
  const [{ id }] = await query(
    "insert into users (name, email, password_hash) values ('0', 'ada@example.com', '!') returning id",
  );
  return id;
}

/** Counts until `finish` is called. */
export function startCounter(userId) {
  /** When each number was committed. */
  const commits = [];
  let isOver = false;

  async function count() {
    for (let number = 1; !isOver; number += 1) {
      try {
        await query('update users set name = $1 where id = $2', [`${number}`, userId]);
        commits.push({ number, atMs: performance.now() });
      } catch {
        // No node is the primary now. It is unknown whether this number was stored, so it is ignored.
      }
      await sleep(PAUSE_MS);
    }
  }

  const running = count();
  return {
    commits,
    async finish() {
      isOver = true;
      await running;
    },
  };
}

/** For how long, at most, a newer number had been committed when one of these reads began. */
export function stalestMs(reads, commits) {
  const ages = reads.map(({ number, startedAtMs }) => {
    const newer = commits.find((commit) => commit.number > number);
    return newer === undefined ? 0 : startedAtMs - newer.atMs;
  });
  return ages.reduce((oldest, age) => Math.max(oldest, age), 0);
}
