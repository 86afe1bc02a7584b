// Folds the log of a customer again. The result must be what ingesting has stored, byte for byte.

import {
  EVENT_COLUMNS,
  type EventRow,
  eventsIn,
  noEvents,
  type ParseLogged,
} from '../log/read-events.ts';
import type { StatementRunner } from '../postgres/statement.ts';
import { UNSETTLED_RULES } from '../rule/access-facts.ts';
import { type CustomerState, NO_STATE, type SubscriptionState } from '../rule/customer-state.ts';
import { foldAll } from '../rule/fold.ts';
import type { PlanSelection } from '../rule/plan-selection.ts';
import { readState, writeState } from '../rule/state-json.ts';

type RebuildOptions = {
  readonly database: StatementRunner;
  readonly parse: ParseLogged;
  readonly planSelection: PlanSelection;
  readonly deadlineMs: number;
  /** Events received before this time can be gone from the log; `null`: none are. */
  readonly prunedBeforeMs: number | null;
  /** Whether only to report. */
  readonly isDryRun: boolean;
};

export type Rebuilt = {
  readonly stored: CustomerState;
  readonly fromLog: CustomerState;
  /** The subscriptions whose stored state differs from what the log yields. */
  readonly subscriptionIds: readonly (string | null)[];
};

type StateRow = { readonly version: string; readonly subscriptions: string };

/**
 * Stores the state that the log yields, if it differs and no event was ingested meanwhile. `settle` then projects it.
 *
 * @throws StateNewer
 */
export async function rebuildState(
  customerId: string,
  { database, parse, planSelection, deadlineMs, prunedBeforeMs, isDryRun }: RebuildOptions,
): Promise<Rebuilt> {
  const [row] = await database.run<StateRow>(readStoredState(customerId), deadlineMs);
  const rows = await database.run<EventRow>(readEventsOfCustomer(customerId), deadlineMs);
  const { known } = eventsIn(rows, parse).get(customerId) ?? noEvents();
  const stored = row === undefined ? NO_STATE : readState(row.subscriptions);
  const fromLog = withoutPruned(foldAll(known.all(), planSelection), stored, prunedBeforeMs);
  const ids = new Set([...stored.subscriptions.keys(), ...fromLog.subscriptions.keys()]);
  const subscriptionIds = [...ids].filter((id) => textOf(stored, id) !== textOf(fromLog, id));
  if (!isDryRun && subscriptionIds.length > 0) {
    const statement = repairState(customerId, row?.version ?? '0', writeState(fromLog));
    await database.run(statement, deadlineMs);
  }
  return { stored, fromLog, subscriptionIds };
}

function textOf({ subscriptions }: CustomerState, id: string | null): string {
  const state = subscriptions.get(id);
  if (state === undefined) return '';
  return writeState({ subscriptions: new Map([[id, state]]), hasDropped: false });
}

/** The event with which a status began can have been pruned, and an older one not. */
function withoutPruned(
  fromLog: CustomerState,
  stored: CustomerState,
  prunedBeforeMs: number | null,
): CustomerState {
  if (prunedBeforeMs === null) return fromLog;
  const subscriptions = [...fromLog.subscriptions].map(
    ([id, state]): [string | null, SubscriptionState] => {
      const known = stored.subscriptions.get(id)?.latest;
      const { latest } = state;
      const isSame = known?.reported.status === latest.reported.status;
      const canBePruned = latest.sinceSeconds * 1_000 < prunedBeforeMs;
      if (known === undefined || !isSame || !canBePruned) return [id, state];
      const { sinceSeconds, otherStatusSeconds } = known;
      return [id, { ...state, latest: { ...latest, sinceSeconds, otherStatusSeconds } }];
    },
  );
  return { ...fromLog, subscriptions: new Map(subscriptions) };
}

const readStoredState = (customerId: string) => ({
  name: 'read_stored_state',
  text: `
select version::text, subscriptions::text
  from instep.customers
 where customer_id = $1`,
  values: [customerId],
});

/** In the order of arrival. */
const readEventsOfCustomer = (customerId: string) => ({
  name: 'read_events_of_customer',
  text: `
select${EVENT_COLUMNS}
  from instep.events
 where customer_id = $1
   and outcome <> 'unreadable'
 order by position`,
  values: [customerId],
});

/** The other columns follow from the state: `settle` writes them, also after a crash, because of the rules. */
const repairState = (customerId: string, version: string, state: string) => ({
  name: 'repair_state',
  text: `
insert into instep.customers (
         customer_id, version, subscriptions, subscription_ids, access_rules, grants_plan, had_team
       )
select $1, $2::bigint + 1, $3::json, '{}', '${UNSETTLED_RULES}', false, false
    on conflict (customer_id) do update
   set version = excluded.version,
       subscriptions = excluded.subscriptions,
       access_rules = excluded.access_rules
 where customers.version = $2::bigint`,
  values: [customerId, version, state],
});
