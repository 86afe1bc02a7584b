import type { TeamAccess } from 'instep';
import { redirect } from 'next/navigation';
import { getTeam, getUser } from '@/lib/db/queries';
import { instep } from './instep';

/** The guard of a page: the signed-in user's team, which can use the product. Others are sent elsewhere. */
export async function requireAccess() {
  const user = await getUser();
  if (user === null) redirect('/sign-in');
  const team = await getTeam(user.id);
  const access = team === null ? null : await instep.access(team.id);
  if (team === null || !access?.hasAccess) redirect('/pricing');
  return team;
}

const SOON_MS = 3 * 24 * 60 * 60 * 1_000;

/** What to tell the team's users on every page; `null`: nothing. */
export function bannerOf(access: TeamAccess, nowMs: number): string | null {
  const { reason, paymentDueSince, trialEndsAt, endsAt } = access;
  if (paymentDueSince !== null) return 'Your payment failed. Please update your card.';
  if (reason === 'trialing' && trialEndsAt !== null && trialEndsAt.getTime() < nowMs + SOON_MS) {
    return `Your trial ends on ${day(trialEndsAt)}.`;
  }
  return endsAt === null ? null : `Your plan ends on ${day(endsAt)}.`;
}

const day = (time: Date) =>
  time.toLocaleDateString('en-GB', { day: 'numeric', month: 'long', timeZone: 'UTC' });
