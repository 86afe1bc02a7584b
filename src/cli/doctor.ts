import { Command, InvalidArgumentError } from 'commander';
import type { Check } from '../operations/doctor/check.ts';
import { examine } from '../operations/doctor/examine.ts';
import { InstepError } from '../runtime/errors.ts';
import { paint, tell } from './output.ts';

type Options = { url?: URL; json?: boolean };

/** Something is not as it must be. */
class DoctorFailed extends InstepError {
  readonly code = 'DOCTOR_FAILED';
}

export function doctorCommand(): Command {
  return new Command('doctor')
    .description('look whether all is well: configuration, Stripe, database, log')
    .option('--url <url>', 'where Stripe is to send events: is it registered there?', webUrl)
    .option('--json', 'print a JSON line for each thing that was looked at')
    .addHelpText('after', '\nExample:\n  instep doctor --url https://your.app/api/stripe/webhook')
    .action(doctor);
}

async function doctor({ url, json = false }: Options): Promise<void> {
  const counts = { ok: 0, warning: 0, failure: 0 };
  for await (const check of examine({
    environment: process.env,
    url: url ?? null,
    notice: tell,
    now,
  })) {
    counts[check.state] += 1;
    process.stdout.write(`${json ? JSON.stringify(check) : lineOf(check)}\n`);
  }
  const summary = `${counts.ok} ok, ${counts.warning} warning(s), ${counts.failure} failure(s)`;
  if (counts.failure > 0) throw new DoctorFailed(summary);
  tell(summary);
}

/** `Date.now()`, and the fractions of a millisecond that a database in the neighbourhood takes. */
const now = () => performance.timeOrigin + performance.now();

const COLORS = { ok: 'green', warning: 'yellow', failure: 'red' } as const;
const STATE_WIDTH = 'warning'.length;

/** The longest of the names that checks have. */
const NAME_WIDTH = 'unreadable events'.length;

/** `ok       clock              as Stripe's`, and below it what to do, if there is anything. */
function lineOf({ name, state, says, whatToDo }: Check): string {
  const head = paint(COLORS[state], state.padEnd(STATE_WIDTH));
  const line = `${head}  ${name.padEnd(NAME_WIDTH)}  ${says}`;
  if (whatToDo === null) return line;
  const indent = ' '.repeat(STATE_WIDTH + NAME_WIDTH + 4);
  return `${line}\n${indent}${paint('bold', '→')} ${whatToDo}`;
}

/** @throws InvalidArgumentError */
function webUrl(text: string): URL {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return new URL(text);
  throw new InvalidArgumentError('must be a URL such as https://your.app/api/stripe/webhook.');
}
