// A separate process that opens the embedded PostgreSQL, and releases it at the first message. Its arguments are the
// compiled module and the data folder; Node 20 runs no TypeScript.
import { pathToFileURL } from 'node:url';

const [, , modulePath, dataFolder] = process.argv;
const notices = [];

// Ignores Ctrl-C, like a server that shuts down slowly.
process.on('SIGINT', () => undefined);

try {
  const { openEmbeddedPostgres } = await import(pathToFileURL(modulePath).href);
  const onNotice = (message) => notices.push(message);
  const postgres = await openEmbeddedPostgres({ dataFolder, onNotice });
  process.once('message', async () => {
    await postgres.release();
    process.disconnect();
  });
  process.send({ connection: postgres.connection, notices });
} catch ({ code, message }) {
  process.send({ error: { code, message } });
}
