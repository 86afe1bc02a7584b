// The commands that show whether the installation works: its checks, and a test message to the receiver of alerts.

import type { Command } from 'commander';
import { counted } from 'instep-engine/runtime';
import { sendAlert } from 'instep-operate/host';
import { ConfigInvalid, readPart } from '../config/config.ts';
import type { Check } from '../doctor/check.ts';
import { examine } from '../doctor/examine.ts';
import { createCommand, webUrl } from './arguments.ts';
import {
  type Columns,
  CommandFailed,
  type Json,
  paint,
  print,
  printMessage,
  stopSignal,
  tableLine,
} from './output.ts';

type Options = { url?: URL } & Json;

export function doctorCommand(): Command {
  return createCommand(
    'doctor',
    'check configuration, Stripe, database and event log',
    'instep doctor --url https://your.app/api/stripe/webhook',
  )
    .option('--url <url>', 'check that this webhook URL is registered with Stripe', webUrl)
    .option('--json', 'print a JSON line for each check')
    .action(doctor);
}

export async function doctor({ url, json = false }: Options): Promise<void> {
  const counts = { ok: 0, warning: 0, failure: 0 };
  const options = { environment: process.env, url: url ?? null, notice: printMessage, now };
  for await (const check of examine(options)) {
    counts[check.state] += 1;
    print(json ? JSON.stringify(check) : lineOf(check));
  }
  const { ok, warning, failure } = counts;
  const summary = `${ok} ok, ${counted(warning, 'warning')}, ${counted(failure, 'failure')}`;
  if (failure > 0) throw new CommandFailed('DOCTOR_FAILED', summary);
  printMessage(summary);
}

/** `Date.now()` with fractions, because a nearby database answers in less than 1 ms. */
const now = () => performance.timeOrigin + performance.now();

const COLORS = { ok: 'green', warning: 'yellow', failure: 'red' } as const;

/** As wide as the longest state, and most names of a check. */
const COLUMNS: Columns = [
  ['state', 'warning'.length],
  ['check', 'unreadable event'.length],
];

/** `ok       clock              agrees with Stripe's`, followed by a line of advice, if any. */
function lineOf({ name, state, result, advice }: Check): string {
  const line = tableLine(COLUMNS, [paint(COLORS[state], state), name, result]);
  if (advice === null) return line;
  return `${line}\n${tableLine(COLUMNS, ['', '', `${paint('bold', '→')} ${advice}`])}`;
}

export function alertsCommand(): Command {
  return createCommand('alerts', 'try the alerts', 'instep alerts test').addCommand(
    createCommand(
      'test',
      'send a message to the receiver of ALERT_WEBHOOK_URL',
      'instep alerts test',
    ).action(testAlerts),
  );
}

async function testAlerts(): Promise<void> {
  const alerts = readPart('alerts', process.env);
  if (alerts === null) {
    const problem = 'is not set, so alerts are off';
    throw new ConfigInvalid([
      { variable: 'ALERT_WEBHOOK_URL', problem, remedy: 'set the address of the receiver' },
    ]);
  }
  const headline = 'this is a test. Alerts arrive here.';
  await sendAlert(alerts, { headline, issues: [], nowMs: Date.now() }, stopSignal());
  printMessage('The receiver has accepted a test message.');
}
