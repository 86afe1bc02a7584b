// The JSON form in which a customer's state is stored. Only this file knows it: nothing else reads or writes it.

import type { CustomerState, DecidingEvent, SubscriptionState } from './customer-state.ts';
import { asObject, isList, type Json, type JsonObject } from './json.ts';
import { flag, planWith, seconds } from './plan-fields.ts';
import { compareIds } from './plan-selection.ts';
import { isTrialEndAction, type Reported } from './reported.ts';

/** Raised when an older program could not read what this one writes. */
const VERSION = 1;

/** A newer version of Instep has written the state of a customer: this one must not decide about it. */
export class StateNewer extends Error {
  readonly code = 'STATE_NEWER';

  constructor(version: unknown) {
    super(
      `a newer version of Instep wrote the state of a customer (${version}; this one knows ${VERSION}): update this instance`,
    );
    this.name = new.target.name;
  }
}

/** The stored state of a customer is not what Instep writes: `rebuild` makes it again from the log. */
export class StateUnreadable extends Error {
  readonly code = 'STATE_UNREADABLE';

  constructor(missing: string) {
    super(`the stored state of a customer lacks ${missing}: rebuild it from the event log`);
    this.name = new.target.name;
  }
}

/** The state as JSON. The same state has the same text, whatever the order in which its events arrived. */
export function writeState({ subscriptions, hasDropped }: CustomerState): string {
  const inOrder = [...subscriptions].sort(([a], [b]) => compareIds(a, b));
  return JSON.stringify({
    version: VERSION,
    ...(hasDropped && { hasDropped }),
    subscriptions: inOrder.map(([id, state]) => writeSubscription(id, state)),
  });
}

function writeSubscription(id: string | null, { deciding, latest }: SubscriptionState): JsonObject {
  const isLatest = deciding?.reported === latest.reported;
  return withoutNulls({
    id,
    latest: writeReported(latest.reported),
    since: latest.sinceSeconds,
    otherStatus: latest.otherStatusSeconds,
    // Most often the latest event decides.
    deciding: isLatest ? 'latest' : deciding && writeReported(deciding.reported),
    isAmbiguous: deciding?.isAmbiguous ? true : null,
  });
}

function writeReported({ plan, createdSeconds, ...others }: Reported): JsonObject {
  // The plan has the status.
  const { status: _, ...access } = others;
  return withoutNulls({ created: createdSeconds, ...plan, ...access });
}

function withoutNulls(members: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
}

/** @throws StateNewer, StateUnreadable */
export function readState(text: string): CustomerState {
  const stored = asObject(JSON.parse(text)) ?? {};
  const { version } = stored;
  if (typeof version !== 'number') throw new StateUnreadable('its version');
  if (version > VERSION) throw new StateNewer(version);
  if (!isList(stored.subscriptions)) throw new StateUnreadable('its subscriptions');
  const subscriptions = new Map(stored.subscriptions.map(readSubscription));
  return { subscriptions, hasDropped: stored.hasDropped === true };
}

function readSubscription(json: Json): readonly [string | null, SubscriptionState] {
  const stored = asObject(json) ?? {};
  const latest = readReported(stored.latest);
  const sinceSeconds = seconds(stored.since);
  if (latest === null || sinceSeconds === null) {
    throw new StateUnreadable('the latest event of a subscription');
  }
  const reported = stored.deciding === 'latest' ? latest : readReported(stored.deciding);
  const deciding: DecidingEvent | null = reported && {
    reported,
    isAmbiguous: stored.isAmbiguous === true,
  };
  const otherStatusSeconds = seconds(stored.otherStatus);
  const id = typeof stored.id === 'string' ? stored.id : null;
  return [id, { deciding, latest: { reported: latest, sinceSeconds, otherStatusSeconds } }];
}

function readReported(json: Json | undefined): Reported | null {
  const stored = asObject(json) ?? {};
  const createdSeconds = seconds(stored.created);
  const status = stored.subscriptionStatus;
  if (createdSeconds === null || typeof status !== 'string') return null;
  return {
    createdSeconds,
    status,
    plan: planWith(({ name }) => stored[name]),
    cancelAtSeconds: seconds(stored.cancelAtSeconds),
    isCollectionPaused: flag(stored.isCollectionPaused),
    trialEndAction: isTrialEndAction(stored.trialEndAction) ? stored.trialEndAction : null,
  };
}
