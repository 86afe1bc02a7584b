import { Command, InvalidArgumentError } from 'commander';
import { type Check, counted } from '../operations/doctor/check.ts';
import { examine } from '../operations/doctor/examine.ts';
import { InstepError } from '../runtime/errors.ts';
import { paint, tell } from './output.ts';

type Options = { url?: URL; json?: boolean };

/** Some checks found a failure. */
class DoctorFailed extends InstepError {
  readonly code = 'DOCTOR_FAILED';
}

export function doctorCommand(): Command {
  return new Command('doctor')
    .description('check configuration, Stripe, database and event log')
    .option(
      '--url <url>',
      'the public URL of the webhook route: is it registered at Stripe?',
      webUrl,
    )
    .option('--json', 'print a JSON line for each check')
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
  const summary = `${counts.ok} ok, ${counted(counts.warning, 'warning')}, ${counted(counts.failure, 'failure')}`;
  if (counts.failure > 0) throw new DoctorFailed(summary);
  tell(summary);
}

/** `Date.now()` with fractions, since a database nearby answers within less than 1 ms. */
const now = () => performance.timeOrigin + performance.now();

const COLORS = { ok: 'green', warning: 'yellow', failure: 'red' } as const;
const STATE_WIDTH = 'warning'.length;

/** The longest of the names that checks have. */
const NAME_WIDTH = 'unreadable events'.length;

/** `ok       clock              agrees with Stripe's`, and below it what to do, if there is anything. */
function lineOf({ name, state, finding, advice }: Check): string {
  const head = paint(COLORS[state], state.padEnd(STATE_WIDTH));
  const line = `${head}  ${name.padEnd(NAME_WIDTH)}  ${finding}`;
  if (advice === null) return line;
  const indent = ' '.repeat(STATE_WIDTH + NAME_WIDTH + 4);
  return `${line}\n${indent}${paint('bold', '→')} ${advice}`;
}

/** @throws InvalidArgumentError */
function webUrl(text: string): URL {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return new URL(text);
  throw new InvalidArgumentError('must be a URL such as https://your.app/api/stripe/webhook.');
}
