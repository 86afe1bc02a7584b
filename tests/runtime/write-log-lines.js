// Writes the number of log lines in its argument, reports that, and exits on request. Node 20 runs no
// TypeScript, so it uses the built package.
import { createLogger } from '../../packages/instep/dist/index.js';

const logger = createLogger('info');
for (let number = 0; number < Number(process.argv[2]); number += 1) {
  logger.info({ number }, 'a line of a flood');
  // A server does other work between lines.
  if (number % 100 === 0) await new Promise(setImmediate);
}
process.once('message', () => process.exit(0));
process.send('written');
