/** A small change of one file that the simulation or a test must notice. */
export type PlantedBug = {
  readonly name: string;
  readonly file: string;
  /** Each search text occurs in the file exactly once. */
  readonly edits: readonly (readonly [search: string, replace: string])[];
  /**
   * The level that can detect it: `store` for SQL and concurrency; `unit` for a second safeguard, whose loss
   * no history reveals.
   */
  readonly level: 'core' | 'store' | 'unit';
};

/** A file's text with the bug. @throws RangeError when the bug no longer matches the text */
export function textWith({ name, file, edits }: PlantedBug, text: string): string {
  return edits.reduce((edited, [search, replace]) => {
    if (edited.split(search).length === 2) return edited.replace(search, () => replace);
    throw new RangeError(`${name}: not exactly once in ${file}: ${search}`);
  }, text);
}

function bug(
  name: string,
  file: string,
  ...edits: readonly (readonly [search: string, replace: string])[]
): PlantedBug {
  return { name, file: `packages/instep/src/${file}`, edits, level: 'core' };
}

function storeBug(
  name: string,
  file: string,
  ...edits: readonly (readonly [search: string, replace: string])[]
): PlantedBug {
  return { ...bug(name, file, ...edits), level: 'store' };
}

const DECIDE = 'ingest/decide.ts';

export const PLANTED_BUGS: readonly PlantedBug[] = [
  bug('seconds are taken for milliseconds', 'stripe/parse-event.ts', [
    'createdSeconds: created ??',
    'createdSeconds: (created && Math.floor(created / 1_000)) ??',
  ]),

  // Tie groups.
  bug('the other seconds of a subscription are not read', DECIDE, [
    '      ...withOtherLast(events, stored.decidingEvents, decidingEvents),\n      ...stateNeedsOtherSeconds,\n',
    '',
  ]),
  bug("Stripe's answer about an ambiguous second is ignored", 'core/tie-group.ts', [
    'if (snapshot !== undefined && planAfter(snapshot.subscription) !== null) {',
    'if (snapshot !== undefined && snapshot.key === null) {',
  ]),
  bug('the log is not read for the events of a tie group', DECIDE, [
    'new EventHistory(stored.logged.flatMap(({ parsed }) => parsed ?? []))',
    'new EventHistory()',
  ]),
  bug('the events of a tie group are not found in the log', 'core/event-key-layout.ts', [
    'if (!isDatedKey(key)) return',
    "if (key >= '') return",
  ]),

  // Duplicates and parked events.
  bug('duplicates are applied again', DECIDE, [
    "if (knownOutcome !== undefined && knownOutcome !== 'parked') {",
    "if (knownOutcome === 'unreadable') {",
  ]),
  bug('the key of an event omits its content', 'stripe/event-key.ts', [
    'JSON.stringify([eventId ?? nonce(), type, createdSeconds, data])',
    'JSON.stringify([eventId ?? nonce(), type, createdSeconds])',
  ]),
  bug('parked events are lost', DECIDE, [
    "if (knownOutcome !== undefined && knownOutcome !== 'parked') {",
    'if (knownOutcome !== undefined) {',
  ]),
  bug('an event of a batch does not see those before it', DECIDE, [
    'decidingEvents.set(customerId, decision.decidingEvents);',
    "if (decision.outcome === 'stale') decidingEvents.set(customerId, decision.decidingEvents);",
  ]),
  bug('an empty row is not filled', DECIDE, ['|| isSamePlan(plan, NO_PLAN),', ',']),
  bug("the application's own plan is overwritten by maintenance", DECIDE, [
    '|| isSamePlan(plan, NO_PLAN),',
    "|| plan.subscriptionStatus !== 'canceled',",
  ]),
  bug('only one team of a customer is changed', DECIDE, [
    'else plans.set(team.id, plan);',
    'else if (plans.size === 0) plans.set(team.id, plan);',
  ]),
  {
    ...bug('the end of an old subscription clears a new one', DECIDE, [
      "isEnd && planWriterOf(team.plan, ofCustomer) === 'unknown subscription'",
      "isEnd && teamPlan === null && planWriterOf(team.plan, ofCustomer) === 'unknown subscription'",
    ]),
    level: 'unit',
  },
  storeBug("rebuild overwrites the application's plan", 'core/plan-selection.ts', [
    'const selected = (',
    "if (plan.subscriptionStatus !== null) return 'instep';\n  const selected = (",
  ]),
  bug('every snapshot counts as outdated', DECIDE, [
    'return !isStillAmbiguous ||',
    'return true ||',
  ]),

  // SQL and concurrency.
  storeBug('a parked event stays parked in the log', 'postgres/statements/events.ts', [
    "newIfParked('outcome')",
    "'logged.outcome'",
  ]),
  storeBug('a resolved ambiguity is not written', 'postgres/statements/subscriptions.ts', [
    '  Object.keys(columns)\n',
    "  Object.keys(columns).filter((column) => column !== 'is_order_ambiguous')\n",
  ]),
  storeBug('teams are not locked', 'postgres/statements/lock-teams.ts', [
    '           for no key update ',
    '           -- ',
  ]),
  storeBug('the time of a state is not written', 'postgres/statements/subscriptions.ts', [
    '  Object.keys(columns)\n',
    "  Object.keys(columns).filter((column) => column !== 'created_at')\n",
  ]),
  storeBug('a snapshot in the log is read back as an event', 'stripe/parse-event.ts', [
    'return event && { ...event, key };',
    'return event && { ...event, key, isSnapshot: false };',
  ]),
  storeBug(
    'the log is read before the lock',
    'ingest/process-batch.ts',
    [
      '  const [available, storedBefore]',
      '  const early = await readStored(query, events, customerIds);\n  const [available, storedBefore]',
    ],
    ['    readStored(query, events, customerIds),\n  ]);', '    early,\n  ]);'],
  ),
  storeBug(
    'the newest tie group is pruned',
    'event-log/prune.ts',
    ['state.created_at > event.created_at', 'state.created_at >= event.created_at'],
    ['between_them.created_at > event.created_at', 'between_them.created_at >= event.created_at'],
    ['between_them.created_at < state.created_at', 'between_them.created_at <= state.created_at'],
  ),
  storeBug("another subscription's newest event is pruned", 'event-log/prune.ts', [
    "       and state.subscription_id = coalesce(event.subscription_id, '')\n",
    '',
  ]),

  // Catch-up and reconciliation.
  storeBug('events that are missing in the log are taken for known', 'maintenance/catch-up.ts', [
    'filter(({ key }) => !keys.has(key))',
    'filter(({ key }) => keys.has(key))',
  ]),
  storeBug('the list is not read beyond its first page', 'maintenance/stripe-calls.ts', [
    'next = page.cursor === null ? null : fetchPage(page.cursor);',
    'next = null;',
  ]),
  storeBug(
    'a canceled subscription counts from the snapshot on',
    'maintenance/reconcile/drift.ts',
    ['(endedSeconds ?? asOfSeconds)', 'asOfSeconds'],
  ),
  storeBug('a listed snapshot counts as outdated', DECIDE, [
    'if (seenKeys === null) return false;',
    'if (seenKeys === null) return true;',
  ]),

  // Few lifecycles end with a change of the plan.
  {
    ...bug('another product is not drift', 'maintenance/reconcile/drift.ts', [
      'if (deciding.productId !== null) return deciding.productId === productId;',
      'if (deciding.productId !== null) return true;',
    ]),
    level: 'unit',
  },
  // The ordering rule compensates for an event that counts twice.
  {
    ...bug('an event in two API versions is two events', 'ingest/recognize.ts', [
      'content.apiVersion !== known.apiVersion',
      'content.apiVersion === null',
    ]),
    level: 'unit',
  },
  {
    ...bug('a delivered event is a different event when it is listed', 'ingest/recognize.ts', [
      "if (event.source === 'list') return true;",
      '',
    ]),
    level: 'unit',
  },

  // Snapshots are taken after the second is over, so only a wrong clock makes an outdated one matter.
  {
    ...bug('the keys that a snapshot had seen are not logged', 'stripe/subscription-snapshot.ts', [
      'data, ...seen }',
      'data, ...(seen && null) }',
    ]),
    level: 'unit',
  },
  {
    ...bug('an outdated snapshot decides', DECIDE, [
      'events.some(({ key }) => !seenKeys.has(key))',
      'seenKeys.size < 0 || events.length < 0',
    ]),
    level: 'unit',
  },
];
