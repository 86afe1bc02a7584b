import { requireAccess } from '@/lib/payments/access';

/** A page for teams with access only. */
export default async function Reports() {
  const team = await requireAccess();
  return <h1>Reports of {team.name}</h1>;
}
