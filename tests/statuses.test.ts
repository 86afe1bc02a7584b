import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  ENDED_STATUSES,
  effectOf,
  foldAll,
  GRANTING_STATUSES,
  isSamePlan,
  NO_PLAN,
  partOf,
  STATUSES,
  teamPlan,
} from 'instep-engine/rule';
import { describe, expect, test } from 'vitest';
import { expectedTeam } from '../simulation/expected-team.ts';
import { hasEnded, STATUSES as SIMULATED_STATUSES } from '../simulation/lifecycle/subscription.ts';
import { receivedEvent } from './support/stripe/events.ts';

const statuses = Object.keys(STATUSES);

test('the simulated Stripe (simulation/lifecycle/subscription.ts) has the same statuses', () => {
  expect([...SIMULATED_STATUSES].sort()).toEqual(statuses.toSorted());
  expect(statuses.filter(hasEnded)).toEqual(ENDED_STATUSES);
});

test("the simulation's own rule (simulation/expected-team.ts) decides like the core between two statuses", () => {
  const pairs = statuses.flatMap((one) => statuses.map((other) => [one, other] as const));
  expect(pairs.filter(([one, other]) => !isDecidedAlike(one, other))).toEqual([]);
});

/** Whether the simulation and the core give the same plan to the team of two subscriptions with these statuses. */
function isDecidedAlike(one: string, other: string): boolean {
  const events = [one, other].flatMap((status, index) => {
    const subscriptionId = `sub_${index + 1}`;
    const event = receivedEvent({ subscriptionId, status, createdSeconds: 10 });
    return event.kind === 'readable' ? event : [];
  });
  const history = events.map(({ subscription }) => ({
    ...subscription,
    subscriptionId: String(subscription.subscriptionId),
    productName: 'Pro',
  }));
  const names = new Map([['prod_1', 'Pro']]);
  const plan = teamPlan(foldAll(events), 'best', names) ?? NO_PLAN;
  return isSamePlan(expectedTeam(history, 'best'), partOf(plan, NO_PLAN));
}

/** A page of the docs as one line. */
function textOf(page: string): string {
  const text = readFileSync(resolve(import.meta.dirname, '../docs', page), 'utf8');
  return text.replace(/\s+/g, ' ');
}

describe('the docs name every status', () => {
  test.each(statuses)('%s, in the rules of contract.md', (status) => {
    expect(textOf('contract.md')).toContain(`\`${status}\``);
  });

  test.each(Object.entries(STATUSES))('%s, with its access, in access.md', (status, { access }) => {
    const page = readFileSync(resolve(import.meta.dirname, '../docs/access.md'), 'utf8');
    const rows = page.split('\n').map((line) => line.split('|').map((cell) => cell.trim()));
    const row = rows.find(([, first = '', , third]) => third && first.includes(`\`${status}\``));
    expect(row?.[3]).toMatch(access === 'yes' || access === 'in grace' ? /^yes/ : /^no/);
  });

  test.each(statuses.filter((status) => effectOf(status) !== 'none'))(
    '%s, in the ordering rule of ARCHITECTURE.md',
    (status) => {
      const [, section] = /## The ordering rule(.*?) ## /.exec(textOf('ARCHITECTURE.md')) ?? [];
      expect(section).toContain(`\`${status}\``);
    },
  );

  test('that grants a plan, in contract.md, the best one first', () => {
    const order = GRANTING_STATUSES.map((status) => `\`${status}\``).join(' before ');
    expect(textOf('contract.md')).toContain(order);
  });
});
