'use server';

import { eq } from 'drizzle-orm';
import { redirect } from 'next/navigation';
import { db } from '@/lib/db/drizzle';
import { getTeam, getUser } from '@/lib/db/queries';
import { teams } from '@/lib/db/schema';
import { stripe } from './stripe';

/**
 * Sends the user to Stripe's checkout. The team has its customer id before that, so Instep finds the team of
 * every event, even if the browser never returns.
 */
export async function checkout(form: FormData) {
  const user = await getUser();
  const team = user === null ? null : await getTeam(user.id);
  if (user === null || team === null) redirect('/sign-in');

  let customer = team.stripeCustomerId;
  if (customer === null) {
    const created = await stripe().customers.create(
      { email: user.email, name: team.name },
      { idempotencyKey: `customer-of-team-${team.id}` },
    );
    customer = created.id;
    await db.update(teams).set({ stripeCustomerId: customer }).where(eq(teams.id, team.id));
  }
  const session = await stripe().checkout.sessions.create({
    mode: 'subscription',
    customer,
    client_reference_id: String(user.id),
    line_items: [{ price: String(form.get('price')), quantity: 1 }],
    subscription_data: { trial_period_days: 14, metadata: { teamId: String(team.id) } },
    success_url: `${process.env.BASE_URL}/api/stripe/checkout?session_id={CHECKOUT_SESSION_ID}`,
    cancel_url: `${process.env.BASE_URL}/pricing`,
  });
  redirect(session.url ?? '/pricing');
}
