/** A small change of one file that the simulation or a test must notice. */
export type PlantedBug = {
  readonly name: string;
  readonly file: string;
  /** Each search text occurs in the file exactly once. */
  readonly edits: readonly Edit[];
  /**
   * What can detect it. `core` and `store`: that level of the simulation, the latter for SQL and jobs. `unit`: tests of
   * Instep; `engine`: tests of the engine. These are for safeguards whose loss no history reveals, and for concurrency.
   */
  readonly level: Level;
};

/** The tests that can detect a bug, by its level. */
export const TESTS = {
  unit: [
    'tests/ingest/ties-and-snapshots.test.ts',
    'tests/ingest/application-plans.test.ts',
    'tests/maintenance/asking.test.ts',
    'tests/maintenance/reconcile/',
  ],
  engine: [
    'tests/engine/log/event-log.test.ts',
    'tests/engine/rule/fold.test.ts',
    'tests/engine/rule/same-event.test.ts',
    'tests/engine/rule/bounded-state.test.ts',
    'tests/ingest/locked-teams.test.ts',
    'tests/ingest/refused-events.test.ts',
    'tests/engine/log/concurrency.test.ts',
  ],
} as const;

type Edit = readonly [search: string, replace: string];
type Level = 'core' | 'store' | 'unit' | 'engine';

/** A file's text with the bug. @throws RangeError when the bug no longer matches the text */
export function textWith({ name, file, edits }: PlantedBug, text: string): string {
  return edits.reduce((edited, [search, replace]) => {
    if (edited.split(search).length === 2) return edited.replace(search, () => replace);
    throw new RangeError(`${name}: not exactly once in ${file}: ${search}`);
  }, text);
}

function bugIn(level: Level) {
  return (name: string, file: string, ...edits: readonly Edit[]): PlantedBug => ({
    ...{ name, level, edits },
    file: `packages/engine/src/${file}`,
  });
}

/** Bugs, by what detects them. */
const engine = {
  core: bugIn('core'),
  store: bugIn('store'),
  tests: bugIn('engine'),
  unit: bugIn('unit'),
};

const DECIDE = 'log/decide.ts';
const WRITE = 'log/write-text.ts';

export const PLANTED_BUGS: readonly PlantedBug[] = [
  engine.core('seconds are taken for milliseconds', 'stripe/parse-event.ts', [
    'createdSeconds: created ??',
    'createdSeconds: (created && Math.floor(created / 1_000)) ??',
  ]),

  // Tie groups.
  engine.core("Stripe's answer about an ambiguous second is ignored", 'rule/tie-group.ts', [
    'if (snapshot !== undefined && hasEffect(snapshot)) return known(snapshot);',
    "if (snapshot?.key === '') return known(snapshot);",
  ]),
  engine.core('every snapshot counts as outdated', 'rule/snapshot.ts', [
    'return !isStillAmbiguous ||',
    'return true ||',
  ]),
  engine.core('an ambiguous second has the first arrival', 'rule/tie-group.ts', [
    'const lastArrival = group.findLast(hasEffect);',
    'const lastArrival = group.find(hasEffect);',
  ]),
  engine.core('the log is not asked about late events', 'rule/known-events.ts', [
    'if (isNewest && isDated(event)) return null;',
    'if (createdSeconds >= 0) return null;',
  ]),
  engine.core('an event alone in its group is taken for the last of its second', 'rule/fold.ts', [
    'const group = [...known.inSecondOf(event), event];',
    'const group = [event];',
  ]),
  engine.store('the events of a tie group are not found in the log', 'rule/event-key-layout.ts', [
    'if (!isDatedKey(key)) return',
    "if (key >= '') return",
  ]),

  // Duplicates and events that wait for a team.
  engine.core('duplicates are applied again', 'rule/fold.ts', [
    "if (known.find(event) !== undefined) return { state, outcome: 'duplicate' };",
    '',
  ]),
  engine.core('the key of an event omits its content', 'stripe/event-key.ts', [
    'JSON.stringify([eventId ?? nonce(), type, createdSeconds, data])',
    'JSON.stringify([eventId ?? nonce(), type, createdSeconds])',
  ]),
  engine.core('events that wait for a team are lost', DECIDE, [
    "if (!hasTeam) waiting = isApplied ? 'plan' : (waiting ?? 'events');",
    'if (!hasTeam) waiting = null;',
  ]),
  engine.core('an event of a batch does not see those before it', DECIDE, [
    '    known.add(event);\n',
    '',
  ]),
  engine.core('an empty row is not filled', DECIDE, [
    'isApplied || isNameless || isPlanOf(team.plan, NO_PLAN);',
    'isApplied || isNameless;',
  ]),
  engine.core("the application's own plan is overwritten by maintenance", DECIDE, [
    'isApplied || isNameless || isPlanOf(team.plan, NO_PLAN);',
    'true;',
  ]),
  engine.core('only one team of a customer is changed', DECIDE, [
    'const teams = customer.teams.map(',
    'const teams = customer.teams.slice(0, 1).map(',
  ]),
  engine.core('the plan is that of the state before the fold', DECIDE, [
    'teamPlan(state, options.planSelection, options.names)',
    'teamPlan(customer.state, options.planSelection, options.names)',
  ]),
  engine.unit('the end of an old subscription clears a new one', DECIDE, [
    "const isEnd = planSelection === 'best' && shouldBe.providerSubscriptionId === null;",
    'const isEnd = false;',
  ]),
  engine.tests('an event in two API versions is two events', 'rule/same-event.ts', [
    'if (one.apiVersion !== other.apiVersion) return true;',
    '',
  ]),
  engine.tests(
    'an event with its members in another order is another event',
    'rule/same-event.ts',
    [
      'JSON.stringify([object, previousAttributes], inOrder)',
      'JSON.stringify([object, previousAttributes])',
    ],
  ),

  // The state.
  engine.tests('any subscription is dropped from a state with many', 'rule/bounded-state.ts', [
    '.filter(([, subscription]) => isOver(subscription) && !isSelected(subscription))',
    '',
  ]),
  engine.tests('a dropped subscription is taken for a new one', 'rule/bounded-state.ts', [
    'hasDropped: true',
    'hasDropped: false',
  ]),
  engine.store('access is that of the newest subscription', 'rule/access-facts.ts', [
    "planSelection === 'best' ? compareAccess(one, other) : 0",
    '0',
  ]),

  // The statement that writes.
  engine.tests('a decision counts whatever the version', WRITE, [
    '   where customers.version = excluded.version - 1\n',
    '',
  ]),
  engine.tests('a write does not raise the version', WRITE, [
    'set version = excluded.version,',
    'set version = customers.version,',
  ]),
  engine.tests('the state is not written', WRITE, [
    'subscriptions = excluded.subscriptions,',
    'subscriptions = customers.subscriptions,',
  ]),
  engine.tests('teams are not locked', WRITE, [
    '              for no key update skip locked\n',
    '',
  ]),
  engine.tests('a batch waits for a locked team', WRITE, [
    '              for no key update skip locked',
    '              for no key update',
  ]),
  engine.tests('the log is written whether or not the state is', WRITE, [
    '      or event.customer_id in (select customer_id from written)\n',
    '      or true\n',
  ]),
  engine.tests('a change has the plan that was read, not that of the locked row', WRITE, [
    '              and (${lines(current,',
    '              and true or (${lines(current,',
  ]),
  engine.tests('positions are not in the order of arrival', WRITE, [
    'order by event.number',
    'order by event.number desc',
  ]),
  engine.tests('a plan that was not written is not noticed', WRITE, [
    'then instep.refuse_unwritten_plan()',
    'then true',
  ]),
  engine.store('a parked event stays parked in the log', WRITE, [
    'set outcome = events.parked_outcome,',
    'set outcome = events.outcome,',
  ]),
  engine.store('a resolved ambiguity is not written', WRITE, [
    'COLUMNS.map(updated)',
    "COLUMNS.filter((name) => name !== 'ambiguous_since').map(updated)",
  ]),

  // Jobs, and what they read.
  engine.store("rebuild overwrites the application's plan", 'rule/plan-writer.ts', [
    'isPlanOf(plan, NO_PLAN) ||',
    'plan.subscriptionStatus !== null ||',
  ]),
  engine.store('a snapshot in the log is read back as an event', 'log/parse-logged.ts', [
    'return content && { ...content, key, eventId, type };',
    'return content && { ...content, key, eventId, type, isSnapshot: false };',
  ]),
  engine.store(
    'the newest tie group is pruned',
    'repair/prune.ts',
    [
      'and event.created_at < to_timestamp(deciding_seconds)\n',
      'and event.created_at <= to_timestamp(deciding_seconds)\n',
    ],
    ['between_them.created_at > event.created_at', 'between_them.created_at >= event.created_at'],
    [
      'between_them.created_at < to_timestamp(deciding_seconds)',
      'between_them.created_at <= to_timestamp(deciding_seconds)',
    ],
  ),
  engine.store("another subscription's newest event is pruned", 'repair/prune.ts', [
    'subscriptions.get(subscriptionId) ?? {};',
    'subscriptions.values().next().value ?? {};',
  ]),
  engine.store('events that are missing in the log are taken for known', 'repair/catch-up.ts', [
    '(event) => !knownIds.has(event.key) &&',
    '(event) => knownIds.has(event.key) &&',
  ]),
  engine.store('the list is not read beyond its first page', 'repair/stripe-calls.ts', [
    'next = page.cursor === null ? null : fetchPage(page.cursor);',
    'next = null;',
  ]),
  engine.store('a canceled subscription counts from the snapshot on', 'repair/reconcile/drift.ts', [
    '(endedSeconds ?? asOfSeconds)',
    'asOfSeconds',
  ]),
  engine.unit(
    'a team that differs from the list is taken for right',
    'repair/reconcile/reconcile.ts',
    ['(isRight ? right : suspects)', 'right'],
  ),
  engine.store('a listed snapshot counts as outdated', 'rule/snapshot.ts', [
    'if (!isSnapshot || seenKeys === null) return false;',
    'if (!isSnapshot) return false;\n  if (seenKeys === null) return true;',
  ]),

  // Few lifecycles end with a change of the plan.
  engine.unit('another product is not drift', 'repair/reconcile/drift.ts', [
    'if (providerProductId !== null) return providerProductId === productId;',
    'if (providerProductId !== null) return true;',
  ]),

  // Snapshots are taken after the second is over, so only a wrong clock makes an outdated one matter.
  engine.unit(
    'the keys that a snapshot had seen are not logged',
    'stripe/subscription-snapshot.ts',
    ['data, ...seen }', 'data, ...(seen && null) }'],
  ),
  engine.unit('an outdated snapshot decides', 'rule/snapshot.ts', [
    'known.inSecondOf(event).some(({ key }) => !seenKeys.has(key))',
    'seenKeys.size < 0',
  ]),
];
