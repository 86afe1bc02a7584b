// What can be done about single teams, customers and events: `perform`.

import { DatabaseRefused, linkTeam, readStates, storeTeamless } from 'instep-engine/postgres';
import { pseudonymsWith, redactEvents } from 'instep-engine/repair';
import { InstepError } from 'instep-engine/runtime';
import { unlessRefused } from 'instep-engine/stripe';
import { replayEvent } from '../event-log/replay.ts';
import { type NamedTeam, readNamedTeamsOf, readTeam } from '../teams/named-teams.ts';
import { SUBJECT_KINDS, type Subject, subjectText } from '../teams/subject.ts';
import { type Acting, done, failed, type Outcome, recorded } from './audit.ts';
import { compare } from './compare.ts';
import type { OperateContext, Operator } from './context.ts';
import { eventNamed } from './find-events.ts';
import { teamNamed } from './find-teams.ts';
import { setPlan } from './set-plan.ts';

/** What each action takes besides its subject. It changes nothing if its expectation is no longer true. */
export type ActionInputs = {
  /** Gives a team a customer, and the plan that the customer's events yield. */
  readonly link: {
    /** The id or the name of a customer's team, or the id of a team's customer. */
    readonly linkTo: string;
    /** The customer that the team has, which is replaced; `null`: none. */
    readonly expectedCustomerId: string | null;
  };
  /** Takes away the customer that a team has, and with it the plan. Linking it again undoes this. */
  readonly unlink: { readonly expectedCustomerId: string | null };
  /** Processes an event again, or decides a customer's events that waited for its team. What was decided does not change. */
  readonly replay: object;
  /** Compares a team with Stripe, and asks for the order of its customer's events where that is ambiguous. */
  readonly compare: object;
  /** Compares a team with Stripe and repairs it. */
  readonly repair: object;
  /** Hides an issue until it changes. */
  readonly dismiss: object;
  readonly restore: object;
  /** Gives a team a plan without a subscription, or takes one away that was given. */
  readonly 'set-plan': {
    /** The name of the plan; `null` takes away one that was given. */
    readonly planName: string | null;
    /** Whether it may be one that no product has and no team has had; not by default. */
    readonly isNewName?: boolean;
  };
  /** Replaces personal data in a customer's logged events with pseudonyms that can't be resolved. */
  readonly redact: object;
};

/** An action, or one of these, on a subject. */
export type ActionRequest<Name extends keyof ActionInputs = keyof ActionInputs> = {
  readonly [One in Name]: { readonly action: One; readonly subject: Subject } & ActionInputs[One];
}[Name];

/** What was done about one subject. */
export type PerformedAction = Outcome & {
  readonly action: ActionRequest['action'];
  readonly subject: string;
};

export type Performed = {
  /** `findActions` finds the results under this id. */
  readonly callId: string;
  readonly results: readonly PerformedAction[];
};

/** How many actions are on their way together: few enough for Stripe to answer for all before the deadline of one. */
const AT_ONCE = 10;

/**
 * Performs actions, and records them in the audit: before they begin, and with their results. What fails becomes the
 * result of its request, so that the others are still processed, up to 10 of them together.
 *
 * @throws the errors of the database if the audit can't be written: before an action begins, it does nothing then
 * @example
 * ```ts
 * import { openContext, perform } from 'instep/operate';
 *
 * const context = await openContext();
 * const operator = { name: 'user:7', how: 'application', reason: 'a test' } as const;
 * const subject = { kind: 'customer', id: 'cus_123' } as const;
 * const { results } = await perform(context, operator, [
 *   { action: 'link', subject, linkTo: '9', expectedCustomerId: null },
 *   { action: 'dismiss', subject },
 * ]);
 * console.log(results.map(({ result }) => result.code).join()); // no-such-team,dismissed
 * await context.close();
 * ```
 */
export async function perform(
  context: OperateContext,
  operator: Operator,
  requests: readonly ActionRequest[],
): Promise<Performed> {
  const callId = context.nonce();
  const performOne = async (request: ActionRequest): Promise<PerformedAction> => {
    const { action } = request;
    const subject = subjectText(request.subject);
    const begun = { operator, action, subject, callId };
    const outcome = await recorded(context, begun, (acting) =>
      act(request, acting).catch((err: unknown) => {
        if (!(err instanceof InstepError)) throw err;
        context.logger.warn({ err, action, subject }, 'action failed');
        return failed({ code: 'failed', error: err.code });
      }),
    );
    return { action, subject, ...outcome };
  };
  const results: PerformedAction[] = [];
  while (results.length < requests.length) {
    const batch = requests.slice(results.length, results.length + AT_ONCE).map(performOne);
    // None goes on after the call has ended.
    await Promise.allSettled(batch);
    results.push(...(await Promise.all(batch)));
  }
  return { callId, results };
}

type Act<Request> = (request: Request, acting: Acting) => Promise<Outcome>;

/** An action on a team that is there. */
const onTeam =
  <Request extends ActionRequest>(
    act: (team: NamedTeam, request: Request, acting: Acting) => Promise<Outcome>,
  ): Act<Request> =>
  async (request, acting) => {
    const { id } = request.subject;
    const team = await readTeam(acting, id);
    if (team === null) return failed({ code: 'no-such-team', text: id });
    return await act(team, request, acting);
  };

/** What actions do, and about what. Of a dismissal, the record of the action is all that is stored. */
const TABLE: {
  readonly [Name in keyof ActionInputs]: {
    readonly subjects: readonly Subject['kind'][];
    readonly act: Act<ActionRequest<Name>>;
  };
} = {
  link: { subjects: ['team', 'customer'], act: link },
  unlink: { subjects: ['team'], act: onTeam(unlink) },
  replay: { subjects: ['customer', 'event'], act: replay },
  compare: { subjects: ['team'], act: onTeam((team, _, acting) => compare(team, true, acting)) },
  repair: { subjects: ['team'], act: onTeam((team, _, acting) => compare(team, false, acting)) },
  dismiss: { subjects: [...SUBJECT_KINDS], act: async () => done({ code: 'dismissed' }) },
  restore: { subjects: [...SUBJECT_KINDS], act: async () => done({ code: 'restored' }) },
  'set-plan': { subjects: ['team'], act: setPlan },
  redact: { subjects: ['customer'], act: redact },
};

/** What the console has buttons for: only a command redacts. */
export type Action = Exclude<keyof ActionInputs, 'redact'>;

export const ACTIONS = Object.keys(TABLE).filter((name): name is Action => name !== 'redact');

async function act<Name extends keyof ActionInputs>(
  request: ActionRequest<Name>,
  acting: Acting,
): Promise<Outcome> {
  const { subjects, act } = TABLE[request.action];
  if (!subjects.includes(request.subject.kind)) return failed({ code: 'does-not-apply' });
  return await act(request, acting);
}

/** Then its events are decided, which also maintenance does. */
async function link(
  { subject: { kind, id }, linkTo, expectedCustomerId }: ActionRequest<'link'>,
  acting: Acting,
): Promise<Outcome> {
  const [named, customerId] = kind === 'team' ? [id, linkTo] : [linkTo, id];
  if (!customerId.startsWith('cus_') || (await isUnknown(customerId, acting))) {
    return failed({ code: 'unknown-customer', customerId });
  }
  const found = kind === 'team' ? await readTeam(acting, named) : await teamNamed(acting, named);
  if (found === null) return failed({ code: 'no-such-team', text: named });
  if ('code' in found) return failed(found);
  const { id: teamId, customerId: former } = found;
  const linked = { code: 'linked', teamId, customerId, former } as const;
  const outcome = await changeCustomer(linked, expectedCustomerId, acting);
  if (outcome.isDone) await acting.settle(customerId);
  return outcome;
}

/** A person waits for the answer. */
const ASK_DEADLINE_MS = 3_000;

/** Whether Stripe knows no such customer. Without its answer the customer is linked, and the next comparison tells. */
async function isUnknown(
  customerId: string,
  { api, database: { query }, logger }: Acting,
): Promise<boolean> {
  const { subscriptions } = (await readStates(query, [customerId])).of(customerId);
  if (subscriptions.size > 0) return false;
  const signal = AbortSignal.timeout(ASK_DEADLINE_MS);
  const listed = await unlessRefused(
    api.listSubscriptions({ customerId, cursor: null }, signal),
  ).catch((err: unknown) => {
    logger.warn({ customerId, err }, 'linked without asking Stripe whether it knows the customer');
    return undefined;
  });
  return listed === null;
}

async function unlink(
  { id: teamId, customerId }: NamedTeam,
  { expectedCustomerId }: ActionRequest<'unlink'>,
  acting: Acting,
): Promise<Outcome> {
  if (customerId === null || expectedCustomerId !== customerId) {
    return failed({ code: 'has-another-customer', teamId, customerId });
  }
  return await changeCustomer({ code: 'unlinked', teamId, customerId }, customerId, acting);
}

/** Gives a team its customer, or takes it away from a team that still has the expected one, and records this result. */
async function changeCustomer(
  result: Extract<Outcome['result'], { readonly code: 'linked' | 'unlinked' }>,
  expectedCustomerId: string | null,
  acting: Acting,
): Promise<Outcome> {
  const { code, teamId, customerId } = result;
  const wanted = code === 'linked' ? customerId : null;
  try {
    return await acting.inTransaction<Outcome>(async (query) => {
      const has = await linkTeam(query, teamId, wanted, { ...acting, expectedCustomerId });
      if (has !== wanted) return failed({ code: 'has-another-customer', teamId, customerId: has });
      const isTaken = expectedCustomerId !== null && expectedCustomerId !== wanted;
      if (isTaken) await storeTeamless(query, expectedCustomerId);
      return done(result);
    });
  } catch (error) {
    if (!(error instanceof DatabaseRefused)) throw error;
    acting.logger.warn({ err: error, code, teamId, customerId }, 'change of a customer refused');
    return failed({ code: 'link-refused', teamId, customerId });
  }
}

/** With one of these outcomes, the event still needs attention; without any, it is gone. */
const UNRESOLVED: readonly string[] = ['parked', 'unreadable', 'failed'];

async function replay({ subject: { kind, id } }: ActionRequest, acting: Acting): Promise<Outcome> {
  const { ingest, settle, database } = acting;
  if (kind === 'customer') {
    const [team] = await readNamedTeamsOf(database.query, [id], 1);
    if (team === undefined) return failed({ code: 'no-such-team', text: '' });
    await settle(id);
    return done({ code: 'done' });
  }
  const event = await eventNamed(acting, id);
  if (event === null) return failed({ code: 'replayed', outcomes: {} });
  const { outcome } = await replayEvent(event, { ingest, query: database.query });
  const isDone = !UNRESOLVED.includes(outcome);
  return { isDone, result: { code: 'replayed', outcomes: { [outcome]: 1 } } };
}

async function redact(
  { subject: { id } }: ActionRequest,
  { inTransaction, nonce }: Acting,
): Promise<Outcome> {
  // The key is discarded afterward.
  const pseudonymOf = pseudonymsWith(nonce());
  return await inTransaction(async (query) => {
    const events = await redactEvents(query, id, pseudonymOf);
    return done({ code: 'redacted', events });
  });
}
