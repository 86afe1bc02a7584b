// What can be done about one team, customer or event. `perform` calls it.

import { readEvents, readEventsAt } from 'instep-engine/log';
import { canOthersSucceed, DatabaseRefused, linkTeam } from 'instep-engine/postgres';
import type { ActingOperator } from 'instep-engine/rule';
import {
  countOutcomes,
  type Replayed,
  type ReplayOutcomes,
  replayEvents,
} from '../event-log/replay.ts';
import { readEventAt } from '../event-log/search.ts';
import { type NamedTeam, readNamedTeam } from '../teams/named-teams.ts';
import type { Subject } from '../teams/subject.ts';
import {
  type Action,
  type ActionResult,
  done,
  failed,
  type InTransaction,
  type Outcome,
} from './audit.ts';
import { compareOrRepair } from './compare.ts';
import type { OperateContext } from './context.ts';
import { teamNamed } from './find-teams.ts';
import { setPlan } from './set-plan.ts';

/** An action, with what it expects to find: it changes nothing if somebody else has changed that since. */
export type ActionRequest =
  | {
      readonly action: 'link';
      readonly subject: Subject;
      /** The id or the name of a customer's team, or the id of a team's customer. */
      readonly linkTo: string;
      /** The customer that the team has, which is replaced; `null`: none. */
      readonly expectedCustomerId: string | null;
    }
  | {
      readonly action: 'unlink';
      readonly subject: Subject;
      /** The customer that the team has. */
      readonly expectedCustomerId: string | null;
    }
  | {
      readonly action: 'set-plan';
      readonly subject: Subject;
      /** The name of the plan; `null` takes away one that was given. */
      readonly planName: string | null;
      /** Whether it may be one that no product has and no team has had; not by default. */
      readonly isNewName?: boolean;
    }
  | {
      readonly action: 'replay' | 'compare' | 'repair' | 'dismiss' | 'restore';
      readonly subject: Subject;
    };

type RequestOf<Name extends Action> = Extract<ActionRequest, { readonly action: Name }>;

export type PerformOptions = {
  /**
   * When dismissals end, whatever is found until then; by default, when the issue changes.
   */
  readonly until?: Date | null;
  /** The reason, for the audit. */
  readonly note?: string | null;
};

const EVERYTHING = ['team', 'customer', 'event'] as const;

/** What each action can be done about. */
const SUBJECTS: Readonly<Record<Action, readonly Subject['kind'][]>> = {
  link: ['team', 'customer'],
  unlink: ['team'],
  replay: ['customer', 'event'],
  compare: ['team'],
  repair: ['team'],
  'set-plan': ['team'],
  dismiss: EVERYTHING,
  restore: EVERYTHING,
};

function applies({ action, subject }: ActionRequest): boolean {
  return SUBJECTS[action].includes(subject.kind);
}

/** What an action works with. */
export type ActionContext = OperateContext & {
  readonly operator: ActingOperator;
  /** Does the first part of an action, and records it in the same transaction. */
  readonly inTransaction: InTransaction;
};

/** Acts on a subject: in one transaction, unless other events or Stripe take part in it. */
export async function act(
  request: ActionRequest,
  context: ActionContext,
  options: PerformOptions,
): Promise<Outcome> {
  if (!applies(request)) return failed({ code: 'does-not-apply' });
  const { until = null } = options;
  const { subject } = request;
  switch (request.action) {
    case 'link':
      return await link(request, context);
    case 'unlink':
      return await unlink(request, context);
    case 'replay':
      return subject.kind === 'customer'
        ? replayed(await replayParked(subject.id, context))
        : await replayEvent(Number(subject.id), context);
    case 'compare':
      return await compare(subject.id, context, true);
    case 'repair':
      return await compare(subject.id, context, false);
    case 'set-plan':
      return await setPlan(subject.id, request, context);
    // The record of the action is all that is stored.
    case 'dismiss':
      return done({ code: 'dismissed', ...(until !== null && { untilMs: until.getTime() }) });
    case 'restore':
      return done({ code: 'restored' });
  }
}

async function link(
  { subject: { kind, id }, linkTo, expectedCustomerId }: RequestOf<'link'>,
  context: ActionContext,
): Promise<Outcome> {
  const { query } = context.database;
  if (kind === 'customer') {
    const found = await teamNamed(context, linkTo);
    return 'code' in found
      ? failed(found)
      : await linkAndReplay(found, id, expectedCustomerId, context);
  }
  if (!linkTo.startsWith('cus_')) return failed({ code: 'not-a-customer', text: linkTo });
  const team = await readNamedTeam(query, id);
  if (team === null) return failed({ code: 'no-such-team', text: id });
  return await linkAndReplay(team, linkTo, expectedCustomerId, context);
}

async function linkAndReplay(
  { id: teamId, customerId: formerCustomerId }: NamedTeam,
  customerId: string,
  expectedCustomerId: string | null,
  context: ActionContext,
): Promise<Outcome> {
  const linked = { code: 'linked', teamId, customerId, former: formerCustomerId } as const;
  const first = await changeCustomer({ ...linked, outcomes: null }, expectedCustomerId, context);
  if (!first.isDone) return first;
  const outcomes = await replayParked(customerId, context);
  return { isDone: !areUnresolved(outcomes), result: { ...linked, outcomes } };
}

/** Gives a team its customer, or takes it away from a team that still has the expected one, and records this result. */
async function changeCustomer(
  result: Extract<ActionResult, { code: 'linked' | 'unlinked' }>,
  expectedCustomerId: string | null,
  context: ActionContext,
): Promise<Outcome> {
  const { code, teamId, customerId } = result;
  const wanted = code === 'linked' ? customerId : null;
  try {
    return await context.inTransaction(async (query) => {
      const has = await linkTeam(query, teamId, wanted, { ...context, expectedCustomerId });
      return has === wanted
        ? done(result)
        : failed({ code: 'has-another-customer', teamId, customerId: has });
    });
  } catch (error) {
    if (!(error instanceof DatabaseRefused)) throw error;
    context.logger.warn({ err: error, code, teamId, customerId }, 'change of a customer refused');
    return failed({ code: 'link-refused', teamId, customerId });
  }
}

async function unlink(
  { subject: { id }, expectedCustomerId }: RequestOf<'unlink'>,
  context: ActionContext,
): Promise<Outcome> {
  const team = await readNamedTeam(context.database.query, id);
  if (team === null) return failed({ code: 'no-such-team', text: id });
  const { id: teamId, customerId } = team;
  if (customerId === null) return failed({ code: 'not-linked', teamId });
  if (expectedCustomerId !== customerId) {
    return failed({ code: 'has-another-customer', teamId, customerId });
  }
  const unlinked = { code: 'unlinked', teamId, customerId } as const;
  return await changeCustomer(unlinked, customerId, context);
}

/** A replay with this outcome has changed nothing that needs attention. */
const UNRESOLVED = ['parked', 'unreadable', 'failed'] as const satisfies Replayed['outcome'][];

const areUnresolved = (outcomes: ReplayOutcomes) =>
  UNRESOLVED.some((outcome) => outcomes[outcome] !== undefined);

async function replayParked(
  customerId: string,
  { database: { query }, settle, logger }: ActionContext,
): Promise<ReplayOutcomes> {
  const filter = { customerId, outcome: 'parked' } as const;
  const oldest = { order: 'oldest first', limit: MAX_COUNTED } as const;
  const parked = await readEvents(query, filter, ALL, oldest);
  try {
    await settle(customerId);
  } catch (err) {
    if (!canOthersSucceed(err)) throw err;
    logger.warn({ customerId, err }, 'customer not settled');
    return { failed: parked.length };
  }
  const positions = parked.map(({ position }) => position);
  const outcomes: Partial<Record<Replayed['outcome'], number>> = {};
  for (const { outcome } of await readEventsAt(query, {}, positions, oldest)) {
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  }
  return outcomes;
}

const ALL = { after: 0, upTo: Number.MAX_SAFE_INTEGER };

/** A customer that waits for a team seldom has more events. */
const MAX_COUNTED = 200;

function replayed(outcomes: ReplayOutcomes): Outcome {
  return { isDone: !areUnresolved(outcomes), result: { code: 'replayed', outcomes } };
}

async function replayEvent(
  position: number,
  { database: { query }, ingest }: ActionContext,
): Promise<Outcome> {
  const event = Number.isSafeInteger(position) ? await readEventAt(query, position) : null;
  if (event === null) return failed({ code: 'no-such-event', position });
  return replayed(await countOutcomes(replayEvents([event], { ingest, query })));
}

async function compare(id: string, context: ActionContext, isDryRun: boolean): Promise<Outcome> {
  const result = await compareOrRepair(context, id, isDryRun);
  const isDone = ['in-sync', isDryRun ? 'out-of-sync' : 'repaired'].includes(result.code);
  return { isDone, result };
}
