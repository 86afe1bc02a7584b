import { type CheckoutOf, InstepError } from 'instep';
import { redirect } from 'next/navigation';
import { getTeam } from '@/lib/db/queries';
import { instep } from '@/lib/payments/instep';

/** Stripe sends the browser here after the checkout. The team has its plan before the next page is shown. */
export async function GET(request: Request) {
  const sessionId = new URL(request.url).searchParams.get('session_id') ?? '';
  try {
    await instep.completeCheckout(sessionId, { teamId: teamOf });
  } catch (error) {
    if (!(error instanceof InstepError)) throw error;
    if (error.code === 'CHECKOUT_NOT_COMPLETE') redirect('/pricing');
    // If Stripe does not answer, the team gets its plan later. Other errors are for the page of errors.
    if (error.code !== 'STRIPE_UNAVAILABLE') throw error;
  }
  redirect('/dashboard');
}

/** The checkout has the id of the user who paid, whoever opens this address. */
async function teamOf({ clientReferenceId }: CheckoutOf) {
  const team = await getTeam(Number(clientReferenceId));
  if (team === null) throw new Error('The user who paid has no team.');
  return team.id;
}
