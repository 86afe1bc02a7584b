import type { Command } from 'commander';
import { examineSilently } from '../adapters/handler.ts';
import {
  ConfigInvalid,
  readApiConfig,
  readLinkByMetadata,
  readOperationsConfig,
  readPlanSelection,
} from '../config/config.ts';
import { createExposition } from '../metrics/series.ts';
import { OPERATIONS_DEADLINE_MS, openOperations } from '../operators-listener/open-operations.ts';
import { checkSchema } from '../postgres/migrate.ts';
import { createLogger, prettyLines } from '../runtime/logging.ts';
import { createCommand } from './arguments.ts';
import { nextSignal } from './output.ts';
import { withDatabaseOf, withServer } from './with-database.ts';

/** More than an operator replays at once. */
const MAX_QUEUED = 10_000;

export function consoleCommand(): Command {
  return createCommand(
    'console',
    'run only the console, for an app with Instep inside',
    'OPS_PORT=3001 instep console',
  ).action(runConsole);
}

async function runConsole(): Promise<void> {
  const ending = nextSignal();
  const operations = readOperationsConfig(process.env);
  if (operations === null) {
    const problem = 'is off, so the console has no address';
    throw new ConfigInvalid([{ variable: 'OPS_PORT', problem, remedy: 'set a port' }]);
  }
  const config = {
    operations,
    stripeApi: readApiConfig(process.env),
    planSelection: readPlanSelection(process.env),
    linkByMetadata: readLinkByMetadata(process.env),
    maxQueuedEvents: MAX_QUEUED,
  };
  const destination = process.stdout.isTTY
    ? prettyLines((text) => process.stdout.write(text))
    : undefined;
  const logger = createLogger('info', destination);
  await withServer(async (found) => {
    // Without the schema, every page would be an error.
    await withDatabaseOf(found, ({ query }) => checkSchema(query));
    const listener = await openOperations({
      ...{ config, logger },
      now: Date.now,
      examine: () => examineSilently(process.env, logger),
    });
    try {
      await listener?.show(
        found.server,
        createExposition(async () => []),
      );
      await ending;
    } finally {
      await listener?.close(OPERATIONS_DEADLINE_MS);
    }
  });
}
