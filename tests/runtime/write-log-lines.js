// Writes as many log lines as its argument says, reports that, and exits when it is told to.
// Node 20 runs no TypeScript, so it uses the compiled module.
import { createLogger } from '../../dist/runtime/logging.js';

const logger = createLogger('info');
for (let number = 0; number < Number(process.argv[2]); number += 1) {
  logger.info({ number }, 'a line of a flood');
  // A server writes between other work.
  if (number % 100 === 0) await new Promise(setImmediate);
}
process.once('message', () => process.exit(0));
process.send('written');
