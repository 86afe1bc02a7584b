import type { Connection } from 'instep-embedded-postgres/src/presence-lock.ts';
import pg from 'pg';

/** Runs one statement on a connection of its own, and returns its rows. */
export async function ask<Row extends pg.QueryResultRow>(
  connection: Connection,
  statement: string,
): Promise<Row[]> {
  const client = new pg.Client(connection);
  // A test can kill the server; the statement fails as well.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Row>(statement)).rows;
  } finally {
    await client.end();
  }
}

/** Creates a table with one acknowledged row. */
export async function writeNote(connection: Connection, text: string): Promise<void> {
  await ask(connection, 'create table if not exists note (text text)');
  await ask(connection, `insert into note values ('${text}')`);
}

/** All the rows of the table, sorted. */
export async function readNotes(connection: Connection): Promise<string[]> {
  const rows = await ask<{ text: string }>(connection, 'select text from note order by text');
  return rows.map(({ text }) => text);
}
