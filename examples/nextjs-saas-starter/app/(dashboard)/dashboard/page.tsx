import Link from 'next/link';
import { redirect } from 'next/navigation';
import { getTeam, getUser } from '@/lib/db/queries';

export default async function Dashboard() {
  const user = await getUser();
  if (user === null) redirect('/sign-in');
  const team = await getTeam(user.id);
  return (
    <>
      <h1>{team?.name}</h1>
      <p>
        Plan: {team?.planName ?? team?.stripeProductId ?? 'none'} ({team?.subscriptionStatus ?? '-'}
        )
      </p>
      <Link href="/pricing">Pricing</Link>
    </>
  );
}
