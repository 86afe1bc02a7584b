import { expect, test } from 'vitest';
import {
  type Deliverable,
  scheduleDeliveries,
} from '../../simulation/lifecycle/delivery-schedule.ts';
import { DEFAULT_FAULTS, type Faults, noFaults } from '../../simulation/lifecycle/faults.ts';
import { createRandom } from '../../simulation/random.ts';

const EVENTS: readonly Deliverable[] = Array.from({ length: 40 }, (_, number) => ({
  customerId: `cus_${number % 2}`,
  number,
  atMs: 1_700_000_000_000 + number * 400,
  subscriptionId: `sub_${number % 2}`,
  beganSeconds: 1_700_000_000,
}));

const NONE: Faults = { ...noFaults(), reorderSeconds: 5, delayHours: 72 };

test('without faults every event arrives once, in order, after its team is linked', () => {
  const { steps, deliveries, counts } = scheduleDeliveries(EVENTS, NONE, createRandom(1));
  const delivered = steps.filter((step) => step.kind === 'deliver');
  expect(delivered.map(({ number }) => number)).toEqual(EVENTS.map(({ number }) => number));
  expect(deliveries).toBe(EVENTS.length);
  expect(steps.slice(0, 2).map(({ kind }) => kind)).toEqual(['link', 'link']);
  expect(counts).toEqual(noFaults());
});

test('with any faults every event arrives at least once and every team is linked', () => {
  for (let seed = 0; seed < 200; seed += 1) {
    const worst: Faults = { ...DEFAULT_FAULTS, lose: 1, duplicate: 0.9, endpointOutage: 1 };
    const faults = seed % 2 === 0 ? worst : DEFAULT_FAULTS;
    const { steps } = scheduleDeliveries(EVENTS, faults, createRandom(seed));
    const delivered = new Set(
      steps.flatMap((step) => (step.kind === 'deliver' ? [step.number] : [])),
    );
    expect(delivered.size).toBe(EVENTS.length);
    expect(steps.filter(({ kind }) => kind === 'link').length).toBe(2);
    expect(steps.every(({ atMs }, index) => atMs >= (steps[index - 1]?.atMs ?? 0))).toBe(true);
  }
});

test('the seed determines the schedule', () => {
  const schedule = (seed: number) => scheduleDeliveries(EVENTS, DEFAULT_FAULTS, createRandom(seed));
  expect(schedule(3)).toEqual(schedule(3));
  expect(schedule(3)).not.toEqual(schedule(4));
});
