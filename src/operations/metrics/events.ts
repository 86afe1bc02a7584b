import type { IngestPipeline } from '../../ingest/pipeline.ts';
import type { ReceivedEvent, Result } from '../../ingest/received-event.ts';
import { QueueFull } from '../../runtime/batcher.ts';
import { InstepError } from '../../runtime/errors.ts';
import type { Admit } from '../../server/admission.ts';
import type { OnSetAside } from '../../server/webhook.ts';
import { HANDLED_TYPES } from '../../stripe/handled-event-type.ts';
import type { Instruments } from './instruments.ts';

const SECOND = 1;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Stripe names whole seconds, and tries for three days. */
const DELAY_BOUNDS = [
  ...[1, 2, 3, 5, 10, 30].map((seconds) => seconds * SECOND),
  ...[1, 5, 15].map((minutes) => minutes * MINUTE),
  ...[1, 3, 12].map((hours) => hours * HOUR),
  ...[1, 2, 3].map((days) => days * DAY),
];

type Source = ReceivedEvent['source'];

const SOURCES: readonly Source[] = ['delivery', 'log', 'list'];
const OUTCOMES: readonly Result['outcome'][] = [
  'applied',
  'stale',
  'unchanged',
  'parked',
  'unreadable',
  'duplicate',
];

/** Counts events and what came of them. */
export function observeEvents(instruments: Instruments) {
  const events = instruments.counter({
    name: 'instep_events_total',
    help: 'Signed events, by type, what came of them, and whether they were delivered, read from the log again, or missed and found in the list of Stripe.',
    labelNames: ['type', 'outcome', 'source'],
  });
  const failures = instruments.counter({
    name: 'instep_event_failures_total',
    help: 'How often events could not be taken or stored, by the code of the error. Stripe sends them again.',
    labelNames: ['code'],
  });
  const delays = instruments
    .histogram({
      name: 'instep_event_delivery_delay_seconds',
      help: 'How long after Stripe made it an event was delivered for the first time.',
      labelNames: [],
      bounds: DELAY_BOUNDS,
    })
    .with({});

  // Prometheus takes no rise from nothing: what is looked for begins with 0.
  for (const type of HANDLED_TYPES) {
    for (const outcome of OUTCOMES) {
      for (const source of SOURCES) events.with({ type, outcome, source });
    }
  }
  const { code } = new QueueFull('');
  const refusals = failures.with({ code });

  function count(event: ReceivedEvent, { outcome }: Result): void {
    const { type, source } = event;
    events.with({ type, outcome, source }).increase();
    const isFirst = source === 'delivery' && outcome !== 'duplicate';
    if (!isFirst || event.kind === 'unreadable') return;
    // Clocks differ, and a sum must not fall.
    const delay = event.receivedAtMs / 1_000 - event.subscription.createdSeconds;
    delays.observe(Math.max(0, delay));
  }

  return {
    observeDoor<Observed extends IngestPipeline>(door: Observed): Observed {
      return {
        ...door,
        async ingest(received) {
          let results: readonly Result[];
          try {
            results = await door.ingest(received);
          } catch (error) {
            failures.with({ code: error instanceof InstepError ? error.code : 'other' }).increase();
            throw error;
          }
          for (const [index, event] of received.entries()) {
            const result = results[index];
            if (result !== undefined) count(event, result);
          }
          return results;
        },
      };
    },

    /** What is not admitted is refused before it is an event. */
    observeAdmission(admit: Admit): Admit {
      return () => {
        const isAdmitted = admit();
        if (!isAdmitted) refusals.increase();
        return isAdmitted;
      };
    },

    onSetAside: ((outcome) => {
      events.with({ type: 'other', outcome, source: 'delivery' }).increase();
    }) satisfies OnSetAside,
  };
}
