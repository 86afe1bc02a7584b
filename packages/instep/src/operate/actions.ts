import type { ApplicationId } from '../core/application.ts';
import { type ActedOn, type ActionRequest, type ActOptions, act } from './act.ts';
import type { Subject } from './audit.ts';
import type { OperateContext, Operator } from './context.ts';

export type LinkRequest = ActOptions & {
  readonly teamId: ApplicationId;
  readonly customerId: string;
  /** Also links a team that has another customer, whose plan it then loses. */
  readonly canReplace?: boolean;
};

/**
 * Links a team to a customer at Stripe, and gives it the plan that the customer's events yield.
 *
 * @example
 * ```ts
 * import { createHandler } from 'instep';
 * import { linkTeam, openContext } from 'instep/operate';
 *
 * const handler = createHandler({ maintenance: 'off' });
 * const context = await openContext({ instep: handler });
 * const operator = { name: 'user:7', how: 'application' } as const;
 * const request = { teamId: 1, customerId: 'cus_123', note: 'paid under another address' };
 * const { isDone, result } = await linkTeam(context, operator, request);
 * console.log(isDone, result.code); // false no-such-team
 * await handler.close();
 * ```
 */
export async function linkTeam(
  context: OperateContext,
  operator: Operator,
  { teamId, customerId: linkTo, canReplace = false, ...options }: LinkRequest,
): Promise<ActedOn> {
  const request = { action: 'link', subject: teamOf(teamId), linkTo, canReplace } as const;
  return await actOn(context, operator, request, options);
}

/**
 * Takes a team's customer away, and with it the plan. Linking it again undoes this.
 *
 * @example
 * ```ts
 * import { createHandler } from 'instep';
 * import { openContext, unlinkTeam } from 'instep/operate';
 *
 * const handler = createHandler({ maintenance: 'off' });
 * const context = await openContext({ instep: handler });
 * const operator = { name: 'user:7', how: 'application' } as const;
 * const { isDone, result } = await unlinkTeam(context, operator, 1);
 * console.log(isDone, result.code); // false no-such-team
 * await handler.close();
 * ```
 */
export async function unlinkTeam(
  context: OperateContext,
  operator: Operator,
  teamId: ApplicationId,
  options: ActOptions = {},
): Promise<ActedOn> {
  return await actOn(context, operator, { action: 'unlink', subject: teamOf(teamId) }, options);
}

/**
 * Compares a team with Stripe and repairs it. `compareTeam` only compares.
 *
 * @example
 * ```ts
 * import { createHandler } from 'instep';
 * import { openContext, repairTeam } from 'instep/operate';
 *
 * const handler = createHandler({ maintenance: 'off' });
 * const context = await openContext({ instep: handler });
 * const operator = { name: 'user:7', how: 'application' } as const;
 * const { isDone, result } = await repairTeam(context, operator, 1);
 * console.log(isDone, result.code); // false no-such-team
 * await handler.close();
 * ```
 */
export async function repairTeam(
  context: OperateContext,
  operator: Operator,
  teamId: ApplicationId,
  options: ActOptions = {},
): Promise<ActedOn> {
  return await actOn(context, operator, { action: 'repair', subject: teamOf(teamId) }, options);
}

/**
 * Processes an event again, or the parked events of a customer. What was decided does not change.
 *
 * @example
 * ```ts
 * import { createHandler } from 'instep';
 * import { openContext, replay } from 'instep/operate';
 *
 * const handler = createHandler({ maintenance: 'off' });
 * const context = await openContext({ instep: handler });
 * const operator = { name: 'user:7', how: 'application' } as const;
 * const { result } = await replay(context, operator, { customerId: 'cus_123' });
 * console.log(result.code); // replayed
 * await handler.close();
 * ```
 */
export async function replay(
  context: OperateContext,
  operator: Operator,
  what: { readonly position: number } | { readonly customerId: string },
  options: ActOptions = {},
): Promise<ActedOn> {
  const subject: Subject =
    'position' in what
      ? { kind: 'event', id: String(what.position) }
      : { kind: 'customer', id: what.customerId };
  return await actOn(context, operator, { action: 'replay', subject }, options);
}

/**
 * Asks Stripe for a subscription whose events have an unknown order, so that the order is decided.
 *
 * @example
 * ```ts
 * import { createHandler } from 'instep';
 * import { decideOrder, openContext } from 'instep/operate';
 *
 * const handler = createHandler({ maintenance: 'off' });
 * const context = await openContext({ instep: handler });
 * const operator = { name: 'user:7', how: 'application' } as const;
 * const { result } = await decideOrder(context, operator, 'sub_123');
 * console.log(result.code); // order-known
 * await handler.close();
 * ```
 */
export async function decideOrder(
  context: OperateContext,
  operator: Operator,
  subscriptionId: string,
  options: ActOptions = {},
): Promise<ActedOn> {
  const subject = { kind: 'subscription', id: subscriptionId } as const;
  return await actOn(context, operator, { action: 'compare', subject }, options);
}

/**
 * Hides an issue until it changes. The parked events of a customer that never had a team are deleted.
 *
 * @example
 * ```ts
 * import { createHandler } from 'instep';
 * import { dismiss, openContext } from 'instep/operate';
 *
 * const handler = createHandler({ maintenance: 'off' });
 * const context = await openContext({ instep: handler });
 * const operator = { name: 'user:7', how: 'application' } as const;
 * const { isDone } = await dismiss(context, operator, { kind: 'customer', id: 'cus_123' });
 * console.log(isDone); // true
 * await handler.close();
 * ```
 */
export async function dismiss(
  context: OperateContext,
  operator: Operator,
  subject: Subject,
  options: ActOptions = {},
): Promise<ActedOn> {
  return await actOn(context, operator, { action: 'dismiss', subject }, options);
}

const teamOf = (id: ApplicationId): Subject => ({ kind: 'team', id: String(id) });

/** The result of one action that applies to its subject. */
async function actOn(
  context: OperateContext,
  operator: Operator,
  request: ActionRequest,
  options: ActOptions,
): Promise<ActedOn> {
  const [only] = (await act(context, operator, [request], options)).results;
  if (only === undefined) throw new RangeError(`${request.action} does not apply to the subject`);
  return only;
}
