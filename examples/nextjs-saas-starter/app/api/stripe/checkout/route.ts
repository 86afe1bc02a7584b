import { InstepError } from 'instep';
import { redirect } from 'next/navigation';
import { getTeam, getUser } from '@/lib/db/queries';
import { instep } from '@/lib/payments/instep';

/** Stripe sends the browser here after the checkout. The team has its plan before the next page is shown. */
export async function GET(request: Request) {
  const user = await getUser();
  const team = user === null ? null : await getTeam(user.id);
  if (team === null) redirect('/sign-in');
  const sessionId = new URL(request.url).searchParams.get('session_id') ?? '';
  try {
    // The customer was created for this team. That of another team is refused.
    await instep.completeCheckout(sessionId, { teamId: team.id });
  } catch (error) {
    if (!(error instanceof InstepError)) throw error;
    if (error.code === 'CHECKOUT_NOT_COMPLETE') redirect('/pricing');
    // If Stripe does not answer, the team gets its plan within a minute. Other errors are for the page of errors.
    if (error.code !== 'STRIPE_UNAVAILABLE') throw error;
    console.error(`${error.message} [${error.code}]`);
  }
  redirect('/dashboard');
}
