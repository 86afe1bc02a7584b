// The command that passes changes of plans to a consumer, and the history of one team's plan for `team.ts`.

import { createInterface } from 'node:readline';
import { type Command, Option } from 'commander';
import type { ApplicationId, PlanChange } from 'instep-engine/postgres';
import { counted, pause } from 'instep-engine/runtime';
import type { OperateContext } from 'instep-operate';
import { performOne } from 'instep-operate/host';
import {
  acknowledgeChanges,
  ConsumerRefused,
  type FeedStart,
  findConsumers,
  readPlanChanges,
} from '../changes/consumers.ts';
import { changeId, createCommand } from './arguments.ts';
import {
  type Json,
  outputClosed,
  printable,
  printMessage,
  type RowFormat,
  shownTime,
  stopSignal,
  tableHead,
  writeLine,
  writeRow,
  writeRows,
} from './output.ts';
import { askReason, withContext } from './with-context.ts';

const POLL_INTERVAL_MS = 1_000;

const planText = (plan: PlanChange['before']) =>
  plan === null ? '-' : `${plan.subscriptionStatus ?? '-'} ${plan.planName ?? ''}`.trim();

const CHANGES: RowFormat<PlanChange> = {
  columns: [
    ['id', 8, ({ id }) => id],
    ['changed', 20, ({ changedAt }) => shownTime(changedAt.getTime())],
    ['team', 8, ({ teamId }) => teamId],
    ['cause', 11, ({ cause }) => cause],
    ['before', 24, ({ before }) => planText(before)],
    ['after', 24, ({ after }) => planText(after)],
    ['by', 28, ({ operator, eventId }) => operator ?? eventId],
  ],
  data: (change) => change,
};

export async function printHistory(
  teamId: ApplicationId,
  { json, limit }: { limit: number } & Json,
): Promise<void> {
  await withContext(async (context) => {
    const changes = await readPlanChanges(context, { teamId, limit });
    if ((await writeRows(CHANGES, changes, { json })) === 0) printMessage('no changes');
  });
}

type ChangesOptions = {
  consumer?: string;
  from: FeedStart;
  follow?: boolean;
  ack?: number | true;
  replay?: number;
  remove?: boolean;
  list?: boolean;
} & Json;

export function changesCommand(): Command {
  const example = 'instep changes --consumer mailer --follow --json';
  const command = createCommand('changes', 'pass changes of plans to a consumer', example)
    .option('--consumer <name>', 'name of the consumer')
    .addOption(
      new Option('--from <start>', 'where a new consumer starts')
        .choices(['now', 'beginning'])
        .default('now'),
    )
    .option('--follow', 'keep printing new changes until Ctrl-C')
    .option('--json', 'print a JSON line for each change')
    .option(
      '--ack [id]',
      'note that all changes up to this one are done; without an id, read the ids from standard input',
      changeId,
    )
    .option('--replay <id>', 'pass on a change that was set aside, again', changeId)
    .option('--remove', 'forget the consumer')
    .option('--list', 'show how far all consumers are')
    .action(run);
  return askReason(command);
}

async function run(options: ChangesOptions, command: Command): Promise<void> {
  const { consumer = '', ack, replay: changeId, remove, list } = options;
  if (!list && consumer === '')
    command.error("error: required option '--consumer <name>' not specified");
  await withContext(async (context, operator) => {
    if (list) await printConsumers(context, options);
    else if (changeId !== undefined) {
      await performOne(context, operator, { action: 'replay-change', consumer, changeId });
    } else if (remove) {
      await performOne(context, operator, { action: 'remove-consumer', consumer });
    } else if (typeof ack === 'number') await acknowledgeChanges(context, consumer, ack);
    else await print(context, consumer, options);
  });
}

async function printConsumers(context: OperateContext, { json }: ChangesOptions): Promise<void> {
  for (const consumer of await findConsumers(context)) {
    const { name, position, behindSince, setAside, setAsideCount } = consumer;
    const since = behindSince === null ? '' : `, behind since ${shownTime(behindSince.getTime())}`;
    const aside = setAside.map(
      ({ changeId, error }) => `\n  change ${changeId} was set aside: ${printable(error ?? '')}`,
    );
    const others = setAsideCount - setAside.length;
    if (others > 0) aside.push(`\n  ${counted(others, 'other change')} set aside`);
    const text = `${name}  at change ${position}${since}${aside.join('')}`;
    await writeLine(json ? JSON.stringify(consumer) : text);
  }
}

/** Prints what was not acknowledged. Each change is printed once, and again by the next command until then. */
async function print(
  context: OperateContext,
  consumer: string,
  { from, follow, json, ack }: ChangesOptions,
): Promise<void> {
  const failed = new AbortController();
  const stop = AbortSignal.any([stopSignal(), outputClosed.signal, failed.signal]);
  const reading = ack === true ? acknowledge(context, consumer, stop) : Promise.resolve();
  // Its error ends the loop, and is thrown below.
  reading.catch(() => failed.abort());
  if (!json) await writeLine(tableHead(CHANGES.columns));
  for (let afterId = 0; !stop.aborted; ) {
    const changes = await readPlanChanges(context, { consumer, from, afterId });
    for (const change of changes) {
      if (!(await writeRow(CHANGES, change, json))) return;
      afterId = change.id;
    }
    if (changes.length > 0) continue;
    if (!follow) break;
    await pause(POLL_INTERVAL_MS, { signal: stop });
  }
  await reading;
}

/** Acknowledges the ids that standard input has, one a line. */
async function acknowledge(context: OperateContext, consumer: string, signal: AbortSignal) {
  const lines = createInterface({ input: process.stdin, signal });
  for await (const line of lines) {
    const id = line.trim();
    if (id === '') continue;
    if (!/^[1-9]\d{0,14}$/.test(id)) {
      const message = `"${printable(id.slice(0, 80))}" is not the id of a change`;
      throw new ConsumerRefused('CHANGE_UNKNOWN', message);
    }
    await acknowledgeChanges(context, consumer, Number(id));
  }
}
