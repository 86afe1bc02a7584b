// A separate process that opens the embedded PostgreSQL and runs the test's commands. Its arguments are the
// compiled module and the data folder; Node 20 runs no TypeScript.
import { pathToFileURL } from 'node:url';

const [, , modulePath, dataFolder] = process.argv;
const notices = [];
let postgres;

const commands = {
  async open() {
    const { openEmbeddedPostgres } = await import(pathToFileURL(modulePath).href);
    const onNotice = (message) => notices.push(message);
    postgres = await openEmbeddedPostgres({ dataFolder, onNotice });
    return { connection: postgres.connection, notices };
  },
  ensureRunning: () => postgres.ensureRunning(),
  release: () => postgres.release(),
};

// Ignores Ctrl-C, like a server that shuts down slowly.
process.on('SIGINT', () => undefined);

process.on('message', async ({ number, command }) => {
  try {
    process.send({ number, result: await commands[command]() });
  } catch (error) {
    process.send({ number, error: { code: error.code, message: error.message } });
  }
});
