import { readApiConfig, readLinkByMetadata, readPlanSelection } from '../config/config.ts';
import { createContext, type OperateContext, type Operator } from '../operate/context.ts';
import { createLogger } from '../runtime/logging.ts';
import { withDatabase } from './with-database.ts';

const MAX_CONNECTIONS = 4;
const MAX_QUEUED = 100_000;

/** Runs a function of `instep/operate` on the migrated database, for the account of the operating system. */
export async function withOperator<Result>(
  work: (context: OperateContext, operator: Operator) => Promise<Result>,
): Promise<Result> {
  return await withDatabase(async (database) => {
    const context = createContext({
      database,
      stripeApi: readApiConfig(process.env),
      planSelection: readPlanSelection(process.env),
      linkByMetadata: readLinkByMetadata(process.env),
      maxQueued: MAX_QUEUED,
      logger: createLogger('warn', { write: (line) => void process.stderr.write(line) }),
      now: Date.now,
      close: async () => undefined,
    });
    return await work(context, { name: `uid:${process.getuid?.() ?? 'unknown'}`, how: 'command' });
  }, MAX_CONNECTIONS);
}
