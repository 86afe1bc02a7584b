/** A small change of one file that the proof must notice. */
export type PlantedBug = {
  readonly name: string;
  readonly file: string;
  /** Each text stands in the file exactly once. */
  readonly edits: readonly (readonly [search: string, replace: string])[];
  /**
   * What can notice it: `store` for what is SQL, or only matters beside others; `unit` for what is
   * a second lock on the same door, which no history can tell from a bug.
   */
  readonly level: 'core' | 'store' | 'unit';
};

/** A file's text with the bug in it. @throws RangeError when it does not fit the text any more */
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
  return { name, file: `src/${file}`, edits, level: 'core' };
}

function storeBug(
  name: string,
  file: string,
  ...edits: readonly (readonly [search: string, replace: string])[]
): PlantedBug {
  return { ...bug(name, file, ...edits), level: 'store' };
}

const FOLLOW = 'core/follow.ts';
const SECOND = 'core/same-second-order.ts';
const CUSTOMER = 'core/customer.ts';
const PLAN = 'core/plan-selection.ts';
const TRANSITION = 'core/transition.ts';
const DECIDE = 'ingest/decide.ts';
const SECONDS = 'ingest/same-second-events.ts';

export const PLANTED_BUGS: readonly PlantedBug[] = [
  // The clock of the rule.
  bug('an event of the same second counts as older', FOLLOW, [
    'return event.createdSeconds < than.createdSeconds;',
    'return event.createdSeconds <= than.createdSeconds;',
  ]),
  bug('the later arrival wins, whatever the clock says', FOLLOW, [
    'return event.createdSeconds < than.createdSeconds;',
    'return event === than;',
  ]),
  bug('the order of time is reversed', FOLLOW, [
    'return event.createdSeconds < than.createdSeconds;',
    'return event.createdSeconds > than.createdSeconds;',
  ]),
  bug('past_due moves the watermark', SECOND, [
    '.filter((subscription) => planAfter(subscription) !== null);',
    '.slice();',
  ]),
  bug('the clock is taken for milliseconds', 'stripe/parse-event.ts', [
    'createdSeconds: created ??',
    'createdSeconds: (created && Math.floor(created / 1_000)) ??',
  ]),

  // The transition table.
  bug('unpaid does not clear', TRANSITION, ["    case 'unpaid':\n", '']),
  bug('canceled does not clear', TRANSITION, ["    case 'canceled':\n", '']),
  bug('trialing does not grant', TRANSITION, ["    case 'trialing':\n", '']),
  bug('past_due clears', TRANSITION, [
    "    case 'unpaid':\n",
    "    case 'unpaid':\n    case 'past_due':\n",
  ]),
  bug('paused clears', TRANSITION, [
    "    case 'unpaid':\n",
    "    case 'unpaid':\n    case 'paused':\n",
  ]),
  bug('a cleared team keeps its product', TRANSITION, [
    'providerProductId: grants ? event.productId : null,',
    'providerProductId: event.productId,',
  ]),

  // Ties.
  bug('ties go by arrival only', SECOND, [
    'const end = onlyPlan(ends) ?? (look && lastBefore(look, ends, toldChanges(events)));',
    'const end = ends.length < 0 ? lastArrival : lastArrival;',
  ]),
  bug('of several ends possible the first one is taken', SECOND, [
    'return ends.every((end) => isSameEnd(end.newest, newest)) ? newest : null;',
    'return newest;',
  ]),
  bug('the path ignores events without effect', SECOND, [
    'const ends = possibleEnds(events.filter(({ isLook }) => !isLook));',
    'const ends = possibleEnds(events.filter((e) => !e.isLook && planAfter(e.subscription)));',
  ]),
  bug('no path is looked for, and nothing is marked', SECOND, [
    'isOrderAmbiguous: !(end ?? look) };',
    'isOrderAmbiguous: false };',
  ]),
  bug(
    'what names nothing that it replaced was first',
    SECOND,
    ['if (replaced === null) return isDeletion;', 'if (replaced === null) return false;'],
    [
      'told.every((name) => Object.hasOwn(replaced, name) || isSame(before.after[name], after[name]))',
      'told.length > 0',
    ],
  ),
  bug('what an event left alone is no evidence', SECOND, [
    'told.every((name) => Object.hasOwn(replaced, name) || isSame(before.after[name], after[name]))',
    'told.length > 0',
  ]),
  bug('cause and effect are exchanged', SECOND, [
    'holds(before.after, replaced) &&',
    'holds(after, before.replaced ?? {}) &&',
  ]),
  bug('a look without effect ends the question', SECOND, [
    'const end = onlyPlan(ends) ?? (look && lastBefore(look, ends, toldChanges(events)));',
    'const end = look ? lastArrival : onlyPlan(ends);',
  ]),
  bug('plans are compared without their product', TRANSITION, ["  'providerProductId',\n", '']),
  bug(
    'a look is taken for one more arrival',
    SECOND,
    [
      'if (look !== undefined && planAfter(look.subscription) !== null) {',
      'if (look !== undefined && withEffect.length < 0) {',
    ],
    [
      'const end = onlyPlan(ends) ?? (look && lastBefore(look, ends, toldChanges(events)));',
      'const end = lastBefore.length < 0 ? lastArrival : onlyPlan(ends);',
    ],
  ),
  bug('an event that puts others in order does not count', FOLLOW, [
    'if (followed === subscription || !isSameEvent(followed, before)) {',
    'if (followed === subscription) {',
  ]),
  bug('seconds are mixed up', SECONDS, [
    "[customerId, subscriptionId ?? '', createdSeconds].join",
    "[customerId, subscriptionId ?? ''].join",
  ]),
  bug('subscriptions of one second are mixed up', SECONDS, [
    "[customerId, subscriptionId ?? '', createdSeconds].join",
    '[customerId, createdSeconds].join',
  ]),
  bug('a second is known only as far as it is in the batch', SECONDS, [
    'for (const { key, caused } of logged) if (caused !== null) this.#place({ key, caused });',
    'if (logged.length < 0) this.#entries.clear();',
  ]),
  bug('the events of a second are not found in the log', 'core/event-key.ts', [
    'if (key < FIRST_DATED_KEY) return',
    "if (key >= '') return",
  ]),

  // Duplicates, parked events, the memory.
  bug('duplicates are applied again', DECIDE, [
    "if (earlier !== undefined && earlier !== 'parked') return",
    "if (earlier === 'unreadable') return",
  ]),
  bug('the key of an event leaves its content out', 'stripe/event-key.ts', [
    'JSON.stringify([eventId ?? nonce(), type, createdSeconds, data])',
    'JSON.stringify([eventId ?? nonce(), type, createdSeconds])',
  ]),
  bug('parked events are lost', DECIDE, [
    "if (earlier !== undefined && earlier !== 'parked') return",
    'if (earlier !== undefined) return',
  ]),
  bug('an event of a batch does not see those before it', DECIDE, [
    'customers.set(customerId, step.customer);',
    "if (step.verdict === 'stale') customers.set(customerId, step.customer);",
  ]),
  bug('a change of the product alone is not remembered', CUSTOMER, ["  'productId',\n", '']),
  bug('the newer clock of the same state is not remembered', CUSTOMER, [
    "  'createdSeconds',\n",
    '',
  ]),
  bug('that a mark is gone is not remembered', CUSTOMER, [
    'one.isOrderAmbiguous === other.isOrderAmbiguous',
    'one !== null',
  ]),
  bug('every look is void', DECIDE, ['return !isAskedFor ||', 'return true ||']),

  // Several subscriptions.
  bug('best lets the cancellation of another strip the team', PLAN, [
    'return rank(one) - rank(other) || compareNewest(one, other);',
    'return compareNewest(one, other);',
  ]),
  bug('best takes the oldest of equals', PLAN, [
    'return rank(one) - rank(other) || compareNewest(one, other);',
    'return rank(one) - rank(other) || compareNewest(other, one);',
  ]),
  bug('trialing before active', PLAN, [
    "return status === 'trialing' ? 1 : 2;",
    "return status === 'trialing' ? 2 : 1;",
  ]),
  bug('trialing is as good as active', PLAN, [
    "return status === 'trialing' ? 1 : 2;",
    'return 1;',
  ]),
  bug('newest takes the best', PLAN, [
    "planSelection === 'newest' ? compareNewest : compareBest",
    "planSelection === 'newest' ? compareBest : compareBest",
  ]),
  bug('a tie of subscriptions goes by their ids alone', PLAN, [
    '    rank(one) - rank(other) ||\n    compareText',
    '    compareText',
  ]),
  bug('a tie of subscriptions goes to the smaller id', PLAN, [
    'one < other ? -1 : 1',
    'one < other ? 1 : -1',
  ]),
  bug('a tie of subscriptions goes to the earlier arrival', PLAN, [
    "compareText(one.subscriptionId ?? '', other.subscriptionId ?? '')",
    'compareText(one.customerId, other.customerId)',
  ]),
  bug("a plan's own name is not taken", PLAN, [
    'event.planName ?? names.get(event.productId) ?? null',
    'names.get(event.productId) ?? null',
  ]),
  bug("a product's name is not taken", PLAN, [
    'event.planName ?? names.get(event.productId) ?? null',
    'event.planName ?? null',
  ]),

  // The statements, and what only matters beside others.
  storeBug('a parked event stays parked in the log', 'queries/events.ts', [
    "when 'parked' then excluded.outcome",
    "when 'parked' then logged.outcome",
  ]),
  storeBug('that a mark is gone is not written', 'queries/subscriptions.ts', [
    'is_order_ambiguous = excluded.is_order_ambiguous',
    'is_order_ambiguous = instep.subscriptions.is_order_ambiguous',
  ]),
  storeBug('teams are not locked', 'queries/teams.ts', [
    '          for no key update skip locked\n',
    '',
  ]),
  storeBug('the clock is not written', 'queries/subscriptions.ts', [
    '            created_at = excluded.created_at,\n',
    '',
  ]),
  storeBug(
    'a looked-up state is an event like others when it is read back',
    'stripe/logged-event.ts',
    ['isLook: type === LOOK_TYPE', 'isLook: false'],
  ),
  storeBug(
    'what is known is read before the lock',
    'ingest/apply-batch.ts',
    [
      '  const [teams, known] = await Promise.all([',
      '  const early = await readKnown(query, events, customerIds);\n  const [teams, known] = await Promise.all([',
    ],
    [
      'return applyTo(teams, known, transaction, events, options);',
      'return applyTo(teams, known === null ? known : early, transaction, events, options);',
    ],
  ),
  storeBug('the newest second is pruned', 'queries/prune-events.ts', [
    'state.created_at > event.created_at',
    'state.created_at >= event.created_at',
  ]),
  storeBug("another subscription's newest event is pruned", 'queries/prune-events.ts', [
    "                           and state.subscription_id = coalesce(event.subscription_id, '')\n",
    '',
  ]),

  // What was lost, and is looked for.
  storeBug('what is missing in the log is taken for known', 'maintenance/catch-up.ts', [
    'filter(({ key }) => !keys.has(key))',
    'filter(({ key }) => keys.has(key))',
  ]),
  storeBug('the list is not read beyond its first page', 'maintenance/stripe-pages.ts', [
    'next = page.cursor === null ? null : ask(page.cursor);',
    'next = null;',
  ]),
  storeBug('a subscription that is over counts as of the look', 'maintenance/reconcile/drift.ts', [
    '(one.endedSeconds ?? asOfSeconds)',
    'asOfSeconds',
  ]),
  storeBug('what nobody asked for is void', DECIDE, [
    'if (fence === null) return false;',
    'if (fence === null) return true;',
  ]),

  // Few lives end with a change of the plan and nothing after it.
  {
    ...bug('another product is no drift', 'maintenance/reconcile/drift.ts', [
      'if (newest.productId !== null) return newest.productId === productId;',
      'if (newest.productId !== null) return true;',
    ]),
    level: 'unit',
  },
  // By the rule the same event twice does little harm, whoever takes it for two.
  {
    ...bug('an event that was listed is another one when it is delivered', 'ingest/recognize.ts', [
      'return keys.has(listed) ? listed : event.key;',
      'return listed === event.key ? listed : event.key;',
    ]),
    level: 'unit',
  },
  {
    ...bug('an event that was delivered is another one when it is listed', 'ingest/recognize.ts', [
      'return namesake ?? event.key;',
      'return event.key;',
    ]),
    level: 'unit',
  },

  // Looks are taken after the second is over, and an older second never counts: the fence holds the
  // door even if a clock is wrong.
  {
    ...bug('the fence is left out', DECIDE, [
      'seconds.of(subscription).some(({ key }) => !fence.has(key))',
      'fence.size < 0 || seconds.of(subscription).length < 0',
    ]),
    level: 'unit',
  },
  // With less evidence more is left to the API, which sets it right: that costs a look.
  {
    ...bug('what an event replaced is no evidence', SECOND, [
      'holds(before.after, replaced) &&',
      '',
    ]),
    level: 'unit',
  },
];
