import { addTeam, readTeam, writePlans } from '../../postgres/statements/teams.ts';
import {
  createSubscriptionEvent,
  type SubscriptionEvent,
  type SubscriptionEventFields,
} from '../../testing/subscription-event.ts';
import { type ActivityOptions, received } from './activity.ts';

/** The guided cases: each is a company with a problem, and how to solve it in the console. */
export const GUIDED_CASES = [
  'Paid but no plan: Driftwood Couriers. Click Attention, and link the parked customer to it.',
  'Late cancellation: Foxglove Legal has left, but still has Pro. Click Reconcile, then start a dry run.',
  'Changed by hand: Moonraker Sails has Pro, but pays for Starter. Click Attention, then Repair.',
] as const;

const MINUTE_MS = 60_000;

/** Adds the companies of the guided cases, and one that lost Pro because its payments failed. */
export async function createCases(options: ActivityOptions): Promise<void> {
  const { query, ingest, subscriptions, suffix, startMs } = options;

  const eventsOf = (name: string) => {
    const ids = { customerId: `cus_${suffix}_${name}`, subscriptionId: `sub_${suffix}_${name}` };
    return (minutesAgo: number, fields: Partial<SubscriptionEventFields>): SubscriptionEvent => {
      const createdSeconds = Math.floor((startMs - minutesAgo * MINUTE_MS) / 1_000);
      const event = createSubscriptionEvent({ ...ids, createdSeconds, ...fields });
      subscriptions.set(event.data.object);
      return event;
    };
  };
  const deliver = async (event: SubscriptionEvent) => {
    await ingest([received(JSON.stringify(event), event.created * 1_000)]);
  };

  // The app has not stored the customer.
  await addTeam(query, { name: 'Driftwood Couriers', customerId: null });
  await deliver(eventsOf('driftwood')(40, { productId: 'prod_pro' }));

  // The cancellation event has not arrived.
  const foxglove = eventsOf('foxglove');
  await addTeam(query, { name: 'Foxglove Legal', customerId: `cus_${suffix}_foxglove` });
  await deliver(foxglove(170, { productId: 'prod_pro' }));
  foxglove(50, { productId: 'prod_pro', status: 'canceled' });

  const customerId = `cus_${suffix}_moonraker`;
  const teamId = await addTeam(query, { name: 'Moonraker Sails', customerId });
  await deliver(eventsOf('moonraker')(160, { productId: 'prod_starter' }));
  const team = await readTeam(query, teamId);
  if (team === null) throw new RangeError(`team ${teamId} is gone`);
  const byHand = { ...team.plan, providerProductId: 'prod_pro', planName: 'Pro' };
  await writePlans(query, new Map([[teamId, byHand]]));

  const larkspur = eventsOf('larkspur');
  await addTeam(query, { name: 'Larkspur Dyes', customerId: `cus_${suffix}_larkspur` });
  await deliver(larkspur(150, { productId: 'prod_pro' }));
  await deliver(larkspur(30, { productId: 'prod_pro', status: 'unpaid' }));
}
